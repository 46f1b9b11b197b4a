"""Concepts: extract entities (technologies, tags, names in back-ticks, errors) and their relations by heuristics.

They are used where no entities of a note were written down. `canonical` normalises names of the same thing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from swarmlore.domain.language.display import whole_words
from swarmlore.domain.language.tokenizer import stem
from swarmlore.domain.records import Entity, Relation
from swarmlore.errors import Ambiguous

# Names in canonical form: lower case, one space between words.
_TECHNOLOGIES = """
    actix; aiohttp; alembic; angularjs; axum; bevy; drizzle; ecto; fastify; fiber; gorm; hono; koa; ktor; opentelemetry;
    psycopg; qdrant; quarkus; rocket; rspec; sequelize; sidekiq; sveltekit; tauri; tonic; typeorm; airflow;
    ajax; alpine; android; angular; ansible; apache; arrow; asgi; asp.net; astro; asyncio; aurora; avro;
    aws; azure; bash; bigquery; bun; c; c#; c++; cassandra; celery; clickhouse; clojure; cloudflare; cockroachdb; cors;
    cosmosdb; couchdb; css; csv; cuda; cython; dart; dask; datadog; debian; deno; diesel; django; dns; docker; duckdb;
    dynamodb; elasticsearch; electron; elixir; elm; envoy; erlang; etcd; express; f#; fastapi; ffmpeg; firebase;
    firefox; flask; flink; flutter; fortran; gcp; github actions; gitlab ci; go; grafana; graphql; grpc; hadoop;
    haskell; heroku; hibernate; html; http; https; hugging face; iceberg; ios; istio; java; javascript; jaeger; jdbc;
    jenkins; jquery; json; julia; junit; jwt; kafka; keras; kotlin; kubernetes; lambda; langchain; laravel; ldap; less;
    linux; llvm; lua; macos; mariadb; matlab; mcp; memcached; mongodb; mqtt; mssql; mysql; nats; neo4j; nestjs;
    next; nginx; nix; node; numpy; nuxt; oauth; objective-c; ocaml; onnx; openapi; openid; openssl; openstack; oracle;
    pandas; parquet; perl; pgvector; php; plotly; polars; postgres; powershell; prisma; prometheus; protobuf; pydantic;
    pyqt; python; pytorch; qt; r; rabbitmq; rails; react; react native; redis; redux; remix; rest; rocksdb; ruby; rust;
    rxjs; s3; saml; sass; scala; scikit-learn; scipy; selenium; sentry; serde; smtp; snowflake; solid; solidity; solr;
    spark; spring; spring boot; sqlalchemy; sqlite; sqlx; sql; ssh; ssl; starlette; storybook; streamlit; stripe;
    supabase; svelte; swift; swiftui; symfony; tailwind; tensorflow; terraform; thrift; tls; tokio; toml; traefik;
    triton; typescript; ubuntu; unicode; unity; vault; vue; wasm; wayland; webgl; webgpu; webrtc; websocket; windows;
    wordpress; wsgi; wsl; x11; xml; yaml; zeromq; zig; zookeeper; zsh; fts5; pgbouncer; uvicorn; gunicorn; httpx
"""
_TOOLS = """
    apt; babel; bazel; biome; black; brew; buildkite; bundler; cargo; chrome; chromium; circleci; clang; claude code;
    clippy; cmake; codex; composer; conda; copilot; curl; cypress; direnv; docker compose; dockerfile; emacs; esbuild;
    eslint; flake8; gcc; gdb; gemini cli; git; github; gitlab; gopls; gradle; helm; homebrew; husky; hypothesis; jest;
    jira; jq; just; k9s; kubectl; kustomize; lerna; lldb; make; maven; mercurial; minikube; mocha; mypy; neovim; ninja;
    node-gyp; nodemon; npm; nvm; nx; opencode; perf; pip; pipenv; playwright; pm2; pnpm; podman; poetry; postman; pre
    commit; prettier; psql; puppeteer; pyenv; pylint; pyright; pytest; renovate; ripgrep; rollup; rsync; rubocop; ruff;
    rustc; rustup; sbt; sccache; shellcheck; strace; subversion; swc; systemd; tmux; tox; turborepo; uv; valgrind; vim;
    virtualenv; vite; vitest; vscode; webpack; wget; xcode; yarn
"""
# Names that are also everyday words count only if written as a name.
_ORDINARY = """
    arrow aurora astro beam black c composer express fiber flask go helm hypothesis iceberg just koa lambda less make
    next ninja node oracle perf poetry prettier r react remix renovate rest rocket rollup sentry solid spark spring
    stripe swift unity vault windows
