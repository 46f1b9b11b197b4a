"""Detect a project's technology stack: languages, frameworks, databases, test runners and package managers.

Each has its locked or wanted version, and the file and line that state it. Manifests and lock files are read at the
root and a little below it (workspaces). Nothing is executed; files that are broken, too large or behind a link are left
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from swarmlore.frozen import frozen, replace
from swarmlore.workspace import manifests
from swarmlore.workspace.cited_code import Tree, Unreadable
from swarmlore.workspace.codebase import Language, Listing, languages
from swarmlore.workspace.manifests import LOCK_BYTES, LOCKS, MAX_BYTES, Named, held

KINDS = ("language", "runtime", "framework", "database", "tests", "packages", "build", "container", "ci")

# kind -> "Name = package package"; packages of all registries are listed together, as their names hardly clash.
_TABLE = {
    "framework": """
        React = react; Next.js = next; Vue = vue; Nuxt = nuxt; Svelte = svelte; SvelteKit = @sveltejs/kit
        Angular = @angular/core; SolidJS = solid-js; Astro = astro; Remix = @remix-run/react; Express = express
        Fastify = fastify; Koa = koa; NestJS = @nestjs/core; Hono = hono; Electron = electron; tRPC = @trpc/server
        GraphQL = graphql; Apollo = @apollo/server @apollo/client; Tailwind CSS = tailwindcss
        Redux = redux @reduxjs/toolkit
        Django = django; Flask = flask; FastAPI = fastapi; Starlette = starlette; Tornado = tornado; aiohttp = aiohttp
        Pydantic = pydantic; Celery = celery; Streamlit = streamlit; NumPy = numpy; pandas = pandas; PyTorch = torch
        TensorFlow = tensorflow; scikit-learn = scikit-learn; ONNX Runtime = onnxruntime
        MCP = mcp @modelcontextprotocol/sdk
        Click = click; Typer = typer; Scrapy = scrapy; Sanic = sanic; Litestar = litestar
        Tokio = tokio; Axum = axum; Actix = actix-web; Rocket = rocket; Warp = warp; Hyper = hyper; Serde = serde
        clap = clap; Tauri = tauri @tauri-apps/api; Bevy = bevy; tonic = tonic
        Gin = github.com/gin-gonic/gin; Echo = github.com/labstack/echo/v4 github.com/labstack/echo
        Fiber = github.com/gofiber/fiber/v2; chi = github.com/go-chi/chi/v5 github.com/go-chi/chi
        Cobra = github.com/spf13/cobra; gRPC = google.golang.org/grpc grpcio @grpc/grpc-js
        Spring Boot = spring-boot-starter spring-boot-starter-web spring-boot-starter-parent org.springframework.boot
        Quarkus = quarkus-core io.quarkus; Micronaut = micronaut-core; Ktor = ktor-server-core io.ktor.plugin
        Rails = rails; Sinatra = sinatra; Sidekiq = sidekiq; Laravel = laravel/framework
        Symfony = symfony/framework-bundle
        Phoenix = phoenix; LiveView = phoenix_live_view; Flutter = flutter; ASP.NET Core = Microsoft.AspNetCore.App
        Vapor = vapor""",
    "database": """
        PostgreSQL = pg postgres postgresql psycopg psycopg2 psycopg2-binary asyncpg pg-promise tokio-postgres
            github.com/lib/pq github.com/jackc/pgx/v5 github.com/jackc/pgx/v4 npgsql postgrex pgvector
        MySQL = mysql mysql2 pymysql mysqlclient github.com/go-sql-driver/mysql mysql-connector-java mysql-connector-j
        MariaDB = mariadb mariadb-java-client
        SQLite = sqlite3 better-sqlite3 apsw rusqlite github.com/mattn/go-sqlite3 aiosqlite
        MongoDB = mongodb mongoose pymongo motor mongo go.mongodb.org/mongo-driver; Redis = redis ioredis valkey
            github.com/redis/go-redis/v9 redis-rs jedis
        Elasticsearch = elasticsearch @elastic/elasticsearch; ClickHouse = clickhouse clickhouse-driver
        Cassandra = cassandra cassandra-driver; DynamoDB = @aws-sdk/client-dynamodb; Neo4j = neo4j neo4j-driver
        DuckDB = duckdb; Prisma = prisma @prisma/client; Drizzle = drizzle-orm; TypeORM = typeorm; Knex = knex
        Sequelize = sequelize; SQLAlchemy = sqlalchemy; Alembic = alembic; SQLModel = sqlmodel; Diesel = diesel
        SQLx = sqlx github.com/jmoiron/sqlx; SeaORM = sea-orm; GORM = gorm.io/gorm; Ecto = ecto ecto_sql
        Hibernate = hibernate-core; Kafka = kafkajs kafka-python confluent-kafka kafka; RabbitMQ = amqplib pika rabbitmq
        NATS = nats; Qdrant = qdrant-client qdrant""",
    "tests": """
        Vitest = vitest; Jest = jest; Mocha = mocha; Playwright = @playwright/test playwright; Cypress = cypress
        Testing Library = @testing-library/react; Ava = ava; pytest = pytest; Hypothesis = hypothesis; nose = nose2
        tox = tox; nox = nox; unittest2 = unittest2; Testify = github.com/stretchr/testify
        Ginkgo = github.com/onsi/ginkgo/v2
        proptest = proptest; criterion = criterion; insta = insta; JUnit = junit junit-jupiter junit-jupiter-api
        Mockito = mockito-core; RSpec = rspec rspec-rails; Minitest = minitest; PHPUnit = phpunit/phpunit
        Pest = pestphp/pest; xUnit = xunit; NUnit = nunit; MSTest = MSTest.TestFramework; GoogleTest = gtest googletest
        Catch2 = catch2""",
    "build": """
        TypeScript = typescript; Vite = vite; webpack = webpack; esbuild = esbuild; Rollup = rollup; Turborepo = turbo
        Nx = nx; ESLint = eslint; Prettier = prettier; Biome = @biomejs/biome; Ruff = ruff; mypy = mypy
        Pyright = pyright
        Black = black; Hatchling = hatchling; setuptools = setuptools; Poetry Core = poetry-core; maturin = maturin""",
}  # fmt: skip
_IMAGES = {
    "postgres": ("database", "PostgreSQL"), "postgis": ("database", "PostgreSQL"),
    "pgvector": ("database", "PostgreSQL"),
    "mysql": ("database", "MySQL"), "mariadb": ("database", "MariaDB"), "mongo": ("database", "MongoDB"),
    "redis": ("database", "Redis"), "valkey": ("database", "Valkey"), "elasticsearch": ("database", "Elasticsearch"),
    "clickhouse-server": ("database", "ClickHouse"), "rabbitmq": ("database", "RabbitMQ"),
    "kafka": ("database", "Kafka"),
    "nats": ("database", "NATS"), "neo4j": ("database", "Neo4j"), "minio": ("database", "MinIO"),
    "node": ("runtime", "Node.js"), "python": ("runtime", "Python"), "golang": ("runtime", "Go"),
    "rust": ("runtime", "Rust"),
    "ruby": ("runtime", "Ruby"), "php": ("runtime", "PHP"), "openjdk": ("runtime", "Java"),
    "eclipse-temurin": ("runtime", "Java"), "oven/bun": ("runtime", "Bun"), "denoland/deno": ("runtime", "Deno"),
    "elixir": ("runtime", "Elixir"), "nginx": ("container", "nginx"), "caddy": ("container", "Caddy"),
}  # fmt: skip


def _known() -> dict[str, tuple[str, str]]:
    found = {}
    for kind, text in _TABLE.items():
        for entry in re.split(r"[;\n](?=\s*[^\s=][^=;\n]*=)", text):
            name, _, packages = entry.partition("=")
            found.update(dict.fromkeys(packages.lower().split(), (kind, name.strip())))
    return found


PACKAGES = _known()
# Servers: the version of a client package is not the version of the server.
SERVERS = frozenset(
    "PostgreSQL MySQL MariaDB SQLite MongoDB Redis Valkey Elasticsearch ClickHouse Cassandra DynamoDB Neo4j Kafka "
    "RabbitMQ NATS Qdrant".split()
)

# A project mostly uses one per group: if the manifests have another one, a page that names this one is outdated.
RIVALS = {
    "database": ("PostgreSQL", "MySQL", "MariaDB", "SQLite", "MongoDB", "SQL Server", "Oracle"),
    "queue": ("Kafka", "RabbitMQ", "NATS"),
    "ci": ("GitHub Actions", "GitLab CI", "CircleCI", "Travis CI", "Jenkins", "Azure Pipelines"),
    "tests": ("Jest", "Vitest", "Mocha", "Ava"),
    "python tests": ("pytest", "nose"),
    "ruby tests": ("RSpec", "Minitest"),
    "bundler": ("webpack", "Vite", "Rollup", "esbuild"),
    "web": ("Express", "Fastify", "Koa", "Hono", "NestJS"),
    "python web": ("Django", "Flask", "FastAPI", "Sanic", "Litestar"),
    "rust web": ("Axum", "Actix", "Rocket", "Warp"),
    "go web": ("Gin", "Echo", "Fiber", "chi"),
}
# Other spellings of a name; everyday words are restricted to forms that are clearly the name.
NAMES = {
    "PostgreSQL": r"Postgres(?:QL)?", "Express": r"Express(?:\.js)", "Echo": r"labstack/echo", "Warp": r"warp crate",
    "Rocket": r"Rocket framework", "chi": r"go-chi", "Gin": r"gin-gonic", "Fiber": r"gofiber", "nose": r"nose2",
    "Oracle": r"Oracle (?:database|DB)", "Mocha": r"mocha", "Ava": r"avajs", "SQL Server": r"(?:MS ?SQL|SQL Server)",
    "GitLab CI": r"GitLab(?:[ -]CI)", "Java": r"(?:Java|(?:Open)?JDK)",
    "Node.js": r"Node(?:\.?js)?", "Go": r"(?:Go|[Gg]olang)",
}  # fmt: skip


def package(name: str) -> tuple[str, str]:
    """Return (kind, display name) of a package; ('', '') if the table does not have it."""
    return PACKAGES.get(name.lower(), ("", ""))


def image(name: str) -> tuple[str, str]:
    """Return (kind, display name) of a container image of any registry; ('', '') if the table does not have it."""
    lower = name.lower()
    short = lower.rpartition("/")[2]
    return _IMAGES.get("/".join(lower.split("/")[-2:])) or _IMAGES.get(short) or ("", "")


def plain_version(wanted: str) -> str:
    """Return the number in a wanted version: 18.2.0 for `^18.2.0`, 3.11 for `>=3.11,<4`."""
    found = re.search(r"\d+(?:\.\d+){0,3}(?:-?(?:alpha|beta|rc)[.\d]{0,6}|(?:a|b|rc)\d{1,3})?", wanted[:80])
    return found[0] if found else ""


MOST_MANIFESTS = 60
DEEPEST = 3  # folders above a manifest
_READERS: dict[str, Callable[[str], Iterator[Named]]] = {
    "package.json": manifests.package_json,
    "deno.json": manifests.deno_json,
    "deno.jsonc": manifests.deno_json,
    "composer.json": manifests.composer_json,
    "pyproject.toml": manifests.pyproject,
    "Pipfile": manifests.pipfile,
    "Cargo.toml": manifests.cargo_toml,
    "requirements.txt": manifests.requirements,
    "setup.cfg": manifests.setup_cfg,
    "go.mod": manifests.go_mod,
    "Gemfile": manifests.gemfile,
    "pom.xml": manifests.pom,
    "build.gradle": manifests.gradle,
    "build.gradle.kts": manifests.gradle,
    "mix.exs": manifests.mix,
    "pubspec.yaml": manifests.pubspec,
    "Package.swift": manifests.swift,
    "CMakeLists.txt": manifests.cmake,
    "Dockerfile": manifests.dockerfile,
    "docker-compose.yml": manifests.compose,
    "docker-compose.yaml": manifests.compose,
    "compose.yml": manifests.compose,
    "compose.yaml": manifests.compose,
    ".gitlab-ci.yml": manifests.gitlab,
    "devcontainer.json": manifests.devcontainer,
    ".devcontainer.json": manifests.devcontainer,
    ".tool-versions": manifests.tool_versions,
    "mise.toml": manifests.toml_tools,
    ".mise.toml": manifests.toml_tools,
    "rust-toolchain": manifests.rust_toolchain,
    "rust-toolchain.toml": manifests.rust_toolchain,
    ".nvmrc": manifests.version_file("Node.js"),
    ".node-version": manifests.version_file("Node.js"),
    ".python-version": manifests.version_file("Python"),
    ".ruby-version": manifests.version_file("Ruby"),
}
# Technologies (kind, name) that are shown by the existence of a file.
_SIGNS = {
    "package-lock.json": ("packages", "npm"),
    "npm-shrinkwrap.json": ("packages", "npm"),
    "pnpm-lock.yaml": ("packages", "pnpm"),
    "yarn.lock": ("packages", "Yarn"),
    "bun.lock": ("packages", "Bun"),
    "bun.lockb": ("packages", "Bun"),
    "uv.lock": ("packages", "uv"),
    "poetry.lock": ("packages", "Poetry"),
    "Pipfile": ("packages", "Pipenv"),
    "requirements.txt": ("packages", "pip"),
    "Cargo.toml": ("packages", "Cargo"),
    "go.mod": ("packages", "Go modules"),
    "Gemfile": ("packages", "Bundler"),
    "composer.json": ("packages", "Composer"),
    "pom.xml": ("build", "Maven"),
    "build.gradle": ("build", "Gradle"),
    "build.gradle.kts": ("build", "Gradle"),
    "mix.exs": ("packages", "Mix"),
    "pubspec.yaml": ("packages", "pub"),
    "Package.swift": ("packages", "SwiftPM"),
    "CMakeLists.txt": ("build", "CMake"),
    "Makefile": ("build", "make"),
    "justfile": ("build", "just"),
    "Dockerfile": ("container", "Docker"),
    "docker-compose.yml": ("container", "Docker Compose"),
    "docker-compose.yaml": ("container", "Docker Compose"),
    "compose.yml": ("container", "Docker Compose"),
    "compose.yaml": ("container", "Docker Compose"),
    ".gitlab-ci.yml": ("ci", "GitLab CI"),
    ".circleci/config.yml": ("ci", "CircleCI"),
    ".travis.yml": ("ci", "Travis CI"),
    "Jenkinsfile": ("ci", "Jenkins"),
    "azure-pipelines.yml": ("ci", "Azure Pipelines"),
    "bitbucket-pipelines.yml": ("ci", "Bitbucket Pipelines"),
    "deno.json": ("runtime", "Deno"),
    "deno.jsonc": ("runtime", "Deno"),
}
_RANGES = ("package.json", "pyproject.toml", "composer.json", "setup.cfg", "mix.exs", "Cargo.toml")
# Manifests in which a bare number is an exact version; elsewhere it is the minimum.
_EXACT = ("go.mod", "pom.xml", "build.gradle", "build.gradle.kts")
_MANAGERS = {"yarn": "Yarn", "bun": "Bun"}


@frozen
class Technology:
    """One technology of a project, with the place that states it. `version` is the locked one if `locked`, else the
    wanted one. A server has no version if only a client package is named; `package` is then that package with its
    version."""

    name: str
    kind: str
    version: str = ""
    locked: bool = False
    path: str = ""
    line: int = 0
    package: str = ""

    @property
    def place(self) -> str:
        """Return `path:line`, or the path alone."""
        return f"{self.path}:{self.line}" if self.line else self.path


@frozen
class Stack:
    """Languages by their share of the files, and technologies by kind."""

    languages: tuple[Language, ...] = ()
    technologies: tuple[Technology, ...] = ()

    def of(self, *kinds: str) -> tuple[Technology, ...]:
        """Return the technologies of these kinds."""
        return tuple(item for item in self.technologies if item.kind in kinds)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the names, in lower case, by which notes and memories about this stack are found."""
        listed = [item.name for item in self.languages[:3]]
        listed += [item.name for item in self.of("framework", "database", "tests", "runtime")]
        return tuple(dict.fromkeys(name.lower() for name in listed))


