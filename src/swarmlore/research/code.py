"""Search the code: the lines that match a question best, and definitions found by tree-sitter, with their callers and
imports.

Grammars are installed with the product; nothing is downloaded. A language without one is searched by words alone. Files
are untrusted: their size and number are limited, and nothing here recurses into a syntax tree.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache

from swarmlore.domain.language.tokenizer import split_words, stem_word
from swarmlore.errors import Unavailable
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.research.question import Holding, Question, Weights, read_question, stems, text_of
from swarmlore.research.report import Finding
from swarmlore.workspace.cited_code import Tree
from swarmlore.workspace.codebase import extension, is_config, is_test, language_of

if TYPE_CHECKING:
    from typing import Any

OPENED = 60  # best files, searched line by line
WINDOW = 6  # lines scored together
LINE_CHARS = 260
COMMENTS = ("#", "//", "/*", "*", '"', "'", "--")
_TEST_SHARE = 0.7  # tests explain less how things work
_CONFIG_SHARE = 0.8  # settings name things more often than they explain them
_PATH_SHARE = 0.6
_IMPORT_SHARE = 0.3  # what is imported is explained elsewhere
_IMPORTS = ("import ", "from ", "use ", "#include", "require", "using ", "export * from", "export {")


def best_files(holdings: Sequence[Holding], question: Question, weights: Weights) -> list[tuple[float, str]]:
    """Rank code and configuration files by the terms they contain; terms in the path count again."""
    scored = []
    for item in holdings:
        if language_of(item.path) or is_config(item.path):
            content = weights.of([question.terms[number] for number in item.terms])
            in_path = weights.of({stem_word(word) for word in split_words(item.path)} & set(question.terms))
            share = (_TEST_SHARE if is_test(item.path) else 1.0) * (1.0 if language_of(item.path) else _CONFIG_SHARE)
            scored.append(((content + _PATH_SHARE * in_path) * share, item.path))
    return sorted(scored, key=lambda entry: (-entry[0], entry[1]))


def search_code(
    tree: Tree, files: Sequence[tuple[float, str]], question: Question, weights: Weights, limit: int
) -> tuple[Finding, ...]:
    """Return the best place of each of the best files."""
    found = []
    for _, path in files[:OPENED]:
        place = _best_place(text_of(tree, path), question, weights)
        if place is not None:
            score, line, text = place
            rank = score * (_TEST_SHARE if is_test(path) else 1.0)
            found.append(Finding(text, "code", f"{path}:{line}", rank=rank))
    return tuple(sorted(found, key=lambda item: (-item.rank, item.place))[:limit])


def _best_place(text: str, question: Question, weights: Weights) -> tuple[float, int, str] | None:
    """Return (score, line number, text) of the best line in the window of lines that covers most of the question."""
    lines = text.split("\n")
    held = list(_holding(lines, question, weights))
    best: tuple[float, int] | None = None
    begin = 0
    for end, (number, _, _) in enumerate(held):
        while held[begin][0] <= number - WINDOW:
            begin += 1
        near = held[begin : end + 1]
        score = weights.of(set().union(*(terms for _, terms, _ in near))) + max(own for _, _, own in near)
        if best is None or score > best[0]:
            best = (score, max(near, key=lambda entry: (entry[2], -entry[0]))[0])
    if best is None:
        return None
    return best[0] / (2 * weights.whole), best[1] + 1, _whole(lines, best[1])


def _whole(lines: Sequence[str], at: int) -> str:
    """Return a line of code or, for a comment, the sentence that begins in it."""
    text = lines[at].strip()
    if text.startswith(COMMENTS):
        for line in lines[at + 1 : at + 4]:
            said = line.strip().lstrip("#/*- ")
            if not said or text.rstrip("\"' ").endswith((".", ":")) or text.count('"""') > 1:
                break
            text = f"{text} {said}"
    return text[:LINE_CHARS]


def _holding(lines: Sequence[str], question: Question, weights: Weights) -> Iterator[tuple[int, set[str], float]]:
    """Yield (line number, terms, weight) of each line that contains a term."""
    needles = [needle.decode() for needle in question.needles]
    wanted = set(question.terms)
    for number, line in enumerate(lines):
        low = line[:1_000].lower()
        if any(needle in low for needle in needles):
            said = stems(line[:1_000]) & wanted
            if said:
                share = _IMPORT_SHARE if line.lstrip().startswith(_IMPORTS) else 1.0
                yield number, said, share * weights.of(said)


