"""Classify a sentence into one of seven topics by its words.

Plain words of a topic count two points, words that several topics share one, unambiguous words more. The topic with
the most points wins; of equal ones the first in the order of `CATEGORIES`. Text in backticks is a name and counts for
the topic Tools only.
"""

from __future__ import annotations

from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.signal_phrases import RECURRING

TOOL_NAMES = (
    r"p?npm|yarn|npx|bunx?|deno|node(?:\.?js)?|tsx|ts-node|nodemon|nvm|fnm|volta|pip|pipx|uv|poetry|conda|pipenv|tox"
    r"|nox|docker(?:-compose)?|podman|buildx|cmake|ninja|bazel|meson|git|gh|cargo|rustup|gradlew?|maven|mvn|sbt|webpack"
    r"|vite|esbuild|rollup|nx|babel|swc|eslint|prettier|ruff|isort|mypy|pyright|pylint|flake8|pytest|jest|vitest|mocha"
    r"|playwright|cypress|terraform|tofu|ansible|kubectl|helm|k9s|minikube|gcc|g\+\+|clang|llvm|jdk|jre|ripgrep|rg|grep"
    r"|sed|awk|jq|curl|wget|ssh|rsync|tmux|vim|emacs|vs ?code|intellij|xcode|homebrew|brew|apt|yum|dnf|apk|setuptools"
    r"|go (?:mod|build|test|vet)|golangci-lint|rake|bundler|dotnet|nuget|mkdocs|sphinx|graphviz|ffmpeg|imagemagick"
    r"|postman|sentry|grafana|prometheus|nginx|systemd|systemctl|bash|zsh|powershell|date-fns|django|flask|fastapi"
    r"|rails|next\.?js|vue|svelte|angular|jenkins|travis|circleci|heroku|vercel|netlify|launchdarkly|github actions"
    r"|gitlab|dependabot|renovate|pre-commit|husky|mise|asdf|direnv|python|typescript|java|ruby|golang|php"
)
OF_CODE = (
    r"(?! (?:modules?|services?|apis?|tables?|schemas?|queues?|endpoints?|consumers?|packages?|pages?"
    r"|controllers?|layer|handlers?|sdks?|libs?|library|libraries|clients?|code|binary|firmware|drivers?))"
)
WORDS = (
    ("Code Style", (
        (3, r"annotate|return types?|identifiers?|align(?:ed|ing)? the|test names?|emojis? (?:in|into)|log messages"
            r"|upper-?case keywords|lower-?case|magic strings?|star imports?|pure functions?|mutat(?:e"
            r"|ing) (?:arguments|parameters)|one clause per line|dataclass(?:es)?|list comprehension|nullish"
            r"|optional chaining|bare except|except clauses?|f-strings?|template literals?|arrow functions?"
            r"|type annotations?|pep ?8|gofmt|jsdoc|javadoc|guard clauses?|blank lines?|string interpolation"
            r"|destructuring|print statements?|console\.log|conventions? for names|clean code|one-letter|acronyms?"
            r"|mutable defaults?|columns wide|early return|line breaks?|is_ prefix|naming|docstrings?|semicolons?"
            r"|indent\w*|camel-?case|snake[_ -]?case|pascal-?case|kebab-?case|ternar\w+|whitespace|commented-out"
            r"|code style|type hints?|line length|trailing (?:newlines?|commas?|spaces?)|readab\w+|unreadable|(?:single"
            r"|double) quotes|early returns?|one-?liners?|dead code|abbreviat\w+|magic numbers?|braces|reformat\w*"
            r"|list comprehensions?|(?:variable|function|method|class|file) names?|one class per file|formatting"),
        (2, r"emojis?|wording of|exceptions?(?= (?:class|types?))|loops?|recursion|immutable|prefix(?:ed)?|suffix"
            r"|plural|singular|enums?|const|emojis? in|duplicated? code|dry|callbacks?|async/await|todo comments?"
            r"|quotes|comments?|lint(?:er|ing|s)?|style|styles|format(?:ter|ted|s)?|tabs|spaces|imports?|annotations?"
            r"|wildcard|casing|getters?|setters?|nest(?:ed|ing)?|signatures?(?= (?:of|should|must))|wording|idiomatic"
            r"|verbose names?|default exports?|named exports?|lines under|type first|any type|as a type|globals?"),
        (1, r"functions?|variables?|names?|class(?:es)?|methods?|lines?|characters|constants?|helpers?|files?|types?"),
    )),
    ("Architecture", (
        (3, r"server-side|client-side|rendering|bff|fan-?out|back-?pressure|load balancers?|event-driven|read model"
            r"|write model|optimistic locking|two-phase|saga|soft deletes?|multi-?tenan\w+|scal(?:e|ing) out"
            r"|denormali[sz]\w+|normali[sz]ed (?:tables?|schema)|dependency injection|event bus|message broker"
            r"|state management|middlewares?|separation of concerns|data model|foreign keys?|monorepo|inheritance"
            r"|composition|abstractions?|bounded contexts?|aggregates?|dtos?|stateless|state machines?|message queues?"
            r"|hexagonal structure|single source of truth|idempotency|architectur\w+|layer(?:s|ed)?|microservices?"
            r"|circular (?:dependency|dependencies|imports?)|monolith\w*|decoupl\w+|coupl(?:ed|ing)|design patterns?"
            r"|(?:repository|factory|observer|singleton|outbox|adapter|strategy) (?:pattern|table)|domain (?:objects?"
            r"|models?|layer|logic)|controllers?|event sourcing|gateway|read replicas?|append-only|websockets?"
            r"|hexagonal|cqrs|business logic|public interface|cross-module"),
        (2, r"views?|templates?|quer(?:y|ies)|reducers?|stores?|routers?|serializers?|entit(?:y|ies)|boundar(?:y|ies)"
            r"|replicas?|shards?|partitions?|singletons?|factor(?:y|ies)|adapters?|rest|legacy|modules?|services?"
            r"|schemas?|databases?|dbs?|queues?|apis?|endpoints?|interfaces?|tables?|repositories|subscriptions? to"
            r"|patterns?|backend|frontend|ui layer|events?|handlers?|consumers?|producers?|pub/?sub|caches?|cache layer"
            r"|polling|transactions?|migrations?|index(?:es)?(?= on)|components?|state machine|dependency injection"
            r"|unique constraint|sqlite|postgres(?:ql)?|mysql|mongo(?:db)?|redis|kafka|rabbitmq|graphql|grpc|sharding"
            r"|storage|scheduler|retry|insert|idempotent|eventual(?:ly)? consisten\w+|orm|rows"),
        (1, r"packages?|server|client|dependenc(?:y|ies)|connections?|requests?|http|routes?|workers?|model|models"
            r"|structure|data"),
    )),
    ("Process", (
        (3, r"bump(?:ing)? (?:the )?versions?|tagging|smoke tests?|signed off|reversible|close a ticket|pre-merge"
            r"|deploys? on|trunk[- ]based|release train|two approvals|peer review|freeze|merge your own|draft prs?"
            r"|tag(?:ged|s)? (?:by|the|a) release|conventional commits?|branch protection|post-?mortems?|on-call"
            r"|regression tests?|feature flags?|canary|code owners?|rewrite history|sign-off|incidents?"
            r"|pair(?:ing)? programming|semantic versioning|semver|pull requests?|prs?|code reviews?|change ?log"
            r"|rebas\w+|squash\w*|force-?push\w*|cherry-?pick\w*|hotfix\w*|release branch|feature branch\w*"
            r"|commit messages?|merge commits?|test suite|failing tests? first|test first|red pipeline|before (?:you "
            r"|each |every |a |any )?(?:commit|push|merg|deploy|releas)\w*|one commit per|ask (?:me )?before"
            r"|code freeze|stand-?up|release notes|migration notes|definition of done|integration tests?|unit tests?"
            r"|flaky"),
        (2, r"checks|merges|fridays?|rollbacks|work in progress|milestones?|handover|jira|estimates?|versioning|develop"
            r"|trunk|master|rollout|reviewers?|documentation|commit(?:s|ted|ting)?|branch(?:es)?|merg(?:e|es|ed|ing)"
            r"|review(?:s|ed|ers?)?|deploy\w*|releas\w+|ci|pipelines?|tests?|testing|push(?:es|ed|ing)?|tickets?"
            r"|rollback|roll back|main|ship|coverage|fixtures?|mocks?|tdd|sprint|approval|backlog|qa|staging|worktree"
            r"|stash"),
        (1, r"plan|ask|task|issue tracker|before|steps?|nightly"),
    )),
    ("Domain", (
        (3, r"claims?|insured|insurance|legal case|buyers?|sellers?|wallets?|payouts?|vouchers?|appointments?|doctors?"
            r"|clinics?|prescriptions?|hotels?|bundles?|auctions?|bids?|lots?|donations?|donors?|sensors?|leads? (?:is"
            r"|are)|mortgages?|loans?|interest rates?|portfolios?|trades?|brokers?|parcels?|couriers?|drivers?|riders?"
            r"|lessons?|pupils?|teachers?|grades?|exams?|recipes? (?:has|have)|ingredients?|menus?|players?"
            r"|teams? (?:has|have|can)|seasons?|fares?|passengers?|gross|net prices?|invoic\w+|vat|tenants?|customers?"
            r"|refunds?|gift cards?|revenue|loyalty|warehouses?|shipments?|subscriptions?(?! to)|tax(?:es| office)?"
            r"|prices?|pricing|currenc\w+|cents|business rules?|bookings?|reservations?|patients?|premiums?|discounts?"
            r"|payments?|suppliers?|inventory|payroll|salar\w+|ledger|household|checkout|carts?|purchases?|billing"
            r"|claims? handling|policyholders?|merchants?|vendors?|employees?|contracts?|shipping|orders(?= (?:are|must"
            r"|have|in|with))|in our (?:domain|world|business|system|company|industry)|an? \"[^\"]{1,30}\" (?:is|means)"
            r"|stands for|refers to|is not the same as|policyholders?|quotas?|fees?|balances?|accounts? (?:holder|can"
            r"|must|is|are)|students?|courses?|line items?|fiscal|accounting|accountants?|money"),
        (2, r"an order|the order(?! of)|orders|products?|accounts?|business|domain|deliver(?:y|ies)|stock|members?"
            r"|users? (?:can|may|is)|rounded|rounding|profit|guests?|tickets? sold|flights?|rooms?|drivers?|trips?"
            r"|coupons?|trial|seats?|export"),
        (1, r"we call|is called|means|company|paid|count as|active users?"),
    )),
    ("Tools", (
        (3, rf"{TOOL_NAMES}|venv|virtualenv|selenium|openssl|pip-tools|cli|command[- ]line|lock ?files?|make ?files?"
            rf"|dockerfiles?|env(?:ironment)? var(?:iable)?s?"
            r"|package managers?|compilers?|ci image|base image|debugger|toolchain|dev ?container|\.dockerignore"
            r"|gnu make"),
        (2, r"vpn|tunnel|docker image|simulator|emulator|formatter|profiler|hosts file|dotfiles|alias(?:es)?|flags?"
            r"|config(?:s|uration)?(?: files?)?|editors?|tools?|tooling|install\w*|script|scripts|shell|containers?"
            r"|images?|sdk|plugins?|extensions?|ide|terminal|commands?|proxy|build hosts?|hot reload|bundler"
            r"|interpreter|runtime|version|versions|container|runner|linux|macos|windows|cron"),
        (1, r"builds?|built|build|host|package|library|local|workspace"),
    )),
    ("Security", (
        (4, r"string concatenation|scan(?:ned|s)? (?:for|before)|virus(?:es)?|be scanned|untrusted input"
            r"|sign(?:ed)? (?:urls?|requests?)|leak(?:s|ed)? (?:data|the)|impersonat\w+|personal information"
            r"|private data|mask(?:ed|ing)?|redact\w*|access control|allow-?list|deny-?list|safe(?:ly)? (?:escape"
            r"|quote)\w*|httponly|https|2fa|mfa|rbac|acls?|rate limit(?:s|ing)?|audit logs?|gdpr|sql injection"
            r"|parameteri[sz]ed quer(?:y|ies)|csp|salt(?:ed)?|secrets manager|vault|x-forwarded-for|encryption"
            r"|brute force|xxe|ssrf|path traversal|privileges?|secrets?|passwords?|credentials?|api[- ]keys?"
            r"|vulnerab\w+|xss|csrf|encrypt\w*|decrypt\w*|sanitiz\w+|sanitis\w+|injection|access tokens?"
            r"|session (?:token|cookie)s?|auth tokens?|private keys?|signing (?:secret|key)s?|permission checks?|oauth"
            r"|jwt|certificate checks?|security|escap(?:e|ed|ing)|hardcod\w+ (?:key|token)s?|pii|personal data"
            r"|least privilege|samesite|authori[sz]\w+|authenticat\w+|hash(?:es|ed)? passwords?|constant time|\.env"
            r"|user input|tls|ssl|cors|phishing|malware"),
        (3, r"tokens?|auth|permissions?(?! denied)|certificates?|cookies?|logins?|log in|admin route|trusted"
            r"|untrusted"),
    )),
    ("New Skill", (
        (6, r"skills?|recipes?|step by step|step-by-step|procedures?|playbooks?|runbooks?|by this recipe"
            r"|follow these steps|these steps"),
        (3, r"checklists?|workflows?|how-?to|routine|the steps (?:are|to)"),
    )),
)  # fmt: skip

