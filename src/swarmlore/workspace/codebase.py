"""Survey a project without executing anything: list its files, find languages, folders, entry points and docs.

Files are listed by git's index, else by a walk that respects `.gitignore`. Symbolic links are not followed, generated
files are left out, and the list of a huge project is cut. A README is parsed for purpose, set-up and conventions.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from swarmlore.frozen import frozen, replace
from swarmlore.workspace import git
from swarmlore.workspace.cited_code import Tree, Unreadable
from swarmlore.workspace.git import Unreadable as NoIndex
from swarmlore.workspace.git import paths_in

MOST_JOINED = 1_500  # characters of one paragraph or list item
MOST_TITLE = 120
_RULE = re.compile(r"={3,}|-{3,}|~{3,}|\^{3,}")
_NO_PROSE = re.compile(r"\s*(?:[#>|=*_-]{3,}|!?\[!?\[|<|\[!|!\[|[-=]+\s*$|\||:?-{3,})")
_ROW = re.compile(r"\s*\|(?![\s:|-]*$)")
_ITEM = re.compile(r"\s{0,8}(?:[-*+]|\d{1,2}[.)])\s+(.*)")


@frozen
class Part:
    """A paragraph (`prose`), list item, table row, or line of code; `top` marks parts before the second heading."""

    line: int
    text: str
    heading: str
    kind: str
    top: bool = False


def parts_of(text: str) -> Iterator[Part]:
    """Yield the parts of a Markdown or reStructuredText page in order; wrapped lines are joined."""
    heading, fenced, headings = "", "", 0
    open_part: Part | None = None
    lines = text.splitlines()
    first = _body(lines)
    for number, line in enumerate(lines[first:], start=first + 1):
        bare = line.strip()
        title = "" if fenced else _heading(line) or _underlined(lines, number, open_part)
        fence = bare[:3] in ("```", "~~~") and (not fenced or bare.startswith(fenced))
        if fence or title or not bare or fenced or _NO_PROSE.match(line):
            if open_part is not None and open_part.kind != "past":
                yield open_part
            # After a blank line, an indented line still belongs to the list item before it.
            item = not bare and open_part is not None and open_part.kind == "item"
            open_part = replace(open_part, kind="past") if item and open_part is not None else None
            if fence:
                fenced = "" if fenced else bare[:3]
            elif title:
                heading, headings = title, headings + 1
            elif fenced and bare:
                yield Part(number, line, heading, "code", headings < 2)
            elif _ROW.match(line):
                yield Part(number, " · ".join(cell.strip() for cell in bare.strip("|").split("|")), heading, "row")
            continue
        former, open_part = open_part, _joined(open_part, number, line, heading, headings < 2)
        if former is not None and former.kind != "past" and open_part.line != former.line:
            yield former
    if open_part is not None and open_part.kind != "past":
        yield open_part


def _body(lines: list[str]) -> int:
    """Return the number of front matter lines at the beginning of a page."""
    if lines[:1] != ["---"]:
        return 0
    return next((number for number, line in enumerate(lines[1:60], start=2) if line.rstrip() == "---"), 0)


def _joined(part: Part | None, number: int, line: str, heading: str, top: bool) -> Part:
    """Return the part that a line belongs to: a new one, or the open one with the line added."""
    item = _ITEM.match(line)
    if item:
        return Part(number, item[1].strip(), heading, "item", top)
    indented = line.startswith(("    ", "\t"))
    if part is not None and part.kind in ("prose", "item"):
        return replace(part, text=f"{part.text} {line.strip()}"[:MOST_JOINED])
    if part is not None and part.kind == "past" and indented:
        return part
    return Part(number, line.strip(), heading, "code" if indented else "prose", top)


def _underlined(lines: list[str], number: int, open_part: Part | None) -> str:
    """Return the line if it is a heading by the rule below it, as in reStructuredText, else ''. `number` counts from
    one, so it is the index of the next line."""
    bare = lines[number - 1].strip()
    if number >= len(lines) or len(bare) > MOST_TITLE or not bare[:1].isalnum() or lines[number - 1][:1].isspace():
        return ""
    alone = open_part is None or open_part.kind == "past"
    return bare if alone and _RULE.fullmatch(lines[number].rstrip()[: 2 * MOST_TITLE]) else ""


def _heading(line: str) -> str:
    found = re.match(r"#{1,6}\s+(.{1,200})", line)
    return found[1].strip("# ") if found else ""


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
LOOKED_AT = 4_096  # a file with a NUL in these first bytes is binary
_EXAMPLES = ("example", "sample", "template", "dist", "defaults")


def extension(path: str) -> str:
    """Return the extension of a file's name in lower case, without the dot, or ''."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name[1:] else ""