def read_stack(root: str, listing: Listing) -> Stack:
    """Detect the technologies of a project whose files are listed."""
    tree = Tree(root)
    files = _manifests(listing.paths)
    locks = {path: text for path in _locks(tree) if (text := _text(tree, path, LOCK_BYTES))}
    found: list[Technology] = []
    for path in files:
        found += _technologies(path, _text(tree, path, MAX_BYTES), locks)
    others = (path for path in listing.paths if _reader(path) is None)
    for path in (*files, *locks, *others):
        if path in _SIGNS:
            kind, name = _SIGNS[path]
            found.append(Technology(name, kind, path=path))
    return Stack(languages(listing.paths), _once(found))


def _manifests(paths: Sequence[str]) -> list[str]:
    """Return the manifests to read, those at the root first."""
    fit = [path for path in paths if path.count("/") <= DEEPEST and _reader(path) is not None]
    return sorted(fit, key=lambda path: (_is_about_elsewhere(path), path.count("/"), path))[:MOST_MANIFESTS]


def _is_about_elsewhere(path: str) -> bool:
    """Return whether a file describes a pipeline or a container; it counts only if no other file names the
    technology."""
    name = path.rpartition("/")[2]
    return path.startswith((".github/", ".devcontainer")) or name.startswith((".gitlab-ci", "Dockerfile"))


