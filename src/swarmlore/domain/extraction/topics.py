"""What a sentence is about: one of seven topics, by its words.

Plain words of a topic count two, words that many topics share one, words that leave no doubt more. The topic with most
points is meant; of equal ones the first in the order of `CATEGORIES`. What stands in back-ticks is a name, and speaks
for a tool only.
"""

from __future__ import annotations

from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.signal_phrases import RECURRING

TOOL_NAMES = (
    r"p?npm|yarn|npx|bunx?|deno|node(?:\.?js)?|tsx|ts-node|nodemon|nvm|fnm|volta|pip|pipx|uv|poetry|conda|pipenv|tox"
    r"|nox"
    r"|docker(?:-compose)?|podman|buildx|cmake|ninja|bazel|meson|git|gh|cargo|rustup|gradlew?|maven|mvn|sbt"
    r"|webpack|vite|esbuild|rollup|nx|babel|swc|eslint|prettier|ruff|isort|mypy|pyright|pylint|flake8|pytest|jest"
    r"|vitest|mocha|playwright|cypress|terraform|tofu|ansible|kubectl|helm|k9s|minikube|gcc|g\+\+|clang|llvm|jdk|jre"
    r"|ripgrep|rg|grep|sed|awk|jq|curl|wget|ssh|rsync|tmux|vim|emacs|vs ?code|intellij|xcode|homebrew|brew|apt|yum"
    r"|dnf"
    r"|apk|setuptools|go (?:mod|build|test|vet)|golangci-lint|rake|bundler|dotnet|nuget|mkdocs|sphinx"
    r"|graphviz|ffmpeg|imagemagick|postman|sentry|grafana|prometheus|nginx|systemd|systemctl|bash|zsh|powershell"
    r"|date-fns|django|flask|fastapi|rails|next\.?js|vue|svelte|angular|jenkins|travis|circleci|heroku|vercel|netlify"
    r"|launchdarkly|github actions|gitlab"
    r"|dependabot|renovate|pre-commit|husky|mise|asdf|direnv|python|typescript|java|ruby|golang|php"
)
OF_CODE = (
    r"(?! (?:modules?|services?|apis?|tables?|schemas?|queues?|endpoints?|consumers?|packages?|pages?"
    r"|controllers?|layer|handlers?|sdks?|libs?|library|libraries|clients?|code|binary|firmware|drivers?))"
)
WORDS = (
    ("Code Style", (
        (3, r"annotate|return types?|identifiers?|align(?:ed|ing)? the|test names?|emojis? (?:in|into)|log messages"
            r"|upper-?case keywords|lower-?case|magic strings?|star imports?"
            r"|pure functions?|mutat(?:e|ing) (?:arguments|parameters)|one clause per line|dataclass(?:es)?"
            r"|list comprehension|nullish|optional chaining|bare except|except clauses?|f-strings?|template literals?"
            r"|arrow functions?|type annotations?|pep ?8|gofmt|jsdoc|javadoc"
            r"|guard clauses?|blank lines?|string interpolation|destructuring|print statements?|console\.log"
            r"|conventions? for names|clean code|one-letter|acronyms?|mutable defaults?|columns wide|early return"
            r"|line breaks?|is_ prefix|naming|docstrings?|semicolons?|indent\w*|camel-?case|snake[_ -]?case"
            r"|pascal-?case|kebab-?case|ternar\w+"
            r"|whitespace"
            r"|commented-out|code style|type hints?|line length|trailing (?:newlines?|commas?|spaces?)|readab\w+"
            r"|unreadable"
            r"|(?:single|double) quotes|early returns?|one-?liners?|dead code|abbreviat\w+|magic numbers?|braces"
            r"|reformat\w*"
            r"|list comprehensions?|(?:variable|function|method|class|file) names?|one class per file|formatting"),
        (2, r"emojis?|wording of|exceptions?(?= (?:class|types?))|loops?|recursion|immutable|prefix(?:ed)?|suffix"
            r"|plural|singular|enums?|const|emojis? in|duplicated? code|dry|callbacks?|async/await"
            r"|todo comments?|quotes|comments?|lint(?:er|ing|s)?|style|styles|format(?:ter|ted|s)?|tabs|spaces"
            r"|imports?|annotations?|wildcard"
            r"|casing"
            r"|getters?|setters?|nest(?:ed|ing)?|signatures?(?= (?:of|should|must))|wording|idiomatic"
            r"|verbose names?"
            r"|default exports?|named exports?|lines under|type first|any type|as a type|globals?"),
        (1, r"functions?|variables?|names?|class(?:es)?|methods?|lines?|characters|constants?|helpers?|files?"
            r"|types?"),
    )),
    ("Architecture", (
        (3, r"server-side|client-side|rendering|bff|fan-?out|back-?pressure|load balancers?|event-driven|read model"
            r"|write model|optimistic locking|two-phase|saga|soft deletes?|multi-?tenan\w+|scal(?:e|ing) out"
            r"|denormali[sz]\w+|normali[sz]ed (?:tables?|schema)|dependency injection|event bus|message broker"
            r"|state management|middlewares?|separation of concerns"
            r"|data model|foreign keys?|monorepo|inheritance|composition|abstractions?|bounded contexts?|aggregates?"
            r"|dtos?|stateless|state machines?|message queues?|hexagonal structure|single source of truth|idempotency"
            r"|architectur\w+|layer(?:s|ed)?|microservices?|circular (?:dependency|dependencies|imports?)|monolith\w*"
            r"|decoupl\w+"
            r"|coupl(?:ed|ing)|design patterns?|(?:repository|factory|observer|singleton|outbox|adapter"
            r"|strategy) (?:pattern|table)"
            r"|domain (?:objects?|models?|layer|logic)|controllers?|event sourcing|gateway|read replicas?|append-only"
            r"|websockets?"
            r"|hexagonal|cqrs|business logic|public interface|cross-module"),
        (2, r"views?|templates?|quer(?:y|ies)|reducers?|stores?|routers?|serializers?|entit(?:y|ies)|boundar(?:y|ies)"
            r"|replicas?|shards?|partitions?|singletons?|factor(?:y|ies)|adapters?|rest|legacy|modules?|services?"
            r"|schemas?|databases?|dbs?|queues?|apis?|endpoints?|interfaces?|tables?|repositories"
            r"|subscriptions? to"
            r"|patterns?|backend|frontend|ui layer|events?|handlers?|consumers?|producers?|pub/?sub|caches?"
            r"|cache layer|polling"
            r"|transactions?|migrations?|index(?:es)?(?= on)|components?|state machine|dependency injection"
            r"|unique constraint"
            r"|sqlite|postgres(?:ql)?|mysql|mongo(?:db)?|redis|kafka|rabbitmq|graphql|grpc|sharding|storage|scheduler"
            r"|retry"
            r"|insert|idempotent|eventual(?:ly)? consisten\w+|orm|rows"),
        (1, r"packages?|server|client|dependenc(?:y|ies)|connections?|requests?|http|routes?|workers?|model|models"
            r"|structure|data"),
    )),
    ("Process", (
        (3, r"bump(?:ing)? (?:the )?versions?|tagging|smoke tests?|signed off|reversible|close a ticket|pre-merge"
            r"|deploys? on|trunk[- ]based|release train|two approvals|peer review|freeze|merge your own"
            r"|draft prs?|tag(?:ged|s)? (?:by|the|a) release|conventional commits?|branch protection|post-?mortems?"
            r"|on-call|regression tests?|feature flags?|canary"
            r"|code owners?|rewrite history|sign-off|incidents?|pair(?:ing)? programming|semantic versioning|semver"
            r"|pull requests?|prs?|code reviews?|change ?log|rebas\w+|squash\w*|force-?push\w*|cherry-?pick\w*"
            r"|hotfix\w*|release branch"
            r"|feature branch\w*|commit messages?|merge commits?|test suite|failing tests? first|test first"
            r"|red pipeline"
            r"|before (?:you |each |every |a |any )?(?:commit|push|merg|deploy|releas)\w*|one commit per"
            r"|ask (?:me )?before|code freeze"
            r"|stand-?up|release notes|migration notes|definition of done|integration tests?|unit tests?|flaky"),
        (2, r"checks|merges|fridays?|rollbacks|work in progress|milestones?|handover|jira|estimates?|versioning"
            r"|develop|trunk|master|rollout|reviewers?|documentation|commit(?:s|ted|ting)?"
            r"|branch(?:es)?|merg(?:e|es|ed|ing)|review(?:s|ed|ers?)?|deploy\w*|releas\w+|ci"
            r"|pipelines?|tests?"
            r"|testing|push(?:es|ed|ing)?|tickets?|rollback|roll back|main|ship|coverage|fixtures?|mocks?|tdd|sprint"
            r"|approval"
            r"|backlog|qa|staging|worktree|stash"),
        (1, r"plan|ask|task|issue tracker|before|steps?|nightly"),
    )),
    ("Domain", (
        (3, r"claims?|insured|insurance|legal case|buyers?|sellers?|wallets?|payouts?|vouchers?|appointments?"
            r"|doctors?"
            r"|clinics?|prescriptions?|hotels?|bundles?|auctions?|bids?|lots?|donations?|donors?|sensors?|leads?"
            r" (?:is"
            r"|are)|mortgages?|loans?|interest rates?|portfolios?|trades?|brokers?|parcels?|couriers?|drivers?"
            r"|riders?"
            r"|lessons?|pupils?|teachers?|grades?|exams?|recipes? (?:has|have)|ingredients?|menus?|players?"
            r"|teams? (?:has|have|can)|seasons?|fares?|passengers?|gross|net prices?|invoic\w+|vat|tenants?"
            r"|customers?"
            r"|refunds?|gift cards?|revenue|loyalty|warehouses?|shipments?"
            r"|subscriptions?(?! to)"
            r"|tax(?:es| office)?|prices?|pricing|currenc\w+|cents|business rules?|bookings?|reservations?|patients?"
            r"|premiums?"
            r"|discounts?|payments?|suppliers?|inventory|payroll|salar\w+|ledger|household|checkout|carts?|purchases?"
            r"|billing"
            r"|claims? handling|policyholders?|merchants?|vendors?|employees?|contracts?|shipping|orders(?= (?:are"
            r"|must|have|in|with))"
            r"|in our (?:domain|world|business|system|company|industry)|an? \"[^\"]{1,30}\" (?:is|means)"
            r"|stands for|refers to|is not the same as|policyholders?|quotas?|fees?|balances?|accounts? (?:holder|can"
            r"|must|is|are)|students?"
            r"|courses?"
            r"|line items?|fiscal|accounting|accountants?|money"),
        (2, r"an order|the order(?! of)|orders|products?|accounts?|business|domain|deliver(?:y|ies)|stock|members?"
            r"|users? (?:can|may|is)"
            r"|rounded|rounding|profit|guests?|tickets? sold|flights?|rooms?|drivers?|trips?|coupons?|trial|seats?"
            r"|export"),
        (1, r"we call|is called|means|company|paid|count as|active users?"),
    )),
    ("Tools", (
        (3, rf"{TOOL_NAMES}|venv|virtualenv|selenium|openssl|pip-tools|cli|command[- ]line|lock ?files?|make ?files?"
            rf"|dockerfiles?"
            rf"|env(?:ironment)? var(?:iable)?s?"
            r"|package managers?|compilers?|ci image|base image|debugger|toolchain|dev ?container|\.dockerignore"
            r"|gnu make"),
        (2, r"vpn|tunnel|docker image|simulator|emulator|formatter|profiler|hosts file|dotfiles|alias(?:es)?|flags?"
            r"|config(?:s|uration)?(?: files?)?|editors?|tools?|tooling|install\w*|script|scripts|shell"
            r"|containers?|images?|sdk"
            r"|plugins?|extensions?|ide|terminal|commands?|proxy|build hosts?|hot reload|bundler|interpreter|runtime"
            r"|version|versions"
            r"|container|runner|linux|macos|windows|cron"),
        (1, r"builds?|built|build|host|package|library|local|workspace"),
    )),
    ("Security", (
        (4, r"string concatenation|scan(?:ned|s)? (?:for|before)|virus(?:es)?|be scanned|untrusted input"
            r"|sign(?:ed)? (?:urls?|requests?)|leak(?:s|ed)? (?:data|the)|impersonat\w+|personal information"
            r"|private data|mask(?:ed|ing)?|redact\w*|access control|allow-?list|deny-?list|safe(?:ly)? (?:escape"
            r"|quote)\w*|httponly|https|2fa|mfa|rbac|acls?|rate limit(?:s|ing)?|audit logs?|gdpr|sql injection"
            r"|parameteri[sz]ed quer(?:y|ies)|csp|salt(?:ed)?|secrets manager|vault|x-forwarded-for|encryption"
            r"|brute force|xxe|ssrf|path traversal|privileges?|secrets?|passwords?|credentials?|api[- ]keys?"
            r"|vulnerab\w+|xss|csrf|encrypt\w*|decrypt\w*|sanitiz\w+"
            r"|sanitis\w+|injection"
            r"|access tokens?|session (?:token|cookie)s?|auth tokens?|private keys?|signing (?:secret|key)s?"
            r"|permission checks?|oauth|jwt"
            r"|certificate checks?|security|escap(?:e|ed|ing)|hardcod\w+ (?:key|token)s?|pii|personal data"
            r"|least privilege|samesite"
            r"|authori[sz]\w+|authenticat\w+|hash(?:es|ed)? passwords?|constant time|\.env|user input|tls|ssl|cors"
            r"|phishing|malware"),
        (3, r"tokens?|auth|permissions?(?! denied)|certificates?|cookies?|logins?|log in|admin route|trusted"
            r"|untrusted"),
    )),
    ("New Skill", (
        (6, r"skills?|recipes?|step by step|step-by-step|procedures?|playbooks?|runbooks?|by this recipe"
            r"|follow these steps|these steps"),
        (3, r"checklists?|workflows?|how-?to|routine|the steps (?:are|to)"),
    )),
)  # fmt: skip