# More words by topic: how people describe a concept without its technical term.
MORE = {
    "Code Style": (
        (
            3,
            r"unwrap\(\)|type hints?|hints on|type annotations?|early returns?|nested ifs?|else branches|readable"
            r"|idioms?|naming|rename\w*|variable(?: names?)?|abbreviations?|english comments?"
            r"|comments? in (?:the )?code|code comments?|lines? long|line limit|\d+ (?:lines|columns|chars|characters"
            r"|zeilen|lignes|líneas)|single quotes|double quotes|tabs|spaces|prefix(?:es)?|suffix(?:es)?|one-liners?"
            r"|clever(?:ness)?|inline|magic|boolean (?:flags?|params?|parameters?)|exported|public functions?"
            r"|private functions?|lambda\w*|comprehensions?|pattern matching|any casts?|as any|nullable|booleans?"
            r"|imperative mood|capitals|capitali[sz]\w+|sql keywords|function components|class components|bezeichner"
            r"|dateinamen|file names?|umlaute|identifiants?|identificadores|docstrings?|function (?:length|size|bodies)"
            r"|long functions?|big functions?|wildcard imports?|relative imports?|absolute imports?|log (?:lines"
            r"|messages)|kommentare?|variablen(?:namen)?|funktionen|einrück\w*|zeilen|namen|commentaires?|noms?"
            r"|préfixer?|indent\w*|nombres|abreviaturas|comentarios|variables",
        ),
        (
            2,
            r"dataclass(?:es)?|dtos?|interfaces?(?= (?:with|should|names?|internes))|typed|typing|untyped|generics?"
            r"|null checks?|spelling|spelled|verbs?|nouns?|camel|snake|indentation|quotes|strings?|brackets|parentheses"
            r"|macros?|enums?|structs?|result type|option type|exceptions?",
        ),
    ),
    "Architecture": (
        (
            4,
            r"per tenant|tenant isolation|command (?:handlers?|bus)|internals|feature's|another (?:module|feature"
            r"|package)"
            r"|index file|barrel|out of the (?:request|process|api)|into its own (?:service|process|package|module)",
        ),
        (
            3,
            r"separation|transport|background jobs?|singletons?|global state|world state|game loop|render loop"
            r"|main loop|event loop|event bus|at[- ]least[- ]once|exactly[- ]once|duplicates|dedup\w*|bloom filters?"
            r"|idempot\w+|service layer|repository layer|data layer|business layer|use cases?|ports and adapters"
            r"|clean architecture|domain layer|api layer|presentation|composition root|inject(?:ed|ion|ing)?|call(?:s"
            r"|ing)? (?:the )?(?:database|db|repository|repo|backend) directly|goes? through the|source of truth"
            r"|shared (?:state|library|lib|kernel)|aggregates?|read side|write side|async(?:hronous)?(?:ly)?"
            r"|synchronous(?:ly)?|mutex(?:es)?|locks?|locking|deadlocks?|goroutines?|threads?|actors?|main thread"
            r"|foreign keys?|primary keys?|uuids?|partition(?:s|ed|ing)?|replication|throughput|batch(?:es|ing|ed)?"
            r"|n\+1|latency|frame time|memory layout|scal(?:e|es|ing|able)|plugin system|feature modules?"
            r"|dependency graph|cycles?|circular|depend(?:s|ing)? on|owns? the|talks? to|splitting|split (?:out|into)"
            r"|extract(?:ed)? into|versioned api|api process|client-server|offline[- ]first|event[- ]sourc\w+"
            r"|microfrontends?|nats|kafka|rabbit|sqs|graphql|grpc|rest api|webhooks?|cron ?jobs?|schemas?|datenbank"
            r"|schicht(?:en)?|couches?|base de données|base de datos|capas?|servicios?|tablas?",
        ),
        (
            2,
            r"evaluator|compiler pass|pipeline stage|session table|columns?|rows?|inserts?|integer amount"
            r"|value objects?|pagination|cursor|offset|cache(?:s|d)?|caching|invalidat\w+|ttl|state|stateful|stateless"
            r"|protocol|contract|payloads?|topic|broker|callback|hook system",
        ),
    ),
    "Process": (
        (
            3,
            r"(?:before|after|vor|nach|avant|après|antes de|después de) (?:each|every|any|jede[mnrs]?|chaque|cada|a|the"
            r"|your|you)? ?(?:commit\w*|change|merge|merging|push\w*|release|deploy\w*|pr|edit|step|handing|review)"
            r"|roll(?:ing|ed)? back|down (?:script|migration)|reversible|telling me|haven't run|not run|untested"
            r"|it works|diffs?|claiming|claim (?:that|it|success|done)|risks|one at a time|ask(?:ing|ed)? (?:me|us"
            r"|first|before)|check with (?:me|us)|tell me (?:first|before)|without asking|my (?:ok|approval|go)"
            r"|approval|sign[- ]off|before you (?:code|start|touch|change|commit|push|merge|say|claim)|failing test"
            r"|test first|tests? (?:go|are|be) green|green (?:build|pipeline|tests?|ci)|run (?:the )?(?:tests?|suite"
            r"|linter|checks)|seen (?:the )?tests|report(?:ing)? success|summar(?:y|ies)|answers?|replies|reply"
            r"|short answers?|explain(?:ing)? (?:first|before)|plan (?:first|before)|the plan|design (?:note|doc)s?"
            r"|adrs?|rfc|small commits|one reason|atomic commits?|separate commits?|commit titles?|ticket (?:number|id"
            r"|key)|jira(?: key)?|bugfix|scope|unasked|out of scope|refactor(?:ing|s)?(?= (?:while|in|with|on|without"
            r"|unrelated))|drive-by|unrelated changes?|diff size|small diffs?|rollbacks?|migrations? (?:that|which"
            r"|already|are)|on staging|to staging|load tests?|review(?:er|ers|s)?|pair|hand-?over|on fridays?|freitags?"
            r"|viernes|vendredis?|deploy(?:s|ed|ment|ments|ing)?|release (?:notes|process|branch|day)|bump the version"
            r"|version bump|changelog|semver|force[- ]push\w*|shared branch|geteilten branch|feature branch(?:es)?"
            r"|rebase|squash|fragen?|frag mich|vorher|me preguntas|pregunta(?:r|me)?|antes de|demande(?:r|-moi)?"
            r"|avant de|pruebas|le plan|licenses?|screenshots? (?:in|with)|evidence|its output|conclusion|test coverage"
            r"|coverage|retro\w*|stand-?ups?|incidents?",
        ),
        (
            2,
            r"commits?|branch|prs?|push|merge|main|ticket|tickets|ci|workflow|tests?|estimate|assumptions?|assume"
            r"|guess(?:ing)?|proof|verify|double-check|confirm|ask|dependency(?= .{0,20}licen)|new dependenc(?:y|ies)",
        ),
    ),
    "Domain": (
        (
            3,
            r"shares?|traders?|fixing|london rate|insur(?:er|ers|ance)|codes? starting|gmv|kpi|pfand|warenwert"
            r"|rechnung(?:en)?|kunden?|factures?|clients? finaux|facturas?|clientes?|pedidos?|swiss francs?|rappen"
            r"|francs|euros?|dollars?|rounded to|week starts|fiscal year|business days?|working days?|holidays?"
            r"|time ?zones? of|shops?|stores? (?:in|open)|supervisors?|legal(?: thing| reasons?)?|regulat\w+|by law|law"
            r"|hospitals?|kelvin|celsius|inverters?|registers? (?:of|are|is)|sensors?|meters?|kilometers?|miles"
            r"|kilograms?|litres?|volts?|units?|customers?|tenants?|guests?|fares?|rides?|trips?|levels? (?:cap|design)"
            r"|players?|enemies|npcs?|guilds?|quests?|loot|orders? (?:in|are|with|count|that)|quotes?(?= (?:are|have"
            r"|expire))|refunds?|chargebacks?|settlements?|positions?|portfolios?|margin|interest|accruals?"
            r"|ledger(?: entr\w+)?|accounting|bookkeep\w+|tax|vat|iban|sepa|payroll|shifts?|patients?|diagnos\w+|dosage"
            r"|lab results?|batches of|lots?|sku|skus|pallets?|warehouses?|grams?|kilos?|kg|inches|fahrenheit|erp"
            r"|floats? for (?:money|prices?|amounts?|currenc\w+)|we (?:bill|charge|invoice|ship|pay|sell|deliver|round"
            r"|book|refund|price|insure|lend|rent|buy|pick|pack|count)|bank|banks|cents?|finance|(?:people|we|they"
            r"|finance|traders|customers|users|everyone|guys) calls? (?:that|it|this|those)|minors|glossary"
            r"|in our (?:terms|language|jargon|business|world|market|reports?|trade|domain|company)|means|mean by"
            r"|is short for|stands for|not to be confused|we call|for us",
        ),
        (
            2,
            r"business|market|contract|contracts|money|amounts?|totals?|payment type|card|cash|region|country"
            r"|countries|season|states?(?= (?:parked|open|closed|draft))|count as|excludes?|includes?|age|minors?"
            r"|consent|eligib\w+",
        ),
    ),
    "Tools": (
        (
            3,
            r"cuda(?: [\d.]+)?|lerna|protoc|esptool|fnm|nvm|kubectl [\d.]+|xcode|rosetta|simulator|emulator|vagrant|vpn"
            r"|codegen|on the path|the path for|\bport \d{2,5}\b|dev (?:db|server|container)|on my machine|localhost"
            r"|wsl|m1s?|apple silicon|arm runners?|runners?|ci (?:image|container|runner)|package\.json|pyproject"
            r"|cargo\.toml|chart\.yaml|tsconfig\w*|makefiles?|\.npmrc|lockfiles?|lock file|flake8|black|biome|turborepo"
            r"|nx|monorepo tool\w*|bundler|transpiler|linter|formatter|ide|debugger|repl|dev tools|devtools|node \d+"
            r"|python \d[\d.]*|java \d+|jdk \d+|ruby \d|go \d\.\d+|version \d[\d.]*|terraform|pulumi|ansible|aws cli"
            r"|gcloud|az cli|psql|redis-cli|gradle|kotlin plugin|agp|cocoapods|fastlane|adb|flutter|expo|metro|vite"
            r"|webpack|storybook|cypress|playwright|docker(?:file)?|compose|kubernetes|k8s|helm|github actions"
            r"|gitlab ci|jenkins|command(?! handlers?| bus| pattern)|network access|no network|github actions?"
            r"|env vars?|umgebungsvariable\w*|befehl|outil|commande|herramienta|comando",
        ),
        (
            2,
            r"toolchain|sdks?|plugins?|extension|flag|flags|script|scripts|shell|terminal|install(?:ed|s|ing)?"
            r"|cluster|machine|laptop|upgrade|downgrade|pinned|headless|watch mode|hot reload|cache dir|tmpdir",
        ),
    ),
    "Security": (
        (
            5,
            r"(?:emails?|names?|address(?:es)?|phone numbers?|cards?|tokens?|keys?|data|credentials?"
            r"|bodies) [^.;]{0,40}\b(?:in|into|to) (?:the |any |our )?log(?:s| files?| output| lines?)?|stack traces?"
            r"|leaks?|s3 buckets?|private by default|production data|csrf protection|iam|session lifetime|jetons?"
            r"|localstorage|(?:health|personal|private|customer|medical|patient) (?:data|records?|information)"
            r"|mots de passe|admin panel|public(?:ly)? (?:accessible|reachable)|sensitive|rotat(?:e|es|ed|ing) (?:the "
            r"|these |our |those )?(?:\w+ )?(?:keys?|secrets?|tokens?|credentials?|certs?)|claves?|clés?|schlüssel"
            r"|\.env|access-control-allow-origin|allow[- ]?list(?:ed)?|white-?list(?:ed)?|public-read|redirect urls?"
            r"|prod(?:uction)? credentials|read[- ]only (?:replica )?user|bind parameters?|sql injection|injection"
            r"|string concatenation in sql|rate limit\w*|lock-?out|hmac\w*|compare_digest|(?:compare[sd]?|verif\w+"
            r"|check\w*|validat\w*) (?:the )?(?:\w+ )?signatures?|captchas?|hole|signed urls?|dependency scan\w*"
            r"|scanner|cve(?:-\d+)?s?|vulnerab\w+|audit(?: log)?|pen ?test|tls|mtls|x509|certificates?|csrf|xss|ssrf"
            r"|rce|owasp|rls|row[- ]level|secrets?|passwor[dt]\w*|mot de passe|contraseñas?|passwörter|geheimnis\w*"
            r"|tokens?|api keys?|keys? (?:in|into) (?:the )?(?:repo|code|git|client)|encrypt\w*|decrypt\w*|hash(?:ed"
            r"|ing)?(?= passw)|bcrypt|argon2|salt|personal data|pii|gdpr|dsgvo|anonymi[sz]\w+|redact\w*|mask(?:ed|s)?"
            r"|leak(?:s|ed)? (?:keys|tokens|secrets|data|credentials)|permissions?(?! denied)|least privilege|root user"
            r"|as root|privileged|sudo|sandbox(?:ed)?|untrusted|user input|sanitiz\w+|escap(?:e|ed|ing)|eval|shell=true"
            r"|deserializ\w+|pickle|cors|auth(?:n|z)?|oauth\w*|login|session cookies?|logged in|2fa|mfa|phishing",
        ),
    ),
    "New Skill": (
        (
            5,
            r"(?:this|the) checklist|(?:second|third|fourth|fifth|nth|umpteenth) time (?:this|in|we|that)"
            r"|every time (?:the|it|we|this)|each time|same (?:[\w-]+ ){0,3}(?:as (?:in|last|the)|again|story|thing)"
            r"|again the same|like the last times?|as in the (?:\w+ )?(?:earlier|previous|last)|keeps? (?:coming back"
            r"|happening|biting)|came back|recurring|over and over|time and again|every (?:release|deploy|upgrade|month"
            r"|sprint) we|the recipe|write it down|as a skill|make it a skill|turn (?:this|that|it) into|step by step",
        ),
        (
            2,
            r"workarounds?|trick|red herring|misleading|debug(?:ging|ged)?|bisect\w*|reproduc\w+|diagnos(?:e|ed|ing)"
            r"|troubleshoot\w*|symptom",
        ),
    ),
}


