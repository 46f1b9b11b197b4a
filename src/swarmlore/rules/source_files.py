"""What a path alone tells about a file: its language, whether it is a test, a doc, generated, or where things begin.

Paths are a stranger's. They are taken apart by simple comparisons only, and nothing is opened here.
"""

from __future__ import annotations

LANGUAGES = {
    **dict.fromkeys(("py", "pyi", "pyw"), "Python"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "JavaScript"),
    **dict.fromkeys(("ts", "tsx", "mts", "cts"), "TypeScript"),
    **dict.fromkeys(("c", "h"), "C"),
    **dict.fromkeys(("cc", "cpp", "cxx", "hh", "hpp", "hxx"), "C++"),
    **dict.fromkeys(("kt", "kts"), "Kotlin"),
    **dict.fromkeys(("ex", "exs"), "Elixir"),
    **dict.fromkeys(("sh", "bash", "zsh"), "Shell"),
    **dict.fromkeys(("html", "htm"), "HTML"),
    **dict.fromkeys(("css", "scss", "sass", "less"), "CSS"),
    "rs": "Rust", "go": "Go", "java": "Java", "rb": "Ruby", "php": "PHP", "cs": "C#", "swift": "Swift",
    "scala": "Scala", "lua": "Lua", "dart": "Dart", "hs": "Haskell", "clj": "Clojure", "erl": "Erlang",
    "ml": "OCaml", "jl": "Julia", "r": "R", "sql": "SQL", "vue": "Vue", "svelte": "Svelte", "zig": "Zig",
    "tf": "Terraform", "proto": "Protocol Buffers", "graphql": "GraphQL", "ps1": "PowerShell", "m": "Objective-C",
}  # fmt: skip
PROSE = frozenset(("md", "mdx", "markdown", "rst", "adoc", "txt"))
DATA = frozenset(("json", "yaml", "yml", "toml", "ini", "cfg", "conf", "xml", "env", "properties"))
_GENERATED_FOLDERS = frozenset(
    "node_modules vendor third_party .venv venv .tox target dist build out .next .nuxt .git .hg .svn __pycache__ "
    "coverage .cache .gradle .idea .vscode bower_components __snapshots__ .terraform site-packages .mypy_cache "
    ".pytest_cache .ruff_cache .hypothesis .swarm .eggs obj DerivedData Pods .dart_tool _build".split()
)
_LOCKS = frozenset(
    "package-lock.json pnpm-lock.yaml yarn.lock bun.lock bun.lockb uv.lock poetry.lock pipfile.lock cargo.lock go.sum "
    "gemfile.lock composer.lock mix.lock pubspec.lock npm-shrinkwrap.json packages.lock.json gradle.lockfile".split()
)
_GENERATED_ENDS = (
    *(".min.js", ".min.css", ".map", ".pb.go", "_pb2.py", "_pb2_grpc.py", ".g.dart", ".generated.ts", ".designer.cs"),
    *(".bundle.js", ".snap", ".d.ts.map", "-lock.json", ".freezed.dart"),
)
_TEST_FOLDERS = frozenset(("test", "tests", "spec", "specs", "__tests__", "e2e", "testing"))
_DOC_FOLDERS = frozenset(("doc", "docs", "documentation", "wiki", "adr", "rfcs"))
_DOC_NAMES = ("readme", "contributing", "architecture", "install", "faq", "security", "development", "hacking")
_ENTRY_NAMES = frozenset(
    "main.py __main__.py app.py manage.py wsgi.py asgi.py cli.py main.go main.rs main.c main.cpp program.cs main.kt "
    "main.java application.java index.js index.ts index.mjs main.js main.ts server.js server.ts app.js app.ts "
    "main.dart main.swift config.ru index.php application.ex main.tsx".split()
)
_DEEPEST_ENTRY = 4
_CONFIG_NAMES = frozenset(("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Dockerfile", "Procfile"))
LOOKED_AT = 4_096  # bytes in which a NUL tells a binary file
_EXAMPLES = ("example", "sample", "template", "dist", "defaults")


def extension(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name[1:] else ""


def language_of(path: str) -> str:
    """The programming language that a file's name stands for, or ''."""
    return LANGUAGES.get(extension(path), "")


def is_generated(path: str) -> bool:
    """Whether a machine wrote it, or it belongs to somebody else: folders of builds, lock files, bundles."""
    *folders, name = path.split("/")
    low = name.lower()
    return low in _LOCKS or low.endswith(_GENERATED_ENDS) or any(folder in _GENERATED_FOLDERS for folder in folders)


def is_skipped_folder(name: str) -> bool:
    """Whether a walk does not even look into a folder of this name."""
    return name in _GENERATED_FOLDERS


def is_test(path: str) -> bool:
    *folders, name = path.lower().split("/")
    stem = name.partition(".")[0]
    marked = stem.startswith("test_") or stem.endswith(("_test", "_spec", "tests")) or ".test." in name
    return marked or ".spec." in name or any(folder in _TEST_FOLDERS for folder in folders)


def is_doc(path: str) -> bool:
    """Whether people wrote it for people: prose at the top, in a folder of docs, or by a name that says so."""
    if extension(path) not in PROSE and not path.rpartition("/")[2].lower().startswith(_DOC_NAMES):
        return False
    *folders, name = path.lower().split("/")
    if extension(path) == "txt" and not name.startswith(_DOC_NAMES):
        return any(folder in _DOC_FOLDERS for folder in folders)
    return extension(path) in PROSE or name.startswith(_DOC_NAMES)


def is_readme(path: str) -> bool:
    return path.rpartition("/")[2].lower().partition(".")[0] == "readme"


def is_entry(path: str) -> bool:
    """Whether a program is likely to begin here."""
    if path.count("/") > _DEEPEST_ENTRY or is_test(path) or is_generated(path):
        return False
    folders = path.split("/")[:-1]
    script = bool(folders) and folders[0] in ("bin", "cmd") and bool(language_of(path) or not extension(path))
    return path.rpartition("/")[2].lower() in _ENTRY_NAMES or (script and len(folders) <= 2)


def is_config(path: str) -> bool:
    """Whether it tells a program or a tool what to do: settings, tasks, containers, pipelines, variables."""
    name = path.rpartition("/")[2]
    return extension(path) in DATA or name.partition(".")[0] in _CONFIG_NAMES or is_env_example(path)


def is_env_example(path: str) -> bool:
    """A list of variables to set, written to be read; the file with the real values is never opened."""
    name = path.rpartition("/")[2].lower()
    return _is_env(name) and name.endswith(_EXAMPLES)


def _is_env(name: str) -> bool:
    return name == ".env" or name.startswith((".env.", "env.")) or name.endswith(".env")


def is_binary(data: bytes) -> bool:
    """Whether the beginning of a file shows that it is no text, whatever it is called."""
    return b"\0" in data[:LOOKED_AT]


def is_text(path: str) -> bool:
    """Whether a search by words should open it; what has no known ending may be a Makefile or a licence."""
    if _is_env(path.rpartition("/")[2].lower()):
        return is_env_example(path)
    ending = extension(path)
    return ending in LANGUAGES or ending in PROSE or ending in DATA or not ending
