"""What a sentence is about: one of seven topics, by its words.

Plain words of a topic count two, words that many topics share one, words that leave no doubt more. The topic with most
points is meant; of equal ones the first in the order of `CATEGORIES`. What stands in back-ticks is a name, and speaks
for a tool only.
"""

from __future__ import annotations

from swarmlore.rules.correction_words import compiled

UNKNOWN = "Unknown"
_TOOL_NAMES = (
    r"p?npm|yarn|npx|bunx?|deno|node(?:\.?js)?|tsx|ts-node|nodemon|nvm|fnm|volta|pip|pipx|uv|poetry|conda|pipenv|tox"
    r"|nox"
    r"|docker(?:-compose)?|podman|buildx|cmake|ninja|bazel|meson|git|gh|cargo|rustup|gradlew?|maven|mvn|sbt"
    r"|webpack|vite|esbuild|rollup|nx|babel|swc|eslint|prettier|ruff|isort|mypy|pyright|pylint|flake8|pytest|jest"
    r"|vitest|mocha|playwright|cypress|terraform|tofu|ansible|kubectl|helm|k9s|minikube|gcc|g\+\+|clang|llvm|jdk|jre"
    r"|ripgrep|rg|grep|sed|awk|jq|curl|wget|ssh|rsync|tmux|vim|emacs|vs ?code|intellij|xcode|homebrew|brew|apt|yum|dnf"
    r"|apk|setuptools|go (?:mod|build|test|vet)|golangci-lint|rake|bundler|dotnet|nuget|mkdocs|sphinx"
    r"|graphviz|ffmpeg|imagemagick|postman|sentry|grafana|prometheus|nginx|systemd|systemctl|bash|zsh|powershell"
    r"|date-fns|django|flask|fastapi|rails|next\.?js|vue|svelte|angular|jenkins|travis|circleci|heroku|vercel|netlify"
    r"|launchdarkly|github actions|gitlab"
    r"|dependabot|renovate|pre-commit|husky|mise|asdf|direnv|python|typescript|java|ruby|golang|php"
)
# Words of every day that are tools where they stand as a command.
_AS_COMMANDS = (
    r"`[a-z][\w.-]* [\w./:-][^`]{0,80}`|"
    r"`(?:make|just|task|go|nix|fish|turbo|gem|composer|react|spring|compose|wheel)\b|\b(?:gnu|run|through|by|via"
    r"|calls?) make\b"
    r"|\bmake (?:test|lint|gen|build|install|check|seed|dev|format|fmt|clean|generate|run|up|deploy|docs|all|bench"
    r"|setup)\b"
    r"|\bdocker compose\b|\bmoment(?:\.js|js)\b"
)
_OF_CODE = (
    r"(?! (?:modules?|services?|apis?|tables?|schemas?|queues?|endpoints?|consumers?|packages?|pages?"
    r"|controllers?|layer|handlers?))"
)
_WORDS = (
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
        (1, r"functions?|variables?|names?|class(?:es)?|methods?|lines?|characters|constants?|helpers?|files?|types?"),
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
        (3, r"claims?|insured|insurance|legal case|buyers?|sellers?|wallets?|payouts?|vouchers?|appointments?|doctors?"
            r"|clinics?|prescriptions?|hotels?|bundles?|auctions?|bids?|lots?|donations?|donors?|sensors?|leads? (?:is"
            r"|are)|mortgages?|loans?|interest rates?|portfolios?|trades?|brokers?|parcels?|couriers?|drivers?|riders?"
            r"|lessons?|pupils?|teachers?|grades?|exams?|recipes? (?:has|have)|ingredients?|menus?|players?"
            r"|teams? (?:has|have|can)|seasons?|fares?|passengers?|gross|net prices?|invoic\w+|vat|tenants?|customers?"
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
        (3, rf"{_TOOL_NAMES}|venv|virtualenv|selenium|openssl|pip-tools|cli|command[- ]line|lock ?files?|make ?files?"
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
        (3, r"tokens?|auth|permissions?(?! denied)|certificates?|cookies?|logins?|log in|admin route|trusted|untrusted"
            r"|signatures?"),
    )),
    ("New Skill", (
        (6, r"skills?|recipes?|step by step|step-by-step|procedures?|playbooks?|runbooks?|checklists?|by this recipe"
            r"|follow these steps|these steps"),
        (3, r"workflows?|how-?to|routine|the steps (?:are|to)"),
    )),
)  # fmt: skip
CATEGORIES = (*(name for name, _ in _WORDS), UNKNOWN)
_ENOUGH = 2
# Things of programs: what holds for them is no business rule.
_OF_PROGRAMS = (
    r"\b(?:error|exception|string|number|loop|thread|process|bug|crash|regex|parser|pointer|promise|boolean|value|list"
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


def category_of(text: str, stated: bool = False) -> str:
    """The topic of a sentence. One `stated` as a rule or a fact, and of no trade of ours, is of the business."""
    low = text.lower().replace("’", "'")
    bare = compiled(r"`[^`]{0,200}`").sub(" ", low)
    best, most = UNKNOWN, _ENOUGH - 1
    for name, words in _WORDS:
        points = _points(
            low.replace("`", " ") if name == "Tools" else bare, words, _OF_CODE if name == "Domain" else ""
        )
        if name == "Tools":
            points += _tool_points(text, low)
        if points > most:
            best, most = name, points
    return "Domain" if stated and best == UNKNOWN and _speaks_of_things(text, low) else best


def _speaks_of_things(text: str, low: str) -> bool:
    """Whether it says what holds for something, and names nothing that programs are made of."""
    return compiled(_THINGS).match(low) is not None and compiled(_OF_PROGRAMS).search(text) is None


def _tool_points(text: str, low: str) -> int:
    """What flags and commands count, and a name that is used: "we use Lombok"."""
    if compiled(_FLAG).search(text) or compiled(_AS_COMMANDS).search(low):
        return 3
    return 2 if compiled(_USED).search(text) else 0


def _points(low: str, words: tuple[tuple[int, str], ...], unless: str) -> int:
    """What the different words of one topic count together; a word counts once, at its highest."""
    seen: dict[str, int] = {}
    for points, pattern in words:
        for word in compiled(rf"(?<![\w./-])(?:{pattern})(?![\w-]){unless}").findall(low):
            seen.setdefault(word.rstrip("s"), points)
    return sum(seen.values())


def names_tool(text: str) -> bool:
    """Whether a text names a tool, a command line, a flag or a variable of the environment."""
    low = text.lower()
    named = compiled(rf"(?<![\w./-])(?:{_TOOL_NAMES})(?![\w-])").search(low.replace("`", " "))
    return bool(
        named or compiled(_USED).search(text) or compiled(_AS_COMMANDS).search(low) or compiled(_FLAG).search(text)
    )