def _reader(path: str) -> Callable[[str], Iterator[Named]] | None:
    name = path.rpartition("/")[2]
    if path.startswith(".github/workflows/") and name.endswith((".yml", ".yaml")):
        return manifests.workflow
    if name.endswith(".csproj"):
        return manifests.csproj
    if name.startswith("requirements") and name.endswith(".txt"):
        return manifests.requirements
    return manifests.dockerfile if name.startswith("Dockerfile.") else _READERS.get(name)


def _locks(tree: Tree) -> Iterator[str]:
    """Yield the lock files at the root, which file listings leave out as generated."""
    for name in (*LOCKS, "bun.lockb"):
        try:
            tree.stamp(name)
        except Unreadable:
            continue
        yield name


def _text(tree: Tree, path: str, most: int) -> str:
    try:
        return tree.content(path, most).decode("utf-8", "replace")
    except Unreadable:
        return ""


def _technologies(path: str, text: str, locks: dict[str, str]) -> Iterator[Technology]:
    reader = _reader(path)
    for named in reader(text) if reader is not None else ():
        kind, name = (named.kind, named.name)
        if named.kind in ("package", "image"):
            kind, name = package(named.name) if named.kind == "package" else image(named.name)
        if name:
            made = Technology(_MANAGERS.get(name, name), kind, plain_version(named.wanted), False, path, named.line)
            own = replace(made, package=named.name)
            exact = replace(own, locked=bool(own.version) and _one_version(own, named.wanted.strip()))
            yield _as_server(_with_lock(exact, locks)) if named.kind == "package" else _pinned(made, named)
    if path.startswith(".github/workflows/"):
        yield Technology("GitHub Actions", "ci", path=path)