"""
_ALIASES = """
    postgresql = postgres; pg = postgres; pgsql = postgres; k8s = kubernetes;
    kube = kubernetes; js = javascript; ecmascript = javascript; ts = typescript; py = python; cpython = python;
    otel = opentelemetry; psycopg2 = psycopg; psycopg3 = psycopg; angular js = angularjs; svelte kit = sveltekit;
    golang = go; go lang = go; nodejs = node; node js = node; vuejs = vue; vue js = vue; reactjs = react;
    react js = react; nextjs = next; next js = next; nuxtjs = nuxt; expressjs = express; express js = express;
    nest = nestjs; nest js = nestjs; csharp = c#; c sharp = c#; fsharp = f#;
    f sharp = f#; cpp = c++; cplusplus = c++; objc = objective-c; objective c = objective-c; rb = ruby;
    ror = rails; ruby on rails = rails; rs = rust; kt = kotlin; sh = bash; yml = yaml; mongo = mongodb;
    elastic = elasticsearch; elastic search = elasticsearch; tf = terraform; gha = github actions;
    gh actions = github actions; amazon web services = aws; google cloud = gcp; google cloud platform = gcp;
    microsoft azure = azure; sql server = mssql; ms sql = mssql; sqlite3 = sqlite; rabbit mq = rabbitmq;
    protocol buffer = protobuf; protobufs = protobuf; web assembly = wasm; webassembly = wasm; web socket = websocket;
    websockets = websocket; dockerfiles = dockerfile; docker-compose = docker compose; compose v2 = docker compose;
    vs code = vscode; visual studio code = vscode; sklearn = scikit-learn; scikit learn = scikit-learn;
    torch = pytorch; np = numpy; osx = macos; os x = macos; mac os = macos; powersh = powershell; pwsh = powershell;
    tailwindcss = tailwind; tailwind css = tailwind; gitlab-ci = gitlab ci; cicd = ci; ci/cd = ci; ci cd = ci;
    continuous integration = ci; oauth2 = oauth; oauth 2 = oauth; env var = environment variable;
    env vars = environment variable; envvar = environment variable;
    db = database; auth = authentication; authn = authentication; authz = authorization;
    repo = repository; config = configuration; deps = dependency; dep = dependency; docs = documentation;
    pre-commit = pre commit; regexp = regex; regular expression = regex; node-gyp = node-gyp; node gyp = node-gyp;
    sqlalchemy orm = sqlalchemy; pg vector = pgvector; fast api = fastapi; huggingface = hugging face;
    claude-code = claude code; react-native = react native; spring-boot = spring boot; springboot = spring boot
"""


def _items(listed: str) -> frozenset[str]:
    return frozenset(" ".join(item.split()) for item in listed.split(";") if item.strip())


def _pairs(listed: str) -> dict[str, str]:
    pairs = (item.split(" = ") for item in " ".join(listed.split()).split(";") if item.strip())
    return {name.strip(): meant.strip() for name, meant in pairs}


TECHNOLOGIES = _items(_TECHNOLOGIES)
TOOLS = _items(_TOOLS)
KNOWN = TECHNOLOGIES | TOOLS
ORDINARY = frozenset(_ORDINARY.split())
ALIASES: dict[str, str] = _pairs(_ALIASES)

ENTITY_KINDS = ("project", "agent", "feature", "person", "business", "chore")

# Directories under src/ that only arrange code, or that another rule covers.
_ARRANGEMENT = """
app apps asset assets bin build class classes common component components const constants core css dist doc docs enum
enums feature features fixture fixtures generated helper helpers hook hooks image images img include interface
interfaces internal java kotlin lib libs main misc mock mocks model models module modules package packages page pages
pkg public resource resources scala script scripts service services shared skill skills src static style styles
template templates test testing tests tool tools type types typings util utilities utils vendor view views
"""
GENERIC_DIRS = frozenset(_ARRANGEMENT.split())


def is_slug(name: str) -> bool:
    """Return whether a name is an entity slug: its kind, a colon, and letters, digits and hyphens."""
    kind, _, slug = name.partition(":")
    return kind in ENTITY_KINDS and re.fullmatch(r"[a-z0-9-]+", slug) is not None


def entities_from_path(path: str) -> tuple[str, ...]:
    """Return the entities that a file's folders suggest; each rule adds at most one."""
    lowered = path.replace("\\", "/").lower()
    found = [
        f"{kind}:{match[1]}{suffix}"
        for pattern, kind, suffix in _path_rules()
        if (match := pattern.search(lowered)) is not None
    ]
    source = re.search(r"(?:^|/)src/([a-z0-9-]+)[^/]*/", lowered)
    if source is not None and source[1] not in GENERIC_DIRS:
        found.append(f"feature:{source[1]}")
    return tuple(dict.fromkeys(found))