def language_of(path: str) -> str:
    """Return the programming language of a file by its extension, or ''."""
    return LANGUAGES.get(extension(path), "")


def is_generated(path: str) -> bool:
    """Return whether a file is generated or third-party, by its path: build folders, lock files, bundles."""
    *folders, name = path.split("/")
    low = name.lower()
    return low in _LOCKS or low.endswith(_GENERATED_ENDS) or any(folder in _GENERATED_FOLDERS for folder in folders)


def is_skipped_folder(name: str) -> bool:
    """Return whether a walk skips folders of this name."""
    return name in _GENERATED_FOLDERS


def is_test(path: str) -> bool:
    """Return whether a file is a test, by its path."""
    *folders, name = path.lower().split("/")
    stem = name.partition(".")[0]
    marked = stem.startswith("test_") or stem.endswith(("_test", "_spec", "tests")) or ".test." in name
    return marked or ".spec." in name or any(folder in _TEST_FOLDERS for folder in folders)


def is_doc(path: str) -> bool:
    """Return whether a file is documentation: Markdown and the like, text in a folder of docs, or a name such as
    README."""
    if extension(path) not in PROSE and not path.rpartition("/")[2].lower().startswith(_DOC_NAMES):
        return False
    *folders, name = path.lower().split("/")
    if extension(path) == "txt" and not name.startswith(_DOC_NAMES):
        return any(folder in _DOC_FOLDERS for folder in folders)
    return extension(path) in PROSE or name.startswith(_DOC_NAMES)


def is_readme(path: str) -> bool:
    """Return whether a file is a README."""
    return path.rpartition("/")[2].lower().partition(".")[0] == "readme"


def is_entry(path: str) -> bool:
    """Return whether a file is likely an entry point of a program."""
    if path.count("/") > _DEEPEST_ENTRY or is_test(path) or is_generated(path):
        return False
    folders = path.split("/")[:-1]
    script = bool(folders) and folders[0] in ("bin", "cmd") and bool(language_of(path) or not extension(path))
    return path.rpartition("/")[2].lower() in _ENTRY_NAMES or (script and len(folders) <= 2)


def is_config(path: str) -> bool:
    """Return whether a file configures something: settings, tasks, containers, pipelines, variables."""
    name = path.rpartition("/")[2]
    return extension(path) in DATA or name.partition(".")[0] in _CONFIG_NAMES or is_env_example(path)


def is_env_example(path: str) -> bool:
    """Return whether a file is an example of an `.env` file; the real one is never opened."""
    name = path.rpartition("/")[2].lower()
    return _is_env(name) and name.endswith(_EXAMPLES)


def _is_env(name: str) -> bool:
    return name == ".env" or name.startswith((".env.", "env.")) or name.endswith(".env")


def is_binary(data: bytes) -> bool:
    """Return whether the first bytes of a file show that it is binary."""
    return b"\0" in data[:LOOKED_AT]


def is_text(path: str) -> bool:
    """Return whether a text search should open a file; one without an extension may be a Makefile or a licence."""
    if _is_env(path.rpartition("/")[2].lower()):
        return is_env_example(path)
    ending = extension(path)
    return ending in LANGUAGES or ending in PROSE or ending in DATA or not ending


MOST_CHARS = 200_000
PURPOSE_CHARS = 320
LINE_CHARS = 200
MOST_SETUP = 6
MOST_CONVENTIONS = 6
_SETUP = re.compile(
    r"install|set ?-?up|getting started|quick ?-?start|\brun|usage|\bbuild|\btests?\b|development|requirements|begin",
    re.I,
)
_CONVENTIONS = re.compile(r"convention|contribut|guideline|style|\brules?\b|workflow|principle|before you|commit", re.I)
_BINDING = re.compile(r"\b(?:must|never|always|do not|don't|please|required?|should|only)\b", re.I)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,60}=")  # an assignment before a command
_OWN = ("./", "bin/", "script/", "scripts/")
_TOOLS = frozenset(
    "make just task npm npx pnpm yarn bun deno node pip pipx uv poetry pipenv python python3 pytest tox nox cargo "
    "rustup go docker docker-compose podman bundle gem rails rake mix composer php artisan mvn mvnw gradle gradlew "
    "dotnet cmake ninja flutter dart swift git sh bash brew apt apt-get sudo cp createdb psql helm".split()
)


@frozen
class SourcedText:
    """A line quoted from a file, with its place."""

    text: str
    path: str
    line: int


