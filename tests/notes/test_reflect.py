"""From a session to what a person keeps of it: proposals, answers, files, commits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import ALICE, BOB, PERSON
from reflecting import ALL, LINE, MICRO, NOTE, RULE, SKILL, World, answer, labels, states
from repositories import git
from swarmlore.errors import InvalidInput, NotAllowed, NotFound
from swarmlore.notes.note_format import parse_note
from swarmlore.notes.reflect.propose import Known

DATA = Path(__file__).parents[1] / "data" / "reflect"
PATH = "docs/solutions/deployment-fixes/workers-need-the-secrets-mounted-before-they-start.md"


# What is proposed


def test_each_kind_goes_where_it_belongs_and_nothing_is_written(world_of: World) -> None:
    world_of.write("CLAUDE.md", "# Guide\n")
    made = world_of.open().reflect(items=ALL)
    assert labels(made.proposals) == ["b1", "k1", "m1", "i1", "s1", "m2"]
    assert [item.target for item in made.proposals] == [
        "CLAUDE.md",
        PATH,
        ".agents/MEMORY.md",
        ".agents/instincts.yaml",
        ".agents/skills/mount-secrets/SKILL.md",
        "CLAUDE.md",
    ]
    assert [item.number for item in made.proposals] == [1, 2, 3, 4, 5, 6]
    assert git(world_of.project, "status", "--short") == ""
    assert {path.name for path in world_of.learnings.iterdir()} == {"metrics.yaml"}


def test_a_proposal_holds_the_whole_difference(world_of: World) -> None:
    world_of.write("AGENTS.md", "# Guide\n\nBe kind.\n")
    [proposal] = world_of.open().reflect(items=[RULE]).proposals
    assert proposal.diff.splitlines() == [
        "--- a/AGENTS.md",
        "+++ b/AGENTS.md",
        "@@ -1,3 +1,7 @@",
        " # Guide",
        " ",
        " Be kind.",
        "+",
        "+## Learned rules",
        "+",
        "+- Run the whole test suite before each commit",
    ]


def test_without_instructions_a_new_agents_file_is_proposed(world_of: World) -> None:
    [proposal] = world_of.open().reflect(items=[RULE]).proposals
    assert (proposal.target, proposal.action) == ("AGENTS.md", "new")


def test_a_named_agent_has_its_rules_in_its_own_file(world_of: World) -> None:
    world_of.write(".claude/agents/reviewer.md", "---\nname: reviewer\n---\n\nYou review.\n")
    home = world_of.user / ".claude" / "agents"
    home.mkdir(parents=True)
    (home / "planner.md").write_text("You plan.\n")
    lore = world_of.open()
    made = lore.reflect(items=[{**RULE, "agent": "reviewer"}, {**RULE, "agent": "planner"}])
    assert [item.target for item in made.proposals] == [".claude/agents/reviewer.md", "~/.claude/agents/planner.md"]
    with pytest.raises(NotFound, match="nobody"):
        lore.reflect("User: always test", agent="nobody")
    assert any("nobody" in why for why in lore.reflect(items=[{**RULE, "agent": "nobody"}]).refused)


def test_what_contradicts_a_rule_is_shown_beside_it(world_of: World) -> None:
    world_of.write("AGENTS.md", "# Guide\n\n- Never run the whole test suite before each commit\n")
    [proposal] = (
        world_of.open()
        .reflect(items=[{**RULE, "text": "Always run the whole test suite before each commit"}])
        .proposals
    )
    assert proposal.conflict == "AGENTS.md:3: - Never run the whole test suite before each commit"


def test_the_same_is_not_proposed_twice_whatever_became_of_it(world_of: World) -> None:
    lore = world_of.open()
    first = lore.reflect(items=ALL)
    again = lore.reflect(items=ALL)
    assert (again.proposals, again.known) == ((), len(first.proposals) - 1)
    answer(lore, "N")
    assert lore.reflect(items=ALL).proposals == ()
    assert lore.reflections.open(low=True) == ()


def test_open_proposals_of_two_reflections_have_numbers_of_their_own(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[RULE])
    made = lore.reflect(items=[{**RULE, "text": "Write commit messages of more than one word"}, NOTE])
    assert [(item.number, item.label) for item in made.proposals] == [(2, "b2"), (3, "k1")]


def test_a_note_much_like_another_adds_to_it_and_one_partly_alike_names_it(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[NOTE])
    answer(lore, "Y")
    same = {**NOTE, "title": NOTE["title"] + " up", "text": "Compose mounts them late: wait in entrypoint.sh."}
    near = {
        **NOTE,
        "title": "Cron jobs need the secrets mounted too",
        "text": "Cron starts before the mount of the secrets: let it wait as the worker does.",
        "key_insight": "Cron has to wait for the mount of the secrets as well, before it starts.",
    }
    update, link = lore.reflect(items=[same, near]).proposals
    assert (update.action, update.similar, update.target) == ("update", PATH, PATH)
    assert (link.action, link.similar) == ("link", PATH)
    assert parse_note(link.edits[0].text).links == (PATH,)


def test_an_episode_is_no_note_to_add_to(world_of: World) -> None:
    lore = world_of.open()
    cause = "The root cause was that the worker reads its configuration before the secrets are mounted."
    lore.reflect(f"Assistant: {cause}")
    assert lore.list(source="note")
    assert Known(lore).note_like("A worker without secrets", cause) is None


def test_a_full_memory_file_makes_a_note_of_the_next_line(world_of: World) -> None:
    lines = "".join(f"- entry number {number}\n" for number in range(197))
    world_of.write(".agents/MEMORY.md", f"# Project Memory\n\n## Testing\n{lines}")
    made = world_of.open().reflect(items=[LINE])
    assert [item.route for item in made.proposals] == ["knowledge"]


def test_secrets_and_dangerous_texts_are_in_no_proposal(world_of: World) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    lore = world_of.open()
    made = lore.reflect(
        items=[{**RULE, "text": f"Always pass {secret} to the deploy"}, {**RULE, "text": "Run rm -rf / first"}]
    )
    assert len(made.proposals) == 1
    assert "dangerous command pattern detected" in made.refused[0]
    answer(lore, "Y")
    for path in world_of.folder.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    "items",
    [
        "no JSON",
        "{}",
        "[1]",
        '[{"route": "elsewhere", "text": "x"}]',
        '[{"text": 1}]',
        '[{"txt": "x"}]',
        "[{}]",
        "[" * 9999,
    ],
)
def test_items_that_are_none_are_refused(world_of: World, items: str) -> None:
    with pytest.raises(InvalidInput):
        world_of.open().reflect(items=items)


# Answers


def test_what_a_person_approves_is_written_and_committed(world_of: World) -> None:
    world_of.write("CLAUDE.md", "# Guide\n")
    lore = world_of.open()
    lore.reflect(items=ALL)
    before = world_of.commits()
    done = answer(lore, "b1,k1")
    assert states(lore) == {
        "b1": "applied",
        "k1": "applied",
        "m1": "pending",
        "i1": "pending",
        "s1": "pending",
        "m2": "pending",
    }
    assert world_of.commits() == before + 1
    assert git(world_of.project, "status", "--short") == ""
    message = git(world_of.project, "log", "-1", "--format=%B")
    assert message.splitlines()[0] == "reflect: add learnings from session [2027-01-15]"
    assert "Extracted: 5 signals (2 high, 3 medium, 0 low confidence)" in message
    assert f"Swarmlore-Approval: {done.applied.approval.id}" in message
    changed = git(world_of.project, "show", "--name-only", "--format=", "HEAD").splitlines()
    assert changed == ["CLAUDE.md", PATH.replace(".md", ".entities.yaml"), PATH]
    [own] = (world_of.learnings / "documents" / "learnings").glob("*.md")
    assert own.read_text() == (world_of.project / PATH).read_text()
    assert own.stem == parse_note(own.read_text()).id
    assert git(world_of.learnings, "log", "--format=%s") == "reflect: add learnings from session [2027-01-15]"


def test_a_commit_can_be_reverted(world_of: World) -> None:
    world_of.write("CLAUDE.md", "# Guide\n")
    lore = world_of.open()
    lore.reflect(items=ALL)
    answer(lore, "all")
    git(world_of.project, "revert", "--no-edit", "HEAD")
    assert (world_of.project / "CLAUDE.md").read_text() == "# Guide\n"
    assert not (world_of.project / "docs").exists()
    assert not (world_of.project / ".agents").exists()


def test_what_the_user_staged_and_changed_stays_as_it_is(world_of: World) -> None:
    guide = world_of.write("CLAUDE.md", "# Guide\n\nOne.\n")
    world_of.write("code.py", "a = 1\n")
    guide.write_text("# Guide\n\nOne.\nTwo, not committed.\n")
    world_of.write("code.py", "a = 2\n", commit=False)
    git(world_of.project, "add", "code.py")
    world_of.write("fresh.py", "", commit=False)
    lore = world_of.open()
    lore.reflect(items=[RULE, NOTE])
    answer(lore, "Y")
    assert "Two, not committed." not in git(world_of.project, "show", "HEAD:CLAUDE.md")
    assert RULE["text"] in git(world_of.project, "show", "HEAD:CLAUDE.md")
    assert guide.read_text().count("Two, not committed.") == 1
    assert git(world_of.project, "status", "--short").splitlines() == ["M CLAUDE.md", "M  code.py", "?? fresh.py"]
    assert git(world_of.project, "diff", "--cached", "--name-only") == "code.py"


def test_what_was_staged_in_the_same_file_stays_staged(world_of: World) -> None:
    guide = world_of.write("CLAUDE.md", "# Guide\n\nOne.\n")
    guide.write_text("# Guide\n\nOne.\nStaged.\n")
    git(world_of.project, "add", "CLAUDE.md")
    lore = world_of.open()
    lore.reflect(items=[RULE])
    answer(lore, "Y")
    staged = git(world_of.project, "diff", "--cached", "-U0", "CLAUDE.md")
    assert [line for line in staged.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == ["+Staged."]


@pytest.mark.parametrize("caller", [ALICE, BOB])
def test_an_agent_only_prepares(world_of: World, caller: object) -> None:
    agent = world_of.open(caller)  # type: ignore[arg-type]
    agent.reflect(items=[RULE, NOTE])
    done = answer(agent, "Y")
    assert {item.state for item in done.proposals} == {"prepared"}
    assert git(world_of.project, "status", "--short") == ""
    shown = agent.reflections.open(low=True)
    for verb in (agent.reflections.approve, agent.reflections.reject):
        with pytest.raises(NotAllowed):
            verb(shown)
    with pytest.raises(NotAllowed):
        agent.reflections.reword(shown[0], "- other")
    person = world_of.open(PERSON)
    [first, _] = person.reflections.open()
    assert (first.state, first.by) == ("prepared", caller.agent)  # type: ignore[attr-defined]
    answer(person, "Y")
    assert set(states(person).values()) == {"applied"}


def test_an_agent_sees_its_own_proposals_only(world_of: World) -> None:
    world_of.open(ALICE).reflect(items=[RULE])
    assert world_of.open(BOB).reflections.open() == ()
    assert len(world_of.open(PERSON).reflections.open()) == 1


def test_another_wording_passes_the_gate_again(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[RULE, NOTE])
    rule, note = lore.reflections.open()
    with pytest.raises(InvalidInput):
        lore.reflections.reword(rule, "\n")
    lore.reflections.reword(rule, "Run make test before each commit")
    text = note.edits[0].text.replace("Wait for the mount of the secrets in entrypoint.sh", "Wait in entrypoint.sh")
    lore.reflections.reword(note, text)
    answer(lore, "Y")
    assert "- Run make test before each commit" in (world_of.project / "AGENTS.md").read_text()
    [own] = (world_of.learnings / "documents" / "learnings").glob("*.md")
    assert "Wait in entrypoint.sh" in own.read_text()
    assert own.stem == parse_note(own.read_text()).id
    assert f"document_id: {own.stem}" in own.with_suffix(".entities.yaml").read_text()


def test_an_answer_that_is_none_changes_nothing(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[RULE, NOTE])
    for said in ("perhaps", "", "9", "k7", "3-1", "1,9", "b1-k1"):
        with pytest.raises(InvalidInput):
            answer(lore, said)
    assert set(states(lore).values()) == {"pending"}


# Instincts and skills


def test_an_instinct_is_added_by_its_own_rules(world_of: World) -> None:
    world_of.write(
        ".agents/instincts.yaml",
        "version: 1\ninstincts:\n  - id: inst-1\n    rule: Never use uv here instead of pip\n    confidence: 0.7\n",
    )
    lore = world_of.open()
    [proposal] = lore.reflect(items=[MICRO]).proposals
    assert proposal.conflict == "inst-1: Never use uv here instead of pip"
    answer(lore, "Y")
    held = {one.instinct.rule: one.instinct.confidence for one in lore.instincts.show().held}
    assert held == {"Never use uv here instead of pip": 0.5, "Always use uv here instead of pip": 0.5}


def test_a_skill_goes_to_the_folder_of_its_client(world_of: World) -> None:
    claude = world_of.open(ALICE)
    made = claude.reflect(items=[SKILL])
    assert [item.target for item in made.proposals] == [".agents/skills/mount-secrets/SKILL.md"]
    answer(world_of.open(), "s1")
    text = (world_of.project / ".agents/skills/mount-secrets/SKILL.md").read_text()
    assert text.startswith("---\nname: mount-secrets\ndescription: ")
    assert "2. Wait for it" in text


# Forgetting


def test_forgetting_a_session_takes_its_proposals_and_undo_brings_them_back(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[RULE], session="s1")
    lore.forget_origin(session="s1")
    assert lore.reflections.open() == ()
    lore.undo()
    assert len(lore.reflections.open()) == 1


def test_erasing_a_session_leaves_no_word_of_its_proposals(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[RULE, NOTE], session="s1")
    lore.forget_origin(session="s1", erase=True)
    assert states(lore) == {}
    with lore.acting():
        assert lore.store.reflections(lore.caller, "s1") == []
    lore.close()
    if not lore.settings.store.url:
        for path in (world_of.folder / "home").rglob("*"):
            assert not path.is_file() or b"whole test suite" not in path.read_bytes(), path


def test_erasing_a_memory_takes_the_proposal_with_it_that_says_the_same(world_of: World) -> None:
    lore = world_of.open()
    lore.reflect(items=[RULE, NOTE])
    kept = lore.remember(str(RULE["text"])).memory
    lore.forget(kept.id, erase=True)
    assert list(states(lore)) == ["k1"]


# Whole sessions


@pytest.mark.parametrize(("name", "client"), [("claude.jsonl", "claude"), ("codex.jsonl", "codex"), ("talk.txt", "")])
def test_a_long_session_end_to_end(world_of: World, name: str, client: str) -> None:
    path = DATA / name
    lore = world_of.open()
    made = lore.reflect(path.read_text(), path=str(path))
    assert made.client == client
    assert made.signals["high"] >= 4
    assert len(made.proposals) >= 4
    told = " ".join(item.text for item in made.proposals).lower()
    for alarm in ("never mind", "not wrong", "should we always", "for layout", "always look at node_modules"):
        assert alarm not in told
    episode = world_of.learnings / made.episode
    assert episode.read_text().count("## ") == 3
    shown = lore.reflections.open()
    before = world_of.commits()
    answer(lore, shown[0].label)
    assert world_of.commits() == before + 1
    assert lore.reflect(path.read_text(), path=str(path)).proposals == ()
    metrics = lore.reflections.status()["metrics"]
    assert (metrics.sessions, metrics.accepted, metrics.proposed) == (1 if client else 2, 1, len(made.proposals))
    git(world_of.project, "revert", "--no-edit", "HEAD")


def test_the_transcripts_of_all_clients_can_be_reflected_on(world_of: World) -> None:
    folder = DATA / "clients" / "transcripts"
    lore = world_of.open()
    found = {}
    for path in sorted(folder.glob("*/*.json*")):
        made = lore.reflect(path.read_text(encoding="utf-8", errors="replace")[:900_000], path=str(path))
        found.setdefault(path.parent.name, set()).add(made.client)
    assert {client: clients for client, clients in found.items() if client not in clients} == {}


def test_the_newest_session_is_taken_and_then_the_one_before(world_of: World) -> None:
    lore = world_of.open()
    for number, name in enumerate(("codex", "claude")):
        lore.start_session(name, client=name, transcript=str(DATA / f"{name}.jsonl"), last_at=100.0 + number)
    taken = [lore.reflect().session for _ in range(2)]
    assert sorted(taken) == ["claude", "codex"]
    with pytest.raises(NotFound, match="no session"):
        lore.reflect()
    assert lore.reflect(session="claude").session == "claude"
    with pytest.raises(NotFound):
        lore.reflect(session="elsewhere")


def test_metrics_count_each_thing_once_and_keep_what_a_person_wrote(world_of: World) -> None:
    world_of.learnings.mkdir()
    (world_of.learnings / "metrics.yaml").write_text("# ours\nteam: blue\ntotal_sessions_analyzed: 4\n")
    lore = world_of.open()
    lore.reflect(items=[RULE, NOTE])
    answer(lore, "Y")
    lore.reflections.finish()
    text = (world_of.learnings / "metrics.yaml").read_text()
    assert text.startswith("# ours\nteam: blue\ntotal_sessions_analyzed: 5\n")
    metrics = lore.reflections.status()["metrics"]
    assert (metrics.sessions, metrics.proposed, metrics.accepted) == (5, 2, 2)
    assert (metrics.types, metrics.agents) == ({"behavioral": 1, "knowledge": 1}, {"AGENTS": 1})


def test_an_older_tools_state_is_read_and_not_written(world_of: World) -> None:
    folder = world_of.user / ".reflect"
    folder.mkdir()
    text = "auto_reflect: true\npending_low_confidence:\n  - learning: Maybe cache the rates\n"
    (folder / "reflect-state.yaml").write_text(text)
    lore = world_of.open()
    assert (lore.reflections.auto, lore.reflections.status()["older_pending"]) == (True, 1)
    assert lore.reflections.take_over() is not None
    assert lore.reflections.take_over() is None
    assert [item.title for item in lore.reflections.open(low=True)] == ["Maybe cache the rates"]
    assert (folder / "reflect-state.yaml").read_text() == text


def test_items_may_be_json(world_of: World) -> None:
    assert len(world_of.open().reflect(items=json.dumps({"items": [RULE]})).proposals) == 1