# The same by concepts, as people speak of them who do not name the trade's words.
MORE = {
    "Code Style": (
        (
            3,
            r"unwrap\(\)|type hints?|hints on|type annotations?|early returns?|nested ifs?|else branches|readable"
            r"|idioms?|naming|rename\w*|variable(?: names?)?"
            r"|abbreviations?|english comments?|comments? in (?:the )?code|code comments?|lines? long|line limit|\d+"
            r" (?:lines|columns|chars|characters|zeilen|lignes|líneas)"
            r"|single quotes|double quotes|tabs|spaces|prefix(?:es)?|suffix(?:es)?|one-liners?|clever(?:ness)?"
            r"|inline|magic|boolean (?:flags?|params?|parameters?)"
            r"|exported|public functions?|private functions?|lambda\w*|comprehensions?|pattern matching|any casts?"
            r"|as any|nullable|booleans?"
            r"|imperative mood|capitals|capitali[sz]\w+|sql keywords|function components|class components|bezeichner"
            r"|dateinamen|file names?|umlaute|identifiants?|identificadores|docstrings?|function (?:length|size"
            r"|bodies)|long functions?|big"
            r" functions?|wildcard imports?|relative imports?|absolute imports?|log (?:lines|messages)"
            r"|kommentare?|variablen(?:namen)?|funktionen|einrück\w*|zeilen|namen|commentaires?|noms?|préfixer?"
            r"|indent\w*|nombres|abreviaturas|comentarios|variables",
        ),
        (
            2,
            r"dataclass(?:es)?|dtos?|interfaces?(?= (?:with|should|names?|internes))|typed|typing|untyped|generics?"
            r"|null checks?|spelling|spelled|verbs?|nouns?|camel|snake"
            r"|indentation|quotes|strings?|brackets|parentheses|macros?|enums?|structs?|result type|option type"
            r"|exceptions?",
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
            r"separation|transport|background jobs?|singletons?|global state|world state|game loop|render loop|main"
            r" loop|event loop|event"
            r" bus"
            r"|at[- ]least[- ]once|exactly[- ]once|duplicates|dedup\w*|bloom filters?"
            r"|idempot\w+|service layer|repository layer|data layer|business layer|use cases?|ports and adapters"
            r"|clean architecture|domain layer|api layer|presentation"
            r"|composition root|inject(?:ed|ion|ing)?|call(?:s|ing)? (?:the )?(?:database|db|repository|repo"
            r"|backend) directly|goes? through the|source of truth|shared (?:state|library|lib|kernel)"
            r"|aggregates?|read side|write side|async(?:hronous)?(?:ly)?|synchronous(?:ly)?|mutex(?:es)?|locks?"
            r"|locking|deadlocks?|goroutines?|threads?|actors?|main thread"
            r"|foreign keys?|primary keys?|uuids?|partition(?:s|ed|ing)?|replication|throughput|batch(?:es|ing|ed)?"
            r"|n\+1|latency|frame time|memory layout|scal(?:e|es|ing|able)"
            r"|plugin system|feature modules?|dependency graph|cycles?|circular|depend(?:s|ing)? on|owns? the|talks?"
            r" to|splitting|split (?:out|into)|extract(?:ed)? into|versioned api"
            r"|api process|client-server|offline[- ]first|event[- ]sourc\w+|microfrontends?|nats|kafka|rabbit|sqs"
            r"|graphql|grpc|rest api|webhooks?|cron ?jobs?|schemas?|datenbank|schicht(?:en)?"
            r"|couches?|base de données|base de datos|capas?|servicios?|tablas?",
        ),
        (
            2,
            r"evaluator|compiler pass|pipeline stage|session table|columns?|rows?|inserts?"
            r"|integer amount|value objects?|pagination|cursor|offset"
            r"|cache(?:s|d)?|caching|invalidat\w+|ttl|state|stateful|stateless|protocol|contract|payloads?|topic"
            r"|broker|callback|hook system",
        ),
    ),
    "Process": (
        (
            3,
            r"(?:before|after|vor|nach|avant|après|antes de|después de) (?:each|every|any|jede[mnrs]?|chaque|cada|a"
            r"|the|your|you)? ?(?:commit\w*|change|merge|merging|push\w*|release|deploy\w*|pr|edit|step|handing"
            r"|review)"
            r"|roll(?:ing|ed)? back|down (?:script|migration)|reversible|telling me|haven't run|not run|untested|it"
            r" works|diffs?|claiming|claim (?:that|it|success|done)|risks|one at a time|ask(?:ing"
            r"|ed)? (?:me|us|first|before)|check with (?:me|us)|tell me (?:first|before)|without asking|my (?:ok"
            r"|approval|go)|approval|sign[- ]off|before you (?:code|start|touch|change|commit|push|merge|say|claim)"
            r"|failing test|test first|tests? (?:go|are|be) green|green (?:build|pipeline|tests?|ci)|run (?:the"
            r" )?(?:tests?|suite|linter|checks)|seen (?:the )?tests|report(?:ing)? success|summar(?:y|ies)|answers?"
            r"|replies|reply"
            r"|short answers?|explain(?:ing)? (?:first|before)|plan (?:first|before)|the plan|design (?:note|doc)s?"
            r"|adrs?|rfc|small commits|one reason|atomic commits?|separate commits?|commit titles?|ticket (?:number"
            r"|id|key)|jira(?: key)?"
            r"|bugfix|scope|unasked|out of scope|refactor(?:ing|s)?(?= (?:while|in|with|on|without|unrelated))"
            r"|drive-by|unrelated changes?|diff size|small diffs?|rollbacks?|migrations? (?:that|which|already|are)"
            r"|on staging|to staging"
            r"|load tests?|review(?:er|ers|s)?|pair|hand-?over|on fridays?|freitags?|viernes|vendredis?|deploy(?:s"
            r"|ed|ment|ments|ing)?|release (?:notes|process|branch|day)|bump the version|version bump|changelog"
            r"|semver"
            r"|force[- ]push\w*|shared branch|geteilten branch|feature branch(?:es)?|rebase|squash|fragen?|frag mich"
            r"|vorher|me preguntas|pregunta(?:r|me)?|antes de|demande(?:r|-moi)?|avant de|pruebas|le plan|licenses?"
            r"|screenshots? (?:in|with)"
            r"|evidence|its output|conclusion|test coverage|coverage|retro\w*|stand-?ups?|incidents?",
        ),
        (
            2,
            r"commits?|branch|prs?|push|merge|main|ticket|tickets|ci|workflow|tests?|estimate|assumptions?|assume"
            r"|guess(?:ing)?|proof|verify|double-check|confirm|ask|dependency(?= .{0,20}licen)|new dependenc(?:y"
            r"|ies)",
        ),
    ),
    "Domain": (
        (
            3,
            r"shares?|traders?|fixing|london rate|insur(?:er|ers|ance)|codes? starting|gmv|kpi|pfand|warenwert"
            r"|rechnung(?:en)?|kunden?|factures?|clients? finaux|facturas?|clientes?|pedidos?|swiss francs?|rappen"
            r"|francs|euros?|dollars?"
            r"|rounded to|week starts|fiscal year|business days?|working days?|holidays?|time ?zones? of|shops?"
            r"|stores? (?:in|open)|supervisors?|legal(?: thing| reasons?)?|regulat\w+|by law|law|hospitals?|kelvin"
            r"|celsius|inverters?|registers? (?:of|are|is)"
            r"|sensors?|meters?|kilometers?|miles|kilograms?|litres?|volts?|units?|customers?|tenants?|guests?"
            r"|fares?|rides?|trips?|levels? (?:cap|design)|players?|enemies|npcs?|guilds?|quests?|loot|orders? (?:in"
            r"|are|with|count|that)|quotes?(?= (?:are|have|expire))"
            r"|refunds?|chargebacks?|settlements?|positions?|portfolios?|margin|interest|accruals?|ledger(?:"
            r" entr\w+)?|accounting|bookkeep\w+|tax|vat|iban|sepa|payroll|shifts?|patients?|diagnos\w+|dosage|lab"
            r" results?|batches of|lots?|sku|skus|pallets?|warehouses?"
            r"|grams?|kilos?|kg|inches|fahrenheit|erp|floats? for (?:money|prices?|amounts?|currenc\w+)|we (?:bill"
            r"|charge|invoice|ship|pay|sell|deliver"
            r"|round|book|refund|price|insure|lend|rent|buy|pick"
            r"|pack|count)|bank|banks|cents?|finance|(?:people|we|they|finance|traders|customers|users|everyone"
            r"|guys) calls? (?:that|it|this|those)|minors|glossary|in our"
            r" (?:terms|language|jargon|business|world|market|reports?|trade|domain|company)|means|mean by|is short"
            r" for|stands for|not to be confused|we call|for us",
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
            r"cuda(?: [\d.]+)?|lerna|protoc|esptool|fnm|nvm|kubectl [\d.]+|xcode|rosetta|simulator|emulator|vagrant"
            r"|vpn|codegen|on the path"
            r"|the path for|\bport \d{2,5}\b|dev (?:db|server|container)|on my machine|localhost|wsl|m1s?|apple"
            r" silicon|arm runners?|runners?|ci (?:image|container|runner)"
            r"|package\.json|pyproject|cargo\.toml|chart\.yaml|tsconfig\w*|makefiles?|\.npmrc|lockfiles?|lock file"
            r"|flake8|black|biome|turborepo|nx|monorepo tool\w*|bundler|transpiler|linter|formatter|ide|debugger"
            r"|repl|dev tools|devtools"
            r"|node \d+|python \d[\d.]*|java \d+|jdk \d+|ruby \d|go \d\.\d+|version \d[\d.]*|terraform|pulumi"
            r"|ansible|aws cli|gcloud|az cli|psql|redis-cli|gradle|kotlin plugin|agp|cocoapods|fastlane|adb|flutter"
            r"|expo|metro|vite|webpack|storybook|cypress|playwright"
            r"|docker(?:file)?|compose|kubernetes|k8s|helm|github actions|gitlab ci|jenkins|command(?! handlers?|"
            r" bus| pattern)|network access|no network|github actions?|env vars?|umgebungsvariable\w*|befehl|outil"
            r"|commande|herramienta|comando",
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
            r"(?:emails?|names?|address(?:es)?|phone numbers?|cards?|tokens?|keys?|data|credentials?|bodies)"
            r" [^.;]{0,40}\b(?:in|into|to) (?:the |any |our )?log(?:s| files?| output| lines?)?"
            r"|stack traces?|leaks?|s3 buckets?|private by default|production data|csrf protection|iam|session"
            r" lifetime|jetons?|localstorage|(?:health|personal|private"
            r"|customer|medical|patient)"
            r" (?:data|records?|information)|mots de passe"
            r"|admin panel|public(?:ly)? (?:accessible|reachable)|sensitive|rotat(?:e|es|ed|ing) (?:the |these |our "
            r"|those )?(?:\w+ )?(?:keys?|secrets?|tokens?|credentials?|certs?)|claves?|clés?|schlüssel|\.env"
            r"|access-control-allow-origin|allow[- ]?list(?:ed)?|white-?list(?:ed)?|public-read|redirect urls?"
            r"|prod(?:uction)? credentials|read[- ]only (?:replica )?user|bind parameters?|sql injection|injection"
            r"|string concatenation in sql|rate limit\w*|lock-?out"
            r"|hmac\w*|compare_digest|(?:compare[sd]?|verif\w+|check\w*|validat\w*) (?:the )?(?:\w+ )?signatures?"
            r"|captchas?|hole|signed urls?|dependency scan\w*|scanner|cve(?:-\d+)?s?|vulnerab\w+"
            r"|audit(?: log)?|pen ?test|tls|mtls|x509|certificates?|csrf|xss|ssrf|rce|owasp|rls|row[- ]level"
            r"|secrets?|passwor[dt]\w*|mot de passe|contraseñas?|passwörter|geheimnis\w*"
            r"|tokens?|api keys?|keys? (?:in|into) (?:the )?(?:repo|code|git|client)|encrypt\w*|decrypt\w*|hash(?:ed"
            r"|ing)?(?= passw)|bcrypt|argon2|salt|personal data|pii|gdpr|dsgvo|anonymi[sz]\w+|redact\w*|mask(?:ed"
            r"|s)?|leak(?:s|ed)? (?:keys|tokens|secrets|data|credentials)"
            r"|permissions?(?! denied)|least privilege|root user|as root|privileged|sudo|sandbox(?:ed)?|untrusted"
            r"|user input|sanitiz\w+|escap(?:e|ed|ing)|eval|shell=true|deserializ\w+|pickle|cors|auth(?:n|z)?"
            r"|oauth\w*|login|session cookies?|logged in|2fa|mfa|phishing",
        ),
    ),
    "New Skill": (
        (
            5,
            r"(?:this|the) checklist|(?:second|third|fourth|fifth|nth|umpteenth) time (?:this|in|we|that)|every time"
            r" (?:the|it|we|this)"
            r"|each time|same (?:[\w-]+ ){0,3}(?:as (?:in|last|the)|again|story|thing)|again the same|like the last"
            r" times?|as in the (?:\w+ )?(?:earlier|previous|last)"
            r"|keeps? (?:coming back|happening|biting)|came back|recurring|over and over|time and again|every"
            r" (?:release|deploy|upgrade|month|sprint) we|the recipe|write it down|as a skill|make it a skill|turn"
            r" (?:this|that|it) into|step by step",
        ),
        (
            2,
            r"workarounds?|trick|red herring|misleading|debug(?:ging|ged)?|bisect\w*|reproduc\w+|diagnos(?:e|ed|ing)"
            r"|troubleshoot\w*|symptom",
        ),
    ),
}


