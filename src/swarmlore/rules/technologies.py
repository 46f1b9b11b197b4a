"""Which packages and images are worth naming when somebody asks what a project is built with, and as what.

A table and not a judgement: what is not in it is left out of a stack, not out of the project.
"""

from __future__ import annotations

import re

KINDS = ("language", "runtime", "framework", "database", "tests", "packages", "build", "container", "ci")

# kind -> "Name = package package"; packages of all registries stand together, as their names hardly meet.
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
# Programs of their own: the version of a package that speaks to one is not its version.
SERVERS = frozenset(
    "PostgreSQL MySQL MariaDB SQLite MongoDB Redis Valkey Elasticsearch ClickHouse Cassandra DynamoDB Neo4j Kafka "
    "RabbitMQ NATS Qdrant".split()
)

# Of which a project uses one: where the manifests have another one of the sort, a page that names this is out of date.
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
# How a name is written besides; some are words of everyday and count only as names.
NAMES = {
    "PostgreSQL": r"Postgres(?:QL)?", "Express": r"Express(?:\.js)", "Echo": r"labstack/echo", "Warp": r"warp crate",
    "Rocket": r"Rocket framework", "chi": r"go-chi", "Gin": r"gin-gonic", "Fiber": r"gofiber", "nose": r"nose2",
    "Oracle": r"Oracle (?:database|DB)", "Mocha": r"mocha", "Ava": r"avajs", "SQL Server": r"(?:MS ?SQL|SQL Server)",
    "GitLab CI": r"GitLab(?:[ -]CI)", "Java": r"(?:Java|(?:Open)?JDK)",
    "Node.js": r"Node(?:\.?js)?", "Go": r"(?:Go|[Gg]olang)",
}  # fmt: skip


def package(name: str) -> tuple[str, str]:
    """What a package is: (kind, name for people), or ('', '') where the table does not know it."""
    return PACKAGES.get(name.lower(), ("", ""))


def image(name: str) -> tuple[str, str]:
    """The same for a container image, whatever registry it comes from."""
    low = name.lower()
    short = low.rpartition("/")[2]
    return _IMAGES.get("/".join(low.split("/")[-2:])) or _IMAGES.get(short) or ("", "")


def plain_version(said: str) -> str:
    """The number in what a manifest asks for: `^18.2.0` and `>=3.11,<4` are 18.2.0 and 3.11."""
    found = re.search(r"\d+(?:\.\d+){0,3}(?:-?(?:alpha|beta|rc)[.\d]{0,6}|(?:a|b|rc)\d{1,3})?", said[:80])
    return found[0] if found else ""