UNKNOWN = "Unknown"
# Everyday words that are tools if they are used as a command.
_AS_COMMANDS = (
    r"`[a-z][\w.-]* [\w./:-][^`]{0,80}`|`(?:make|just|task|go|nix|fish|turbo|gem|composer|react|spring|compose|wheel)\b"
    r"|\b(?:gnu|run|through|by|via|calls?) make\b|\bmake (?:test|lint|gen|build|install|check|seed|dev|format|fmt|clean"
    r"|generate|run|up|deploy|docs|all|bench|setup)\b|\bdocker compose\b|\bmoment(?:\.js|js)\b"
)
CATEGORIES = (*(name for name, _ in WORDS), UNKNOWN)
_ENOUGH = 2
_AT_HEAD = 0.6
_BEHIND = 0.7
_LEAST_HEAD = 12
_READ_CHARS = 2_000
_HEAD = r"[,;:(–—]|\b(?:for|because|so|since|when|if|otherwise|that|which|until|unless|instead|like|even|without)\b"
# Points by way of the lesson: findings are skills, unless their words clearly belong to another topic.
_LEANING = {"caveat": ("Tools", 3.0), "change": ("Tools", 2.0)}
_AGAIN = 4.0  # a fix for a recurring problem
_SKILLED = {"cause": 5.5, "fix": 5.5, "found": 4.5, "effort": 6.0, "insight": 4.5}
# Parts of programs: a rule about them is no business rule.
_OF_PROGRAMS = (
    r"\b(?:error|exception|string|number|loop|thread|process|bug|crash|regex|parser|pointer|promise|boolean|value|list"
    r"|map|array|object|byte|file|folder|path|page|button|header|footer|label|modal|banner|warning|message|line"
    r"|function|method|class|variable|fix|code|timeout|lock|race|leak|disk|memory|cpu|browser|server|client|request"
    r"|response|json|xml|html|css|sql|url|id|ids|field|form|input|output|screen|icon|menu|sidebar|answer|reply|question"
    r"|prompt|log|logs|cache|thing|stuff|edit|program|data|byte|pixel|font|text|word|sentence|step|generated|avatar"
    r"|dashboard)s?\b|[`/_=<>]|\w\.\w|[a-z][A-Z]"
)
# Rules about things of a business: "a claim can only be reopened once", "commission is always calculated on …".
_THINGS = (
    r"(?:(?:remember|note|the rule is|keep in mind|no|and|but)[:,]? )*(?:that )?(?!(?:always|never|don't|do|stop|you|we"
    r"|i|it|this|that|they|he|she|please|use|run|keep|make|no|not|must|only|if|when|there|what|how|why|be|ask|avoid|put"
    r"|call|let|write|say|all the|from|in|on|at|before|after|for|with|by|as|so|just)\b)(?:(?:an?|the|each|every|all|our"
    r"|some|any) )?[a-z-]+(?: [a-z-]+){0,4} (?:can(?:not)?|may|must|always|never|has|have|gets?|expires?|consists?"
    r"|belongs?|counts?|is|are)\b"
)
_USED = (
    r"\b(?:[Uu]s(?:e|ing|ed)|through|via) [A-Z][a-z]+\b|[Cc]hose [A-Z`][\w.`-]+ over|\bfrom [A-Z`][\w.`-]+ to [A-Z`]"
    r"|replaced [A-Z`][\w.`-]+ with"
)
_FLAG = r"(?<!\w)--[a-z][\w-]{2,}|\b[A-Z][A-Z_]{3,}=|(?:^|\s)\./\w"