UNKNOWN = "Unknown"
# Words of every day that are tools where they stand as a command.
_AS_COMMANDS = (
    r"`[a-z][\w.-]* [\w./:-][^`]{0,80}`|"
    r"`(?:make|just|task|go|nix|fish|turbo|gem|composer|react|spring|compose|wheel)\b|\b(?:gnu|run|through|by|via"
    r"|calls?) make\b"
    r"|\bmake (?:test|lint|gen|build|install|check|seed|dev|format|fmt|clean|generate|run|up|deploy|docs|all|bench"
    r"|setup)\b"
    r"|\bdocker compose\b|\bmoment(?:\.js|js)\b"
)
CATEGORIES = (*(name for name, _ in WORDS), UNKNOWN)
_ENOUGH = 2
_AT_HEAD = 0.6
_BEHIND = 0.7
_LEAST_HEAD = 12
_READ_CHARS = 2_000
_HEAD = (
    r"[,;:(–—]|\b(?:for|because|so|since|when|if|otherwise|that|which|until|unless|instead|like|even"
    r"|without)\b"
)
# What was found out is a skill, unless its words are plainly of another topic.
_LEANING = {"caveat": ("Tools", 3.0), "change": ("Tools", 2.0)}
_AGAIN = 4.0  # a fix that was needed before
_SKILLED = {"cause": 5.5, "fix": 5.5, "found": 4.5, "effort": 6.0, "insight": 4.5}
# Things of programs: what holds for them is no business rule.
_OF_PROGRAMS = (
    r"\b(?:error|exception|string|number|loop|thread|process|bug|crash|regex|parser|pointer|promise|boolean|value"
    r"|list"
    r"|map|array"
    r"|object|byte|file|folder|path|page|button|header|footer|label|modal|banner|warning|message|line|function|method"
    r"|class"
    r"|variable|fix|code|timeout|lock|race|leak|disk|memory|cpu|browser|server|client|request|response|json|xml|html"
    r"|css|sql"
    r"|url|id|ids|field|form|input|output|screen|icon|menu|sidebar|answer|reply|question|prompt|log|logs|cache|thing"
    r"|stuff"
    r"|edit|program|data|byte|pixel|font|text|word|sentence|step|generated|avatar|dashboard)s?\b|[`/_=<>]|\w\.\w"
    r"|[a-z][A-Z]"
)
# What holds for the things of a trade: "a claim can only be reopened once", "commission is always calculated on …".
_THINGS = (
    r"(?:(?:remember|note|the rule is|keep in mind|no|and|but)[:,]? )*(?:that )?(?!(?:always|never|don't|do|stop|you"
    r"|we|i|it|this|that"
    r"|they|he|she|please|use|run|keep|make|no|not|must|only|if|when|there|what|how|why|be|ask|avoid|put|call|let"
    r"|write|say"
    r"|all the|from|in|on|at|before|after|for|with|by|as|so|just)\b)(?:(?:an?|the|each|every|all|our|some"
    r"|any) )?[a-z-]+"
    r"(?: [a-z-]+){0,4} (?:can(?:not)?|may|must|always|never|has|have|gets?|expires?|consists?|belongs?|counts?|is"
    r"|are)\b"
)
_USED = (
    r"\b(?:[Uu]s(?:e|ing|ed)|through|via) [A-Z][a-z]+\b|[Cc]hose [A-Z`][\w.`-]+ over|\bfrom [A-Z`][\w.`-]+ to [A-Z`]"
    r"|replaced [A-Z`][\w.`-]+ with"
)
_FLAG = r"(?<!\w)--[a-z][\w-]{2,}|\b[A-Z][A-Z_]{3,}=|(?:^|\s)\./\w"


