"""Which language, which framework and which tools a lesson is about, by file names and by words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from swarmlore.rules.correction_words import compiled
from swarmlore.rules.meaning import infer_tags

MOST_FILES = 200
_LANGUAGES = {
    "python": "py pyi", "typescript": "ts tsx mts cts", "javascript": "js jsx mjs cjs", "rust": "rs", "go": "go",
    "java": "java", "kotlin": "kt kts", "swift": "swift", "ruby": "rb", "php": "php", "csharp": "cs",
    "cpp": "cpp cc cxx hpp hh", "c": "c h", "elixir": "ex exs", "scala": "scala", "dart": "dart", "lua": "lua",
    "haskell": "hs", "sql": "sql", "shell": "sh bash zsh", "css": "css scss less", "html": "html", "terraform": "tf",
}  # fmt: skip
_BY_ENDING = {ending: name for name, endings in _LANGUAGES.items() for ending in endings.split()}
_WORDS = (
    r"(?<![\w./-])(python|typescript|javascript|rust|golang|java|kotlin|swift|ruby|php|c#|c\+\+|elixir|scala|dart"
    r"|haskell|bash)(?![\w-])"
)
_FILE = r"(?<![\w./@-])[\w/-][\w./-]{0,200}\w\.[A-Za-z]{1,5}(?![\w./-]*\w)"
_SPELLED = {"golang": "go", "c#": "csharp", "c++": "cpp", "bash": "shell"}
_FRAMEWORKS = (
    "react vue svelte angular next.js nuxt remix astro express fastify nestjs django flask fastapi starlette "
    "rails sinatra laravel symfony spring ktor tokio actix axum gin echo fiber phoenix pytorch tensorflow pandas "
    "numpy sqlalchemy alembic prisma drizzle hibernate celery sidekiq redux tailwind electron tauri flutter "
    "kubernetes helm terraform ansible pytest jest vitest playwright cypress"
).split()
_TOOLS = (
    "docker podman git npm pnpm yarn bun node deno uv pip poetry cargo gradle maven webpack vite esbuild eslint "
    "ruff mypy nginx redis postgres postgresql sqlite mysql mongodb kafka rabbitmq graphql grpc websocket oauth "
    "jwt cors csrf css ci github gitlab jenkins make cmake bazel tmux ssh systemd cron s3 aws gcp azure cache "
    "queue migration index timezone unicode regex"
).split()
_AS_TAGS = {"postgresql": "postgres", "next.js": "nextjs"}


def language_of(files: Iterable[str], text: str = "") -> str:
    """The language of most files; where there is none, of those that the words name; else the one they name."""
    counted = _of_files(list(files)[:MOST_FILES]) or _of_files(compiled(_FILE).findall(text)[:MOST_FILES])
    if counted:
        return counted.most_common(1)[0][0]
    named = compiled(_WORDS).search(text.lower())
    return _SPELLED.get(named[1], named[1]) if named else ""


def _of_files(names: Iterable[str]) -> Counter[str]:
    endings = (name.rpartition("/")[2].rpartition(".")[2].lower() for name in names if "." in name)
    return Counter(_BY_ENDING[ending] for ending in endings if ending in _BY_ENDING)


def framework_of(text: str) -> str:
    """The framework that a text names first."""
    named = _named(text, _FRAMEWORKS)
    return named[0] if named else ""


def tags_of(text: str) -> tuple[str, ...]:
    """What a text is about, in words by which it may be looked for: frameworks and tools it names, then topics."""
    topics = [tag for tag in infer_tags(text) if tag not in ("opencode-swarm", "todo")]
    return tuple(dict.fromkeys([*_named(text, (*_FRAMEWORKS, *_TOOLS)), *topics]))


def _named(text: str, names: Iterable[str]) -> list[str]:
    """The names that stand in a text as words of their own, in the order they stand."""
    escaped = "|".join(name.replace(".", r"\.?") for name in names)
    found = compiled(rf"(?<![\w./-])(?:{escaped})(?![\w-])").findall(text.lower())
    return list(dict.fromkeys(_AS_TAGS.get(word, word) for word in found if word != "make" or "`make" in text.lower()))