def category_of(text: str, stated: bool = False, way: str = "") -> str:
    """Return the topic of a sentence, or `UNKNOWN`.

    A sentence `stated` as a rule or fact, without words of software, is about the business domain. A finding (`way`)
    of no other topic is a new skill.
    """
    low = text.lower().replace("’", "'")
    best, most = UNKNOWN, _ENOUGH - 1.0
    for name, points in points_of(text, way).items():
        if points > most:
            best, most = name, points
    if best != UNKNOWN or way == "decision":
        return "Architecture" if best == UNKNOWN else best
    return "Domain" if stated and _is_business_rule(text, low) else UNKNOWN


def points_of(text: str, way: str = "") -> dict[str, float]:
    """Score a sentence for each topic, by the words of the topic in it; the best score names its topic."""
    text = text[:_READ_CHARS]
    low = text.lower().replace("’", "'")
    bare = compiled(r"`[^`]{0,200}`").sub(lambda name: " " * len(name[0]), low)
    head = _end_of_head(low)
    found = {}
    for name, words in WORDS:
        tool = name == "Tools"
        searched = low.replace("`", " ") if tool else bare
        found[name] = _points(searched, (*MORE.get(name, ()), *words), OF_CODE if name == "Domain" else "", head)
        if tool:
            found[name] += _tool_points(text, low)
    found["New Skill"] += _SKILLED.get(way, 0)
    if way == "fix" and compiled(RECURRING).search(low):
        found["New Skill"] += _AGAIN
    if way in _SKILLED:  # a cause is seldom about style or process, even if it mentions tests and names
        found["Process"] *= 0.6
        found["Code Style"] *= 0.6
    if way in _LEANING:
        name, points = _LEANING[way]
        found[name] += points
    return found