def _pinned(made: Technology, named: Named) -> Technology:
    """Mark the version as locked if the file names an exact one: images, runtime files, package manager fields."""
    exact = made.path.rpartition("/")[2] not in _RANGES or named.kind == "packages"
    return replace(made, locked=exact and bool(made.version))


def _one_version(made: Technology, wanted: str) -> bool:
    """Return whether a manifest that is its own lock file names one version and no range."""
    name = made.path.rpartition("/")[2]
    own = name in _EXACT or name.endswith(".csproj") or (name.startswith("requirements") and wanted.startswith("=="))
    return own and not set(wanted) & set("+*^~<>[](),")


def _as_server(made: Technology) -> Technology:
    if made.name not in SERVERS:
        return made
    return replace(made, version="", locked=False, package=f"{made.package} {made.version}".strip())


def _with_lock(made: Technology, locks: dict[str, str]) -> Technology:
    if made.locked:
        return made
    for lock, text in locks.items():
        if lock in LOCKS:
            version, line = held(text, made.package, lock)
            if version:
                return replace(made, version=version, locked=True, path=lock, line=line)
    return made


def _once(found: Iterable[Technology]) -> tuple[Technology, ...]:
    """Return each technology once: one with a locked version wins, then one with any version, then the first read."""
    kept: dict[tuple[str, str], Technology] = {}
    for item in found:
        known = kept.get((item.kind, item.name))
        if known is None or (item.locked, bool(item.version)) > (known.locked, bool(known.version)):
            kept[item.kind, item.name] = item
    return tuple(sorted(kept.values(), key=lambda item: (KINDS.index(item.kind), item.name.lower())))