PARSED = 120
FILE_CHARS = 300_000
MOST_SECONDS = 8.0
WAIT_S = 15.0  # timeout of the parser process
LONGEST_LINE = 5_000  # files with longer lines are generated
MOST_NODES = 4_000  # of one kind in one file
DOC_CHARS = 260
MOST_USES = 3
DEEPEST = 500  # nested brackets
MOST_ERRORS = 2_000  # children of a syntax error node
ERROR_BYTES = 150_000  # largest file with syntax errors
DEFINITION_CHARS = 200
QUERY_DEPTH = 80  # below the root of a tree
_TEST_SHARE_OF_DEFINITIONS = 0.5  # test names repeat the name of the tested code
_JS_DEFS = """
    (function_declaration name: (_) @def) (class_declaration name: (_) @def) (method_definition name: (_) @def)
    (variable_declarator name: (identifier) @def value: [(arrow_function) (function_expression)])"""
_JS_USES = """
    (call_expression function: [(identifier) @call (member_expression property: (property_identifier) @call)])
    (import_statement) @import"""
_TS_DEFS = """
    (interface_declaration name: (_) @def) (type_alias_declaration name: (_) @def) (enum_declaration name: (_) @def)"""
_C_DEFS = """
    (function_declarator declarator: (identifier) @def) (struct_specifier name: (_) @def body: (_))"""
_C_USES = "(call_expression function: (identifier) @call) (preproc_include) @import"
# By file extension: the grammar's package and function, the query for definitions, and that for uses.
_GRAMMARS = {
    "py": ("tree_sitter_python", "language",
        "(function_definition name: (_) @def) (class_definition name: (_) @def)", """
        (call function: [(identifier) @call (attribute attribute: (_) @call)])
        (import_statement) @import (import_from_statement) @import"""),
    "js": ("tree_sitter_javascript", "language", _JS_DEFS, _JS_USES),
    "ts": ("tree_sitter_typescript", "language_typescript", _JS_DEFS + _TS_DEFS, _JS_USES),
    "tsx": ("tree_sitter_typescript", "language_tsx", _JS_DEFS + _TS_DEFS, _JS_USES),
    "go": ("tree_sitter_go", "language",
        "(function_declaration name: (_) @def) (method_declaration name: (_) @def) (type_spec name: (_) @def)", """
        (call_expression function: [(identifier) @call (selector_expression field: (_) @call)])
        (import_spec) @import"""),
    "rs": ("tree_sitter_rust", "language", """
        (function_item name: (_) @def) (struct_item name: (_) @def) (enum_item name: (_) @def)
        (trait_item name: (_) @def)""", """
        (call_expression function: [(identifier) @call (field_expression field: (_) @call)
            (scoped_identifier name: (_) @call)]) (use_declaration) @import"""),
    "java": ("tree_sitter_java", "language", """
        (class_declaration name: (_) @def) (interface_declaration name: (_) @def) (method_declaration name: (_) @def)
        (enum_declaration name: (_) @def)""", "(method_invocation name: (_) @call) (import_declaration) @import"),
    "c": ("tree_sitter_c", "language", _C_DEFS, _C_USES),
    "cpp": ("tree_sitter_cpp", "language", _C_DEFS + """ (class_specifier name: (_) @def body: (_))
        (function_declarator declarator: (qualified_identifier name: (_) @def))""", _C_USES + """
        (call_expression function: (field_expression field: (_) @call))"""),
    "rb": ("tree_sitter_ruby", "language",
        "(method name: (_) @def) (class name: (_) @def) (module name: (_) @def)", "(call method: (_) @call)"),
    "php": ("tree_sitter_php", "language_php", """
        (function_definition name: (_) @def) (method_declaration name: (_) @def) (class_declaration name: (_) @def)
        """, """(function_call_expression function: (name) @call) (member_call_expression name: (_) @call)
        (namespace_use_declaration) @import"""),
    "cs": ("tree_sitter_c_sharp", "language", """
        (class_declaration name: (_) @def) (interface_declaration name: (_) @def) (method_declaration name: (_) @def)
        """, """(invocation_expression function: [(identifier) @call (member_access_expression name: (_) @call)])
        (using_directive) @import"""),
}  # fmt: skip
_SAME = {
    **dict.fromkeys(("pyi", "pyw"), "py"),
    **dict.fromkeys(("jsx", "mjs", "cjs"), "js"),
    **dict.fromkeys(("mts", "cts"), "ts"),
    **dict.fromkeys(("cc", "cxx", "hpp", "hh", "hxx"), "cpp"),
    "h": "c",
}
_COMMENTS = ("//", "#", "*", "/*", "--", '"""', "'''")