@frozen
class Readme:
    """Facts of a README, each with its place."""

    purpose: SourcedText | None = None
    setup: tuple[SourcedText, ...] = ()
    conventions: tuple[SourcedText, ...] = ()


def read_readme(text: str, path: str) -> Readme:
    """Return purpose, set-up commands and conventions of a README."""
    parts = list(parts_of(text[:MOST_CHARS]))
    commands = (part for part in parts if part.kind == "code" and is_command(part.text))
    setup = [part for part in commands if part.top or _SETUP.search(part.heading)]
    rules = [part for part in parts if _is_rule(part)]
    purpose = next((part for part in parts if part.kind == "prose" and len(part.text.split()) >= 4), None)
    return Readme(
        SourcedText(_cut(purpose.text, PURPOSE_CHARS), path, purpose.line) if purpose else None,
        tuple(SourcedText(_command(part.text), path, part.line) for part in setup[:MOST_SETUP]),
        tuple(SourcedText(_cut(part.text, LINE_CHARS), path, part.line) for part in rules[:MOST_CONVENTIONS]),
    )


def is_command(text: str) -> bool:
    """Return whether a line of an example is a shell command: of a known tool, or of the project's own scripts."""
    words = [word for word in _command(text).split() if not _VARIABLE.match(word)]
    return bool(words) and (words[0].rpartition("/")[2] in _TOOLS or words[0].startswith(_OWN))


def _is_rule(part: Part) -> bool:
    """Return whether a part is a convention: by its heading, or by words such as "must" in a list about set-up."""
    if part.kind not in ("item", "prose") or len(part.text.split()) < 3:
        return False
    binding = _BINDING.search(part.text) is not None
    if _CONVENTIONS.search(part.heading):
        return part.kind == "item" or binding
    return part.kind == "item" and binding and _SETUP.search(part.heading) is not None


def _command(text: str) -> str:
    return _cut(re.sub(r"^\s*[$>%]\s+", "", text).strip(), LINE_CHARS)


