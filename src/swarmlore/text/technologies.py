"""Names of technologies and tools that notes speak of, and the other names they go by."""

from __future__ import annotations

# In their canonical form: lower case, one space between words.
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
# Everyday words too: these count where they are written as a name.
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
