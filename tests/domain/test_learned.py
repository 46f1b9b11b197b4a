"""LEARNED comments in shell commands: every way to write one, and what only looks like one."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostile import SCANNERS
from swarmlore.domain.extraction.learned_comments import (
    BODY_BYTES,
    CONTENT_BYTES,
    KEYWORDS,
    BeadLesson,
    find_bead_lessons,
    tags_of,
)
from swarmlore.domain.language.shell import Command, commands, decoded

SAID = "Run make snap-record for new snapshots"


def contents(command: str) -> list[tuple[str, str]]:
    return [(found.bead, found.content) for found in find_bead_lessons(command)]


# The record


def test_the_example_of_the_seed_gives_the_record_that_its_rules_yield() -> None:
    command = 'bd comment BD-001 "LEARNED: TaskGroup requires @Sendable closures in strict concurrency mode."'
    assert find_bead_lessons(command, "/work/app/.worktrees/bd-001", 1706360000.9) == (
        BeadLesson(
            key="learned-taskgroup-requires-sendable-closures-in-strict-concurrency",
            type="learned",
            content="TaskGroup requires @Sendable closures in strict concurrency mode.",
            source="supervisor",
            tags=("learned", "concurrency"),
            ts=1706360000,
            bead="BD-001",
        ),
    )


@pytest.mark.parametrize(
    ("cwd", "source"),
    [
        ("/work/app", "orchestrator"),
        ("", "orchestrator"),
        ("/work/app/.worktrees", "orchestrator"),
        ("/work/worktrees/x", "orchestrator"),
        ("/work/app/.worktrees/bd-1", "supervisor"),
        ("/work/app/.worktrees/bd-1/src", "supervisor"),
        ("C:\\app\\.worktrees\\bd-1", "supervisor"),
    ],
)
def test_who_speaks_is_told_by_the_folder(cwd: str, source: str) -> None:
    assert find_bead_lessons("bd comment X 'LEARNED: a lesson'", cwd)[0].source == source


@pytest.mark.parametrize(
    ("content", "tags"),
    [
        ("The API test is slow", ["api", "test"]),
        ("TaskGroup requires closures", []),  # "requires" holds "ui"
        ("UI tests build contests", ["ui"]),
        ("Auth-middleware: fix the (async) engine!", ["fix", "auth", "middleware", "async", "engine"]),
        ("SwiftUI is not Swift", ["swift", "swiftui"]),
        ("api_key and apis", []),
        (" ".join(reversed(KEYWORDS)), list(KEYWORDS)),
    ],
)
def test_tags_are_keywords_that_stand_as_whole_words_in_the_order_of_the_list(content: str, tags: list[str]) -> None:
    assert tags_of("learned", content) == ("learned", *tags)


def test_an_investigation_has_its_own_type_key_and_tag() -> None:
    found = find_bead_lessons('bd comment X "INVESTIGATION: The crash comes from the layout pass"')[0]
    assert (found.type, found.key) == ("investigation", "investigation-the-crash-comes-from-the-layout-pass")
    assert found.tags == ("investigation", "layout", "crash")


@pytest.mark.parametrize(
    ("text", "lessons"),
    [
        ("LEARNED: a", ["a"]),
        ("Fixed it. LEARNED: a", ["a"]),
        ("LEARNED: a LEARNED: b", ["b"]),  # of one line the last counts
        ("LEARNED: a\ngoes on\n\nand on", ["a\ngoes on\n\nand on"]),
        ("done\nLEARNED: a\nLEARNED: b\nmore", ["a", "b\nmore"]),
        ("INVESTIGATION: a\nLEARNED: b", ["a", "b"]),
        ("**LEARNED:** *args come last", ["*args come last"]),
        ("LEARNED: a **LEARNED:** b", ["b"]),
        ("- LEARNED: a", ["a"]),
        ("LEARNED:a", ["a"]),
        ("LEARNED:", []),
        ("LEARNED:  \n ", []),
        ("UNLEARNED: a", []),
        ("learned: a", []),
        ("LEARNED a", []),
    ],
)
def test_a_lesson_begins_after_the_last_mark_of_its_line(text: str, lessons: list[str]) -> None:
    assert [content for _, content in contents(f"bd comment X {shlex.quote(text)}")] == lessons


@pytest.mark.parametrize("char", ["x", "é", "語", "🐝"])
def test_long_texts_are_cut_between_characters(char: str) -> None:
    (found,) = find_bead_lessons("bd comment X 'LEARNED: " + char * 5000 + "'")
    assert found.content == char * (CONTENT_BYTES // len(char.encode()))


def test_a_mark_behind_the_first_4096_bytes_of_a_comment_does_not_count() -> None:
    assert contents(f"bd comment X 'LEARNED: a{'b' * BODY_BYTES}\nLEARNED: c'") == [
        ("X", "a" + "b" * (CONTENT_BYTES - 1))
    ]


def test_neither_the_content_nor_the_key_holds_a_secret() -> None:
    token = "ghp_" + "Zk3vQ9xL2mN8pR4tW7yB1cD5fG6hJ0sA2eUi"
    (found,) = find_bead_lessons(f'bd comment X "LEARNED: {token} opens the registry"')
    assert token not in found.content
    assert token.lower()[4:20] not in found.key
    assert found.content.startswith("[redacted:")
    (cut,) = find_bead_lessons(
        f'bd comment X "LEARNED: {"a " * (CONTENT_BYTES // 2 - 8)}{token}"'
    )  # cut within the token
    assert token[:10] not in cut.content


def test_what_nobody_can_see_is_left_out() -> None:
    assert contents("bd comment X $'LEARNED: a\\x1b[31m\\u200bb\\u202ec'") == [("X", "a [31mbc")]


# Ways to write one

WRITTEN = {
    "double quotes": f'bd comment BD-7.2 "LEARNED: {SAID}"',
    "single quotes": f"bd comment BD-7.2 'LEARNED: {SAID}'",
    "no quotes": f"bd comment BD-7.2 LEARNED: {SAID}",
    "escaped spaces": "bd comment BD-7.2 LEARNED:\\ " + SAID.replace(" ", "\\ "),
    "mixed quotes": f"bd comment BD-7.2 'LEARNED: 'Run\" make \"'{SAID[9:]}'",
    "ansi quotes": f"bd comment BD-7.2 $'LEARNED: {SAID}\\n'",
    "localised quotes": f'bd comment BD-7.2 $"LEARNED: {SAID}"',
    "quoted id": f"bd comment 'BD-7.2' 'LEARNED: {SAID}'",
    "comments add": f"bd comments add BD-7.2 'LEARNED: {SAID}'",
    "quiet": f"bd -q comment BD-7.2 'LEARNED: {SAID}'",
    "another database": f"bd --db /tmp/x.db comment BD-7.2 'LEARNED: {SAID}'",
    "another database, joined": f"bd --db=/tmp/x.db --json comments add BD-7.2 'LEARNED: {SAID}'",
    "an unknown option": f"bd --flavour sweet comment BD-7.2 'LEARNED: {SAID}'",
    "an author before": f"bd comment --author ada BD-7.2 'LEARNED: {SAID}'",
    "an author between": f"bd comments add BD-7.2 -a ada 'LEARNED: {SAID}'",
    "an option behind": f"bd comment BD-7.2 'LEARNED: {SAID}' --json",
    "end of options": f"bd comment -- BD-7.2 'LEARNED: {SAID}'",
    "a path": f"cd x && BEADS_DB=/tmp/b.db /usr/local/bin/bd comment BD-7.2 'LEARNED: {SAID}'",
    "env": f"env -i BEADS_DB=x bd comment BD-7.2 'LEARNED: {SAID}'",
    "timeout": f"timeout -k 5 10s bd comment BD-7.2 'LEARNED: {SAID}'",
    "after a semicolon": f"ls; bd comment BD-7.2 'LEARNED: {SAID}'; ls",
    "after an or": f"false||bd comment BD-7.2 'LEARNED: {SAID}'",
    "after a pipe": f"yes|bd comment BD-7.2 'LEARNED: {SAID}'",
    "in the background": f"sleep 1 & bd comment BD-7.2 'LEARNED: {SAID}'&",
    "on its own line": f"set -e\n\n  bd comment BD-7.2 'LEARNED: {SAID}'\nls",
    "continued": f"bd comment \\\n  BD-7.2 \\\n  'LEARNED: {SAID}'",
    "in a group": f"(cd x && bd comment BD-7.2 'LEARNED: {SAID}')",
    "in braces": f"{{ bd comment BD-7.2 'LEARNED: {SAID}'; }}",
    "in an if": f"if ! bd comment BD-7.2 'LEARNED: {SAID}'; then echo no; fi",
    "in a loop": f"for n in 1 2; do bd comment BD-7.2 'LEARNED: {SAID}'; done",
    "redirected": f"bd comment BD-7.2 'LEARNED: {SAID}' >/dev/null 2>&1",
    "redirected first": f"2>&1 >x bd comment BD-7.2 'LEARNED: {SAID}' &>y",
    "in a shell": f"bash -lc \"bd comment BD-7.2 'LEARNED: {SAID}'\"",
    "in a shell's input": f"bash -s <<'EOF'\nbd comment BD-7.2 'LEARNED: {SAID}'\nEOF",
    "evaluated": f"eval \"bd comment BD-7.2 'LEARNED: {SAID}'\"",
    "kept in a variable": f"OUT=$(bd comment BD-7.2 'LEARNED: {SAID}')",
    "printed": f"echo \"done: $(bd comment BD-7.2 'LEARNED: {SAID}')\"",
    "heredoc": f"bd comment BD-7.2 \"$(cat <<'EOF'\nLEARNED: {SAID}\nEOF\n)\"",
    "heredoc, closed at once": f'bd comment BD-7.2 "$(cat <<EOF\nLEARNED: {SAID}\nEOF)"',
    "heredoc with tabs": f"bd comment BD-7.2 \"$(cat <<-'E F'\n\tLEARNED: {SAID}\n\tE F\n)\"",
    "heredoc through a filter": f"bd comment BD-7.2 \"$(cat <<'EOF' | tr a a\nLEARNED: {SAID}\nEOF\n)\"",
    "echoed": f"bd comment BD-7.2 \"$(echo 'LEARNED: {SAID}')\"",
    "formatted": f"bd comment BD-7.2 \"$(printf '%s\\n' 'LEARNED: {SAID}')\"",
    "standard input": f"bd comment BD-7.2 --stdin <<'EOF'\nLEARNED: {SAID}\nEOF\nls",
    "a file that is standard input": f"bd comments add BD-7.2 -f - <<< 'LEARNED: {SAID}'",
    "piped in": f"printf 'LEARNED: {SAID}\\n' | bd comment BD-7.2 --stdin",
    "piped in from a heredoc": f"cat <<EOF |\nLEARNED: {SAID}\nEOF\nbd comment BD-7.2 --file=-",
    "an unclosed quote": f'bd comment BD-7.2 "LEARNED: {SAID}',
    "behind arithmetic": f"x=$((1<<2)); (( x<<=1 ))\nbd comment BD-7.2 'LEARNED: {SAID}'",
    "behind a comment": f"# it's done\nbd comment BD-7.2 'LEARNED: {SAID}' # 'LEARNED: no'",
    "windows": f"bd.exe comment BD-7.2 'LEARNED: {SAID}'\r\n",
}


@pytest.mark.parametrize("command", WRITTEN.values(), ids=WRITTEN)
def test_a_comment_is_found_however_it_is_written(command: str) -> None:
    assert contents(command) == [("BD-7.2", SAID)]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ('bd comment X "LEARNED: a \\"b\\" \\$c \\`d\\` \\\\ \\e"', 'a "b" $c `d` \\ \\e'),
        ("bd comment X 'LEARNED: it'\\''s \\n'", "it's \\n"),
        ("bd comment X $'LEARNED: it\\'s\\t\\x41\\u00e9\\101'", "it's\tAéA"),
        ('bd comment X "LEARNED: use `make x` in $HOME at $(date +%s) and $((1+1))"',
         "use `make x` in $HOME at $(date +%s) and $((1+1))"),
        ('bd comment X "LEARNED: a\n  b\n"', "a\n  b"),
        ('bd comment X "$(cat <<EOF\nLEARNED: \\$x "quoted" it\'s\nEOF\n)"', '$x "quoted" it\'s'),
        ("bd comment X 'LEARNED: a # b; c && d | e > f'", "a # b; c && d | e > f"),
        ("bd comment X LEARNED: a#b", "a#b"),
    ],
)  # fmt: skip
def test_a_text_is_taken_as_bd_would_get_it(command: str, found: str) -> None:
    assert contents(command) == [("X", found)]


def test_several_comments_in_one_line_keep_their_beads_apart() -> None:
    command = "bd comment A 'LEARNED: one' && bd comment B 'no lesson' && bd comments add C 'x\nLEARNED: two\nthree'"
    assert contents(command) == [("A", "one"), ("C", "two\nthree")]


def test_a_bead_in_a_variable_is_not_known_but_its_lesson_counts() -> None:
    assert contents('bd comment "$BEAD" "LEARNED: a"') == [("", "a")]
    assert contents("bd comment $(bd list | head -1) 'LEARNED: a'") == [("", "a")]


NOT_WRITTEN = {
    "printed": "echo \"bd comment X 'LEARNED: a'\"",
    "printed without quotes": "echo bd comment X LEARNED: a",
    "searched": "grep -r 'LEARNED:' . | grep bd",
    "committed": "git commit -m 'bd comment X \"LEARNED: a\"'",
    "a comment": "ls # bd comment X 'LEARNED: a'",
    "written to a script": "cat > x.sh <<'EOF'\nbd comment X 'LEARNED: a'\nEOF",
    "another verb": "bd update X --notes 'LEARNED: a'",
    "another verb's word": "bd show comment 'LEARNED: a'",
    "a list of comments": "bd comments X 'LEARNED: a'",
    "a comment without a lesson": "bd comment X 'done' && echo LEARNED: a",
    "no bead": "bd comment 'LEARNED: a'",
    "no text": "bd comment X # LEARNED: a",
    "a bead that is none": "bd comment ../../x 'LEARNED: a'",
    "a file": "bd comment X -f 'LEARNED: a'",
    "input that is not read": "bd comment X <<< 'LEARNED: a'",
    "another program": "abd comment X 'LEARNED: a'; bd2 comment X 'LEARNED: b'; ./bd/run comment X 'LEARNED: c'",
    "a script of that name": "bash bd comment X 'LEARNED: a'",
    "a name": "LEARNED: bd",
    "nothing": "",
}


@pytest.mark.parametrize("command", NOT_WRITTEN.values(), ids=NOT_WRITTEN)
def test_what_only_looks_like_a_comment_is_none(command: str) -> None:
    assert find_bead_lessons(command) == ()


# The reader of command lines

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


def in_double_quotes(text: str) -> str:
    return '"' + "".join("\\" + char if char in '"\\$`' else char for char in text) + '"'


def in_ansi_quotes(text: str) -> str:
    return "$'" + "".join(f"\\U{ord(char):08x}" if not char.isalnum() else char for char in text) + "'"


def in_backslashes(text: str) -> str:
    return "".join("'\n'" if char == "\n" else "\\" + char for char in text) or "''"


def in_a_document(text: str) -> str:
    return f"\"$(cat <<'END OF IT'\n{text}\nEND OF IT\n)\""


@pytest.mark.parametrize("quoted", [shlex.quote, in_double_quotes, in_ansi_quotes, in_backslashes])
@given(words=st.lists(texts, min_size=1, max_size=4))
@example(words=["", "#", "a\\", "\n", "$(", "`", "'", '"'])
def test_what_is_quoted_comes_back_as_it_was(quoted: object, words: list[str]) -> None:
    assert callable(quoted)
    line = " ".join(quoted(word) for word in ["x", *words])
    assert commands(line) == [Command(("x", *words))]


@given(texts)
def test_a_here_document_comes_back_without_the_newlines_at_its_end(text: str) -> None:
    line = f"x {in_a_document(text)} y"
    if "END OF IT" not in text:
        assert commands(line)[-1].words == ("x", text.rstrip("\n"), "y")


@given(st.lists(texts, min_size=1, max_size=5))
def test_the_words_are_those_that_a_real_shell_makes(words: list[str]) -> None:
    line = "printf '%s\\0' " + " ".join(map(in_double_quotes, words)) + " " + " ".join(map(shlex.quote, words))
    made = subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout.decode().split("\0")[:-1]
    assert commands(line)[0].words[2:] == tuple(made)


@given(st.text(alphabet="bdx '\"$(){}<>|&;#\\\n`-=!LEARNED:", max_size=200))
def test_every_text_can_be_read(text: str) -> None:
    commands(text)
    find_bead_lessons(f"bd comment X LEARNED: {text}")
    find_bead_lessons(text + "\nbd LEARNED:")


@pytest.mark.parametrize("part", SCANNERS["learned"].pieces)
def test_what_was_learned_before_a_hostile_command_is_found(part: str) -> None:
    found = find_bead_lessons("bd comment X 'LEARNED: a'; " + SCANNERS["learned"].text(part, 400_000))
    assert [(learned.bead, learned.content) for learned in found] == [("X", "a")]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a\\nb", "a\nb"), ("\\x4", "\x04"), ("\\xg", "\\xg"), ("\\u00e9\\U0001f41d", "é🐝"), ("\\777", "ǿ"),
        ("\\U99999999", "\ufffd"), ("\\\\n", "\\n"), ("\\q", "\\q"), ("a\\", "a\\"), ("\\0", "\ufffd"),
    ],
)  # fmt: skip
def test_escapes_of_c_are_decoded(text: str, plain: str) -> None:
    assert decoded(text) == plain