def _cut(text: str, most: int) -> str:
    """Shorten a text, at the end of a sentence if one ends early enough."""
    if len(text) <= most:
        return text
    end = text.rfind(". ", most // 3, most)
    return text[: end + 1] if end > 0 else text[: most - 1].rstrip() + "…"


MOST_FILES = 200_000
MOST_WALKED = 60_000
DEEPEST = 40
INDEX_BYTES = 64_000_000
IGNORE_BYTES = 64_000
MOST_PATTERNS = 300
LISTED_FOLDERS = 8
LISTED_ENTRIES = 8
LISTED_DOCS = 8
SMALL_SHARE = 0.02  # languages with a smaller share are not listed

# Depth of the folders that are listed: `src/app/web` rather than `src`.
_DEPTHS = {"src": 3, **dict.fromkeys(("packages", "apps", "crates", "services", "lib"), 2)}


@frozen
class Language:
    """A language and its share of the code files."""

    name: str
    files: int
    share: float


@frozen
class FolderSummary:
    """A folder, its number of files, and its main languages."""

    path: str
    files: int
    languages: tuple[str, ...] = ()


@frozen
class Codebase:
    """Survey of a project. `origin` is git or walk; `cut` means that there are more files than were listed."""

    files: int = 0
    origin: str = "walk"
    cut: bool = False
    languages: tuple[Language, ...] = ()
    folders: tuple[FolderSummary, ...] = ()
    entries: tuple[str, ...] = ()
    tests: int = 0
    test_folders: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()


@frozen
class Listing:
    """Paths of a project's own files, relative to its root, in order."""

    paths: tuple[str, ...]
    origin: str
    cut: bool = False


def list_files(root: str) -> Listing:
    """List the files of a project: those that git tracks, else all that are not ignored."""
    tracked = _tracked(root)
    found = tracked if tracked else list(_walk(root, MOST_WALKED + 1))
    most = MOST_FILES if tracked else MOST_WALKED
    own = tuple(path for path in found[:most] if not is_generated(path))
    return Listing(own, "git" if tracked else "walk", len(found) > most)


def _tracked(root: str) -> list[str]:
    """Return the files in git's index below a folder; [] without a readable index."""
    top, common = git.find_repository(os.path.realpath(root))
    if not common:
        return []
    folder = git.git_dir(os.path.join(top, ".git")) or common
    try:
        data = Tree(folder).content("index", INDEX_BYTES)
        paths = paths_in(data, MOST_FILES + 1)
    except (Unreadable, NoIndex):
        return []
    below = os.path.relpath(os.path.realpath(root), top)
    if below == ".":
        return paths
    start = below.replace(os.sep, "/") + "/"
    return [path[len(start) :] for path in paths if path.startswith(start)]


def _walk(root: str, most: int) -> Iterator[str]:
    """Yield all files of a folder that are not ignored, folder by folder; links are not followed."""
    waiting: list[tuple[str, tuple[_Ignored, ...]]] = [("", ())]
    given = 0
    while waiting and given < most:
        folder, rules = waiting.pop()
        names, folders = _entries(os.path.join(root, folder))
        if ".gitignore" in names:
            rules = (*rules, *_rules(root, folder))[-MOST_PATTERNS:]
        prefix = f"{folder}/" if folder else ""
        for name in names:
            if not _is_ignored(prefix + name, False, rules):
                given += 1
                yield prefix + name
        if prefix.count("/") < DEEPEST:
            inner = [name for name in folders if not is_skipped_folder(name)]
            waiting += [
                (prefix + name, rules) for name in reversed(inner) if not _is_ignored(prefix + name, True, rules)
            ]


def _entries(folder: str) -> tuple[list[str], list[str]]:
    names, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
    except OSError:
        return [], []  # the folder is gone, or unreadable
    return sorted(names), sorted(folders)


@frozen
class _Ignored:
    """One pattern of a `.gitignore`, and the folder of that file."""

    folder: str
    pattern: re.Pattern[str]
    whole: bool  # match the path from that folder, not only the name
    folders_only: bool
    kept: bool


def _rules(root: str, folder: str) -> Iterator[_Ignored]:
    import fnmatch

    try:
        text = Tree(root).content(f"{folder}/.gitignore" if folder else ".gitignore", IGNORE_BYTES)
    except Unreadable:
        return
    for line in text.decode("utf-8", "replace").splitlines()[:MOST_PATTERNS]:
        line = line.rstrip()
        kept, pattern_text = line.startswith("!"), line.lstrip("!").replace("**/", "").removesuffix("/**")
        if not pattern_text or line.startswith("#") or len(pattern_text) > 200:
            continue
        bare = pattern_text.strip("/")
        pattern = re.compile(fnmatch.translate(bare))
        yield _Ignored(folder, pattern, "/" in pattern_text.rstrip("/"), pattern_text.endswith("/"), kept)


def _is_ignored(path: str, is_folder: bool, rules: Sequence[_Ignored]) -> bool:
    """Return whether a path is ignored, as the last matching rule decides."""
    name = path.rpartition("/")[2]
    for rule in reversed(rules):
        if rule.folders_only and not is_folder:
            continue
        subject = path[len(rule.folder) :].lstrip("/") if rule.whole else name
        if rule.pattern.match(subject):
            return not rule.kept
    return False


def survey(listing: Listing) -> Codebase:
    """Survey a project by the list of its files."""
    paths = listing.paths
    tests = [path for path in paths if is_test(path) and language_of(path)]
    docs = sorted((path for path in paths if is_doc(path)), key=lambda path: (path.count("/"), path.lower()))
    entries = sorted((path for path in paths if is_entry(path)), key=lambda path: (path.count("/"), path))
    return Codebase(
        len(paths),
        listing.origin,
        listing.cut,
        languages(paths),
        _folders(paths),
        tuple(entries[:LISTED_ENTRIES]),
        len(tests),
        tuple(_most_common((path.rpartition("/")[0] for path in tests), 3)),
        tuple(docs[:LISTED_DOCS]),
    )


def languages(paths: Iterable[str]) -> tuple[Language, ...]:
    """Return the languages of the code files, most used first."""
    counts = Counter(name for path in paths if (name := language_of(path)))
    total = sum(counts.values())
    shares = [Language(name, count, round(count / total, 3)) for name, count in counts.items()]
    return tuple(
        sorted((item for item in shares if item.share >= SMALL_SHARE), key=lambda item: (-item.files, item.name))
    )


def _folders(paths: Sequence[str]) -> tuple[FolderSummary, ...]:
    """Return the largest folders with their main languages."""
    counts: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    for path in paths:
        parts = path.split("/")[:-1]
        if parts:
            folder = "/".join(parts[: _DEPTHS.get(parts[0], 1)])
            counts[folder] += 1
            kinds.setdefault(folder, Counter())[language_of(path) or "other"] += 1
    largest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:LISTED_FOLDERS]
    return tuple(FolderSummary(name, count, tuple(_most_common(kinds[name].elements(), 2))) for name, count in largest)


def _most_common(names: Iterable[str], most: int) -> list[str]:
    return [name for name, _ in Counter(name for name in names if name).most_common(most)]