def _end_of_head(low: str) -> int:
    """Return the end of the main part of a sentence: before its reason, its place, its purpose."""
    cut = compiled(_HEAD).search(low, min(len(low), _LEAST_HEAD))
    return cut.start() if cut else len(low)


def _is_business_rule(text: str, low: str) -> bool:
    """Tell whether a sentence states a rule about something and mentions no part of a program."""
    return compiled(_THINGS).match(low) is not None and compiled(_OF_PROGRAMS).search(text) is None


def _tool_points(text: str, low: str) -> int:
    """Return the points for flags, commands and used names: "we use Lombok"."""
    if compiled(_FLAG).search(text) or compiled(_AS_COMMANDS).search(low):
        return 3
    return 2 if compiled(_USED).search(text) else 0


def _points(low: str, words: tuple[tuple[int, str], ...], unless: str, head: int) -> float:
    """Sum the points of a topic's distinct words; each position counts once, at its highest, more in the main part."""
    spans = [
        (points, -match.start(), match.end(), match[0].rstrip("s"))
        for points, pattern in words
        for match in compiled(rf"(?<![\w./-])(?:{pattern})(?![\w-]){unless}").finditer(low)
    ]
    total, counted = 0.0, set()
    taken: list[tuple[int, int]] = []
    for points, start, end, word in sorted(spans, reverse=True):
        if word in counted or any(-start < other_end and other < end for other, other_end in taken):
            continue
        taken.append((-start, end))
        counted.add(word)
        total += points + _AT_HEAD if -start < head else points * _BEHIND
    return total


def names_tool(text: str) -> bool:
    """Tell whether a text names a tool, a command line, a flag or an environment variable."""
    low = text.lower()
    named = compiled(rf"(?<![\w./-])(?:{TOOL_NAMES})(?![\w-])").search(low.replace("`", " "))
    return bool(
        named or compiled(_USED).search(text) or compiled(_AS_COMMANDS).search(low) or compiled(_FLAG).search(text)
    )