@cache
def _path_rules() -> tuple[tuple[re.Pattern[str], str, str], ...]:
    """Return (pattern, kind of the entity, suffix of its name) for folders."""
    rules = (
        (r"features?", "feature", ""),
        (r"components?", "feature", "-component"),
        (r"(?:packages|apps|services)", "project", ""),
        (r"docs", "feature", "-docs"),
        (r"\.hive/analysis", "feature", "-analysis"),
        (r"(?:skill|tools?)", "agent", ""),
    )
    return tuple((re.compile(folder + r"/([a-z0-9-]+)"), kind, suffix) for folder, kind, suffix in rules)


@cache
def _slug_in_text() -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(ENTITY_KINDS)}):([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\b", re.IGNORECASE | re.ASCII)


def entities_from_text(text: str) -> tuple[str, ...]:
    """Find slugs such as `feature:auth` in a text, lower-cased, each once, in order."""
    slugs = (f"{match[1]}:{match[2]}".lower() for match in _slug_in_text().finditer(text))
    return tuple(dict.fromkeys(slugs))


def resolve_entity(word: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the known slugs that a word may mean; several mean that the caller must choose.

    A word with a colon is a slug already, and an exact name wins over similar ones.
    """
    asked = word.strip().lower()
    if ":" in asked:
        return tuple(sorted(slug for slug in known if slug.lower() == asked)) or (asked,)
    plain = _plain_entity(asked)
    if not plain:
        return ()
    names = {slug: _plain_entity(slug.partition(":")[2]) for slug in sorted(known)}
    exact = tuple(slug for slug, name in names.items() if name == plain)
    return exact or tuple(slug for slug, name in names.items() if name and (name in plain or plain in name))


def resolve_entities(words: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Return slugs for words; raises Ambiguous if a word fits several known slugs."""
    found: list[str] = []
    for word in words:
        fits = resolve_entity(word, known)
        if len(fits) > 1:
            raise Ambiguous(
                f"{word!r} may mean {', '.join(fits)}",
                "say which: --entity " + fits[0],
                tuple(fits),
                code="DISAMBIGUATION_REQUIRED",
            )
        found += fits or (word,)
    return tuple(found)


def _plain_entity(name: str) -> str:
    """Return a name without case, hyphens and spaces."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


MAX_ENTITIES = 8
MAX_RELATIONS = 6
MAX_ERRORS = 2
NAME_CHARS = 60
READ_CHARS = 65_536
GUESSED_STRENGTH = 3.0  # of a relation found by heuristics; a written one without a strength has 5
_KEY_CHARS = 120
_TERM_WORDS = 4

# Each part is bounded or excludes what follows it, so that hostile texts take linear time.
_CALL = r"(?<=\w)\([^()]{0,60}\)$"
_VERSION = r"(?: v?\d+(?:\.\d+){1,3}[\w.]{0,12}| v\d+| \d+\.x|@\^?v?\d[\w.]{0,16})$"
_BARE_NUMBER = r" ?\d+(?:\.\d+){0,3}$"
_WORD = r"[A-Za-z][A-Za-z0-9]*(?:[.#+-]+[A-Za-z0-9]+)*(?:\+\+|#)?"
_TERM = r"(?<!`)`([^`\n]{2,80})`(?!`)"
_THROWN = r"\b[A-Z]\w{1,60}(?:Error|Exception|Panic|Failure)\b"
_SAID = r"(?:^|[\s\[])(?:error|fatal|panic|fatal error|ERR!|ERROR|FATAL)(?:\[\w{1,12}\])?: \S|panicked at "
_IDENTIFIER = r"[A-Za-z_]\w*(?:(?:::|\.|->)[A-Za-z_]\w*)*(?:\(\))?"
_PATHLIKE = r"(?:[\w.@-]+/)+[\w.@-]*|[\w-]+\.(?:py|js|ts|tsx|rs|go|toml|yaml|yml|json|md|sql|sh|cfg|ini|lock|env)"
# Too common for the name alone to connect two texts.
_COMMON_ERRORS = frozenset(
    "Error Exception TypeError ValueError KeyError RuntimeError AttributeError ReferenceError SyntaxError IOError"
    " OSError AssertionError IndexError NameError ImportError RuntimeException NullPointerException RangeError".split()
)
_SECOND_WORDS = frozenset(name.split(" ")[1] for name in (*KNOWN, *ALIASES) if name.count(" ") == 1)
# Words that the rules of `_singular` would get wrong.
_SINGULARS = {word: word for word in "alias atlas bias canvas series species lens news".split()} | dict(
    pair.split(":")
    for pair in """
        caches:cache aliases:alias canvases:canvas cookies:cookie zombies:zombie indices:index statuses:status
        vertices:vertex matrices:matrix buses:bus viruses:virus axes:axis analyses:analysis headers:header
    """.split()
)


@lru_cache(maxsize=16_384)
def canonical(name: str) -> str:
    """Return the canonical form of a name: without case, joints, plural, `()` and version, by its usual alias.

    Different things stay apart: `c`, `c++` and `c#`, `http` and `https`, `error 404` and `error 500`.
    """
    plain = _plain(name)
    if plain in KNOWN:
        return plain
    plain = _without_version(ALIASES.get(plain, plain))
    if plain in KNOWN:
        return plain
    plain = _by_words(plain)
    return ALIASES.get(plain, plain)


def _plain(name: str) -> str:
    """Remove case, invisible characters, quotes and joints; a leading dot or hyphen stays, as in files and options."""
    text = unicodedata.normalize("NFKC", name[: 4 * _KEY_CHARS]).casefold()
    text = "".join(
        letter for letter in text if unicodedata.category(letter) not in ("Cf", "Cc", "Cs") or letter.isspace()
    )
    text = " ".join(text.strip(" \t\r\n`'\"“”‘’«»*").rstrip(".,:;!?").split())
    text = _compiled(_CALL).sub("", text)
    if text in KNOWN:
        return text
    lead = len(text) - len(text.lstrip("-."))
    joined = " ".join(text[lead:].replace("-", " ").replace("_", " ").split())
    return (text[:lead] + joined)[:_KEY_CHARS].rstrip() or text[:_KEY_CHARS]


def _without_version(plain: str) -> str:
    """Remove a version: `tokio 1.35` becomes tokio; a bare number is removed from known technologies only."""
    base = _compiled(_VERSION).sub("", plain) or plain
    bare = _compiled(_BARE_NUMBER).sub("", base).removesuffix(".js")
    bare = ALIASES.get(bare, bare)
    return bare if bare in KNOWN else ALIASES.get(base, base)


def _by_words(plain: str) -> str:
    """Replace each word by its usual alias and the last one by its singular."""
    if plain.startswith("-"):
        return plain
    words = [ALIASES.get(word, word) if len(word) > 2 else word for word in plain.split(" ")]
    words[-1] = _singular(words[-1])
    return " ".join(words)


def _singular(word: str) -> str:
    if word in _SINGULARS:
        return _SINGULARS[word]
    if len(word) < 5 or word in KNOWN or not word.isascii() or not word.isalpha() or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is", "os")) else word[:-1]


def concepts_of(title: str, tags: Sequence[str], body: str) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """Return up to eight entities of a note and up to six relations between them."""
    entities = _distinct(title, tags, body[:READ_CHARS])
    return entities, _relations(entities)


def named_in(text: str) -> tuple[Entity, ...]:
    """Return the entities that a short text names: technologies, terms in back-ticks, errors."""
    return _distinct("", (), text[:READ_CHARS])


def type_of(name: str) -> str:
    """Return the type of an entity by the form of its name."""
    key = canonical(name)
    if key in TOOLS:
        return "tool"
    if key in TECHNOLOGIES:
        return "technology"
    bare = name.strip("` ")
    if _compiled(_THROWN).fullmatch(bare) or bare.endswith(("Error", "Exception")):
        return "error"
    if bare.startswith("-") or (bare.isupper() and "_" in bare):
        return "config"
    if _compiled(_PATHLIKE).fullmatch(bare):
        return "artifact"
    joined = "_" in bare or "::" in bare or "." in bare or bare.endswith("()")
    code = joined or any(a.islower() and b.isupper() for a, b in pairwise(bare))
    return "function" if code and _compiled(_IDENTIFIER).fullmatch(bare) else "concept"


def _distinct(title: str, tags: Sequence[str], body: str) -> tuple[Entity, ...]:
    """Collect entities round-robin: the first of each source, then the second of each, until there are enough."""
    whole = " ".join(title.split())
    head = (
        [Entity(whole, "concept")] if 0 < len(whole) <= NAME_CHARS else []
    )  # a longer title is a sentence, not a name
    sources = [
        iter(head),
        (Entity(tag, type_of(tag)) for tag in tags),
        (Entity(name, type_of(name)) for name in _technologies(f"{title}\n{body}" if title else body)),
        iter(_errors(body)),
        (Entity(term, type_of(term)) for term in _terms(body)),
    ]
    found: dict[str, Entity] = {}
    while sources and len(found) < MAX_ENTITIES:
        sources = [source for source in sources if _take(source, found)]
    return tuple(found.values())


def _take(source: Iterator[Entity], found: dict[str, Entity]) -> bool:
    """Add the next new entity of a source, while there is room; return whether the source may have more."""
    for entity in source:
        key = canonical(entity.name)
        if key and key not in found and len(found) < MAX_ENTITIES:
            found[key] = entity
            return True
    return False


def _technologies(text: str) -> Iterator[str]:
    """Return known names in a text, as whole words; an everyday word only if written as a name."""
    before, end = "", -1
    for match in _compiled(_WORD).finditer(text):
        word = match[0].rstrip("-.").lower()
        pair = f"{before} {word}" if word in _SECOND_WORDS and before and match.start() == end + 1 else ""
        name, said = (_known(pair), pair) if pair and _known(pair) else (_known(word), word)
        if name and ((said not in ORDINARY and len(said) > 2) or _as_name(text, match)):
            yield name
        before, end = word, match.end()


@lru_cache(maxsize=16_384)
def _known(said: str) -> str:
    """Return the technology or tool that a lower-case word means, or ''."""
    name = ALIASES.get(said, said)
    name = (
        name if name in KNOWN or " " in said or said.isalpha() else _without_version(said)
    )  # a word of letters only has no version
    return name if name in KNOWN else ""


def _as_name(text: str, match: re.Match[str]) -> bool:
    """Return whether a word is written as a name: with a capital that no sentence start explains, or with a sign."""
    word = match[0]
    if not word.isalpha():
        return True
    before = text[max(0, match.start() - 2) : match.start()].rstrip(" ")[-1:]
    return word[0].isupper() and before not in ("", ".", "\n", "!", "?", "-", "#", ":")


def _terms(body: str) -> Iterator[str]:
    for match in _compiled(_TERM).finditer(body):
        term = match[1].strip()
        if 2 <= len(term) <= NAME_CHARS and len(term.split()) <= _TERM_WORDS and any(map(str.isalpha, term)):
            yield term


def _errors(body: str) -> list[Entity]:
    """Return errors from the lines that report a failure; a specific error class replaces its line."""
    if not (_compiled(_THROWN).search(body) or _compiled(_SAID).search(body)):
        return []
    found: list[Entity] = []
    for line in body.splitlines():
        line = line.strip(" \t`>*#|-")[: 2 * NAME_CHARS]
        thrown = _compiled(_THROWN).search(line)
        if thrown and thrown[0] not in _COMMON_ERRORS:
            found.append(Entity(thrown[0], "error", line))
        elif (thrown and ": " in line) or _compiled(_SAID).search(line):
            found.append(Entity(whole_words(" ".join(line.split()), NAME_CHARS), "error", line))
        if len(found) == MAX_ERRORS:
            break
    return found


def _relations(entities: Sequence[Entity]) -> tuple[Relation, ...]:
    """Relate the first entity to all others, and each error to the first technology, tool or function."""
    if not entities:
        return ()
    head, rest = entities[0], entities[1:]
    pairs = [(head, other) for other in rest]
    machine = next((other for other in rest if other.type in ("technology", "tool", "function")), None)
    if machine is not None:
        pairs += [(other, machine) for other in rest if other.type == "error"]
    return tuple(Relation(a.name, b.name, _kind(a, b), "", GUESSED_STRENGTH) for a, b in pairs[:MAX_RELATIONS])


def _kind(one: Entity, other: Entity) -> str:
    if one.type == "error":
        return "caused_by" if other.type in ("technology", "tool", "function", "concept", "config") else "relates_to"
    if other.type == "error":
        return "solves" if one.type in ("concept", "pattern") else "relates_to"
    if one.type in ("concept", "pattern") and other.type in ("technology", "tool"):
        return "uses"
    return "requires" if one.type == "function" and other.type == "config" else "relates_to"


def words_of(names: Iterable[str]) -> frozenset[str]:
    """Return the stems of the words of canonical names, to match them with the words of a query."""
    return frozenset(stem(word) for name in names for word in re.split(r"[^\w+#]+", name) if len(word) > 1)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