def category_of(text: str, stated: bool = False, way: str = "") -> str:
    """The topic of a sentence. One `stated` as a rule or a fact, and of no trade of ours, is of the business; what was
    found out in some `way` and is of no other topic is a skill in the making.
    """
    low = text.lower().replace("’", "'")
    best, most = UNKNOWN, _ENOUGH - 1.0
    for name, points in points_of(text, way).items():
        if points > most:
            best, most = name, points
    if best != UNKNOWN or way == "decision":
        return "Architecture" if best == UNKNOWN else best
    return "Domain" if stated and _speaks_of_things(text, low) else UNKNOWN


def points_of(text: str, way: str = "") -> dict[str, float]:
    """What speaks for each topic: the explanation of a choice."""
    text = text[:_READ_CHARS]
    low = text.lower().replace("’", "'")
    bare = compiled(r"`[^`]{0,200}`").sub(lambda name: " " * len(name[0]), low)
    head = _head(low)
    found = {}
    for name, words in WORDS:
        tool = name == "Tools"
        said = low.replace("`", " ") if tool else bare
        found[name] = _points(said, (*MORE.get(name, ()), *words), OF_CODE if name == "Domain" else "", head)
        if tool:
            found[name] += _tool_points(text, low)
    found["New Skill"] += _SKILLED.get(way, 0)
    if way == "fix" and compiled(RECURRING).search(low):
        found["New Skill"] += _AGAIN
    if way in _SKILLED:  # a cause is seldom one of style or of habit, though tests and names are spoken of
        found["Process"] *= 0.6
        found["Code Style"] *= 0.6
    if way in _LEANING:
        name, points = _LEANING[way]
        found[name] += points
    return found