@frozen
class Symbol:
    """A definition: its name, line number, source line, and the first sentence of its doc comment."""

    name: str
    path: str
    line: int
    text: str
    doc: str = ""


def search_syntax(
    root: str, paths: Sequence[str], text: str, counted: tuple[Sequence[int], int], limit: int
) -> tuple[tuple[Finding, ...], int]:
    """Run `seen_in` in its own process, as a grammar can hang or crash on a hostile file; then raise Unavailable."""
    asked = {"root": root, "paths": list(paths[:PARSED]), "text": text, "counted": counted, "limit": limit}
    # -P: the working folder is untrusted, so no module is imported from it.
    command = [sys.executable, "-P", "-c", "from swarmlore.research.code import answer; answer()"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asked),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=WAIT_S,
        )
        result = json.loads(done.stdout)
        return tuple(Finding(**item) for item in result["findings"]), int(result["parsed"])
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise Unavailable("the code could not be parsed in time; it was searched by words alone") from error


def answer() -> None:
    """Entry point of the parser process: read a question from standard input, write findings, both as JSON."""
    asked = json.load(sys.stdin)
    question = read_question(asked["text"])
    weights = Weights(question, *asked["counted"])
    found, parsed = seen_in(Tree(asked["root"]), asked["paths"], question, weights, asked["limit"])
    listed = [{name: getattr(item, name) for name in Finding.__match_args__} for item in found]
    sys.stdout.write(json.dumps({"findings": listed, "parsed": parsed}))


def seen_in(
    tree: Tree, paths: Sequence[str], question: Question, weights: Weights, limit: int
) -> tuple[tuple[Finding, ...], int]:
    """Return definitions that match a question, with their callers and imports, and the number of parsed files."""
    parsed: list[Parsed] = []
    defined: list[tuple[float, Symbol]] = []
    ends_at = time.monotonic() + MOST_SECONDS
    for path in paths:
        one = parse(path, text_of(tree, path)) if time.monotonic() < ends_at else None
        if one is not None:
            parsed.append(one)
            defined += [(fit, symbol) for symbol in one.definitions() if (fit := _fit(symbol, question, weights)) > 0]
    best = sorted(defined, key=lambda item: (-item[0], item[1].path, item[1].line))[:limit]
    return tuple(_finding(score, symbol, parsed) for score, symbol in best), len(parsed)


def _fit(symbol: Symbol, question: Question, weights: Weights) -> float:
    """Score a definition by the parts of its name and its doc comment; 2.0 if the question names it literally."""
    if symbol.name in question.names:
        return 2.0
    own = {stem_word(word) for word in split_words(symbol.name)}
    named = own & set(question.terms)
    told = weights.coverage(symbol.doc)
    if not named:
        return 0.5 * told if told >= 0.5 else 0.0
    share = len(named) / max(1, min(len(own), 4))
    fit = (weights.of(named) * (0.5 + 0.5 * share)) / weights.whole + 0.5 * told
    return fit * (_TEST_SHARE_OF_DEFINITIONS if is_test(symbol.path) else 1.0)


def _finding(score: float, symbol: Symbol, parsed: Sequence[Parsed]) -> Finding:
    text = f"{symbol.text} — {symbol.doc}" if symbol.doc else symbol.text
    place = f"{symbol.path}:{symbol.line}"
    return Finding(text, "definitions", place, title=symbol.name, how=_uses(symbol, parsed), rank=score)


def _uses(symbol: Symbol, parsed: Sequence[Parsed]) -> str:
    """Describe where a definition is called and imported in the parsed files."""
    places: dict[str, list[str]] = {"call": [], "import": []}
    for one in parsed:
        for role, line in one.uses(symbol.name):
            places[role].append(f"{one.path}:{line}")
    told = []
    for role, word in (("call", "called at"), ("import", "imported at")):
        found = sorted(dict.fromkeys(places[role]), key=is_test)
        more = f" and {len(found) - MOST_USES} more" if len(found) > MOST_USES else ""
        if found:
            told.append(f"{word} {', '.join(found[:MOST_USES])}{more}")
    return "; ".join(told)


def parse(path: str, text: str) -> Parsed | None:
    """Parse a file; return None if its language has no grammar or the file is too large."""
    ending = extension(path)
    grammar = _grammar(_SAME.get(ending, ending))
    if grammar is None or not text or len(text) > FILE_CHARS or _nesting(text) > DEEPEST:
        return None
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        return None
    parsed = Parsed(path, text, grammar)
    return None if parsed.tangled else parsed


def _nesting(text: str) -> int:
    """Return the approximate depth of nested brackets; those in strings and comments count too."""
    depth = deepest = 0
    for mark in re.findall(r"[()\[\]{}]", text):
        depth = depth + 1 if mark in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


class Parsed:
    """A parsed file; the tree is queried only on demand."""

    def __init__(self, path: str, text: str, grammar: _Grammar) -> None:
        self.path = path
        self._lines = text.split("\n")
        self._data = text.encode("utf-8", "replace")
        self._grammar = grammar
        self._tree = grammar.parse(self._data)

    @property
    def tangled(self) -> bool:
        """Return whether the file is hardly code: a query takes quadratic time over the children of a syntax error."""
        root = self._tree.root_node
        if not root.has_error:
            return False
        parts = [root, *root.children[:MOST_NODES]]
        return len(self._data) > ERROR_BYTES or any(
            part.type == "ERROR" and part.child_count > MOST_ERRORS for part in parts
        )

    def definitions(self) -> Iterator[Symbol]:
        """Yield the definitions of the file."""
        for node in self._grammar.definitions(self._tree).get("def", ())[:MOST_NODES]:
            row = node.start_point[0]
            shown = self._lines[row].strip()[:DEFINITION_CHARS] if row < len(self._lines) else ""
            yield Symbol(self._said(node), self.path, row + 1, shown, _doc(self._lines, row))

    def uses(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield (role, line) for each call or import of a name."""
        if name.encode() not in self._data:
            return
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        captured = self._grammar.uses(self._tree)
        for role in ("call", "import"):
            for node in captured.get(role, ())[:MOST_NODES]:
                said = self._said(node)
                if said == name or (role == "import" and whole.search(said)):
                    yield role, node.start_point[0] + 1

    def _said(self, node: Any) -> str:
        return self._data[node.start_byte : node.end_byte][:2_000].decode("utf-8", "replace")


class _Grammar:
    """Parser and queries of one language."""

    def __init__(self, module: str, function: str, definitions: str, uses: str) -> None:
        from importlib import import_module

        import tree_sitter

        language = tree_sitter.Language(getattr(import_module(module), function)())
        self._parser = tree_sitter.Parser(language)
        self._definitions = tree_sitter.Query(language, definitions)
        self._uses = tree_sitter.Query(language, uses)
        self._cursor = tree_sitter.QueryCursor

    def parse(self, data: bytes) -> Any:
        return self._parser.parse(data)

    def definitions(self, tree: Any) -> dict[str, list[Any]]:
        return self._ask(self._definitions, tree)

    def uses(self, tree: Any) -> dict[str, list[Any]]:
        return self._ask(self._uses, tree)

    def _ask(self, query: Any, tree: Any) -> dict[str, list[Any]]:
        cursor = self._cursor(query)
        cursor.set_max_start_depth(QUERY_DEPTH)
        return dict(cursor.captures(tree.root_node))


@lru_cache(maxsize=32)
def _grammar(ending: str) -> _Grammar | None:
    """Return the grammar of a file extension, or None if there is none or its package is missing or incompatible."""
    if ending not in _GRAMMARS:
        return None
    try:
        return _Grammar(*_GRAMMARS[ending])
    except (ImportError, AttributeError, ValueError, TypeError):  # ValueError: a query does not fit the grammar
        return None


def _doc(lines: Sequence[str], row: int) -> str:
    """Return the first sentence of a definition's docstring, or of the comment above it."""
    for line in lines[row + 1 : row + 8]:
        bare = line.strip()
        if bare.startswith(('"""', "'''", 'r"""')):
            return _sentence(bare.lstrip("r").strip("\"'") or (lines[row + 2].strip() if row + 2 < len(lines) else ""))
        if bare and not bare.endswith((",", "(", ":")) and not bare.startswith(")"):
            break
    above: list[str] = []
    for line in reversed(lines[max(0, row - 12) : row]):
        bare = line.strip()
        if not bare.startswith(_COMMENTS) or bare.startswith("#["):
            if bare.startswith(("@", "#[")) or bare in ("export", "export default"):
                continue
            break
        above.insert(0, bare.lstrip("/#*-! ").removesuffix("*/").strip())
    return _sentence(" ".join(part for part in above if part))


def _sentence(text: str) -> str:
    """Return the first sentence of a text."""
    end = text.find(". ")
    return (text[: end + 1] if 0 < end < DOC_CHARS else text)[:DOC_CHARS].strip()