def _head(low: str) -> int:
    """Where the part of a sentence ends that says what it is about: before its reason, its place, its purpose."""
    cut = compiled(_HEAD).search(low, min(len(low), _LEAST_HEAD))
    return cut.start() if cut else len(low)


def _speaks_of_things(text: str, low: str) -> bool:
    """Whether it says what holds for something, and names nothing that programs are made of."""
    return compiled(_THINGS).match(low) is not None and compiled(_OF_PROGRAMS).search(text) is None


def _tool_points(text: str, low: str) -> int:
    """What flags and commands count, and a name that is used: "we use Lombok"."""
    if compiled(_FLAG).search(text) or compiled(_AS_COMMANDS).search(low):
        return 3
    return 2 if compiled(_USED).search(text) else 0


def _points(low: str, words: tuple[tuple[int, str], ...], unless: str, head: int) -> float:
    """What the different words of one topic count together; each place counts once, at its highest, the head more."""
    spans = [
        (points, -match.start(), match.end(), match[0].rstrip("s"))
        for points, pattern in words
        for match in compiled(rf"(?<![\w./-])(?:{pattern})(?![\w-]){unless}").finditer(low)
    ]
    total, said = 0.0, set()
    taken: list[tuple[int, int]] = []
    for points, start, end, word in sorted(spans, reverse=True):
        if word in said or any(-start < other_end and other < end for other, other_end in taken):
            continue
        taken.append((-start, end))
        said.add(word)
        total += points + _AT_HEAD if -start < head else points * _BEHIND
    return total


def names_tool(text: str) -> bool:
    """Whether a text names a tool, a command line, a flag or a variable of the environment."""
    low = text.lower()
    named = compiled(rf"(?<![\w./-])(?:{TOOL_NAMES})(?![\w-])").search(low.replace("`", " "))
    return bool(
        named or compiled(_USED).search(text) or compiled(_AS_COMMANDS).search(low) or compiled(_FLAG).search(text)
    )
