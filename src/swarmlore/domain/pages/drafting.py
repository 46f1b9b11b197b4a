"""Draft proposals from a lesson by heuristics: note, agent file rule, instinct, MEMORY.md entry or skill.

Nothing is invented: every sentence of a draft quotes the session or tells where it comes from. No word is cut in
half. An LLM may write better drafts; these are used when there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.corrections import asks_for_work, is_report, is_trouble
from swarmlore.domain.extraction.fixes import error_excerpt
from swarmlore.domain.extraction.lesson_text import CONFIDENCE_VALUES
from swarmlore.domain.extraction.message_text import QUOTED, sentences
from swarmlore.domain.extraction.session_lessons import Lesson
from swarmlore.domain.extraction.signals import scan
from swarmlore.domain.extraction.topics import names_tool
from swarmlore.domain.language.display import short_slug, shortened
from swarmlore.domain.pages.instincts import ORIGINS
from swarmlore.domain.pages.routing import NOWHERE, Context, scope_of, section_of
from swarmlore.domain.policy.contradiction import infer_tags
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any


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
    """Return the language of most of these files; else of the files named in the text; else the language it names."""
    counted = _count_languages(list(files)[:MOST_FILES]) or _count_languages(compiled(_FILE).findall(text)[:MOST_FILES])
    if counted:
        return counted.most_common(1)[0][0]
    named = compiled(_WORDS).search(text.lower())
    return _SPELLED.get(named[1], named[1]) if named else ""


def _count_languages(names: Iterable[str]) -> Counter[str]:
    """Count the programming languages of file names by their extensions."""
    endings = (name.rpartition("/")[2].rpartition(".")[2].lower() for name in names if "." in name)
    return Counter(_BY_ENDING[ending] for ending in endings if ending in _BY_ENDING)


def framework_of(text: str) -> str:
    """Return the framework that a text names first, or ""."""
    named = _names_in(text, _FRAMEWORKS)
    return named[0] if named else ""


def tags_of(text: str) -> tuple[str, ...]:
    """Return search tags for a text: the frameworks and tools it names, then its topics."""
    topics = [tag for tag in infer_tags(text) if tag not in ("opencode-swarm", "todo")]
    return tuple(dict.fromkeys([*_names_in(text, (*_FRAMEWORKS, *_TOOLS)), *topics]))


def _names_in(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that occur in a text as whole words, in order of appearance."""
    escaped = "|".join(name.replace(".", r"\.?") for name in names)
    found = compiled(rf"(?<![\w./-])(?:{escaped})(?![\w-])").findall(text.lower())
    return list(dict.fromkeys(_AS_TAGS.get(word, word) for word in found if word != "make" or "`make" in text.lower()))


TITLE_CHARS = 110
SYMPTOM_CHARS = 200
MOST_SYMPTOMS = 3
NAME_CHARS = 50
DESCRIPTION_CHARS = 300
MOST_TAGS = 8
_LEAST_REQUEST = 4  # words: "fix it please" is too short to describe a request
_PROMPT_CHARS = 2_000
_EXPLAINING_WAYS = ("cause", "found", "fix")
_QUOTATION = r"[\"“„«`]([^\"“”„«»`\n]{10,200})[\"”«»`]"
_UNSAID, _NO_FIX = "What led to it was not said.", "No fix was named beside it."
NOT_SAID = (_UNSAID, _NO_FIX)
_DESCRIBING = ("cause", "found", "caveat", "effort")  # ways of lessons that describe a problem, not what to do

# Opening phrases of a finding, which titles and causes leave out.
_OPENING = (
    r"^(?:(?:so|ah|ok(?:ay)?|yes|well|and|but|it|this|then)[,:]? )*(?:(?:the )?(?:real |actual |underlying "
    r"|true )?(?:root causes?|issue|problem|bug|culprit|cause|reason|fix|solution|trick|workaround)(?: (?:was|is"
    r"|turned out to be)(?: that| to)?|:)|(?:it )?(?:turns|turned) out(?: that)?:?|found it:?"
    r"|(?:i )?figured (?:it )?out(?: (?:that|why)|,|:)?|(?:was |is )?(?:fixed|resolved|solved) by|lessons? learn(?:ed"
    r"|t):|discovered that|found out (?:that|why))\s+"
)
# Opening phrases of a decision, which the title leaves out: the note tells who decided.
_CHOOSING = (
    r"^(?:i|we)(?:'ve| have|'ll)? (?:finally )?(?:went with|go with|chose(?: to)?|decided (?:to|on)|opted for"
    r"|settled on|picked)\s+"
)
_BECAUSE = r"\b(?:because|since|caused by|due to)\s+(?:of\s+)?(.{10,300})$"
_CAUSE = (
    r"(?:root causes?|issue|problem|bug|culprit|cause|reason)\b(?: (?:was|is|turned out to be)(?: that)?"
    r"|:)\s+(.{8,400})$"
)
_NOTE_CATEGORIES = (
    ("performance-issues", r"slow\w*|latency|performance|memory leaks?|throughput|out of memory|oom|times? out|n\+1"),
    ("database-migrations", r"migrations?|migrate|alter (?:table|type)|schema change"),
    (
        "security-fixes",
        r"secrets?|passwords?|xss|csrf|injection|vulnerab\w+|auth|tokens?|permissions?|certificates?|cors|cookies?",
    ),
    ("testing-patterns", r"tests?|testing|fixtures?|mocks?|flaky|pytest|jest|vitest|coverage"),
    ("deployment-fixes", r"deploy\w*|kubernetes|k8s|helm|ingress|rollout|release|production|staging"),
    ("build-errors", r"build|builds|compil\w+|linker|bundl\w+|webpack|vite|docker(?:file)?|layer|ci|pipeline"),
    (
        "dependency-issues",
        r"dependenc(?:y|ies)|lock ?file|pinn(?:ed|ing)|package version|hoist\w*|peer|setuptools|upgrad\w+",
    ),
    ("api-integrations", r"api|apis|webhooks?|endpoints?|http|rest|graphql|grpc|header|vendor"),
    ("ui-patterns", r"css|layout|buttons?|component|render\w*|scroll|fonts?|browser"),
    ("tooling-setup", r"install\w*|config\w*|editor|cli|shell|flags?|environment|node|npm|pip"),
)
_INSTINCT_CATEGORIES = {"Tools": "tooling", "Code Style": "style", "Architecture": "architecture"}


@frozen
class NoteDraft:
    """A proposed note: its front matter and its body."""

    title: str
    category: str
    key_insight: str
    body: str
    tags: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    root_cause: str = ""
    confidence: float = 0.6
    language: str = ""
    framework: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """Return the front matter without the date and without empty fields."""
        level = next(word for word, value in CONFIDENCE_VALUES.items() if self.confidence >= value)
        listed = {"tags": list(self.tags), "symptoms": list(self.symptoms), "root_cause": self.root_cause}
        more = {
            "key_insight": self.key_insight,
            "confidence": level,
            "language": self.language,
            "framework": self.framework,
        }
        values = {"title": self.title, "category": self.category, **listed, **more}
        return {name: value for name, value in values.items() if value}


@frozen
class RuleDraft:
    """A proposed rule for an agent file, as a sentence and as a list line."""

    rule: str
    line: str


@frozen
class InstinctDraft:
    """A proposed instinct, and how it was learned."""

    rule: str
    scope: str
    category: str
    source: str
    origin: str
    confidence: float


@frozen
class MemoryDraft:
    """A proposed entry of MEMORY.md, in one line."""

    section: str
    entry: str


@frozen
class SkillDraft:
    """A proposed skill: name, description, steps, and the text of its whole file."""

    name: str
    description: str
    steps: tuple[str, ...]
    body: str


AnyDraft = NoteDraft | RuleDraft | InstinctDraft | MemoryDraft | SkillDraft


def draft(lesson: Lesson, target: str, context: Context = NOWHERE, section: str = "") -> AnyDraft | None:
    """Draft the proposal for a lesson at one target of its route; None for targets that are only counted."""
    lesson = _scrubbed(lesson)
    if target == "knowledge":
        return draft_note(lesson, context)
    if target == "skill":
        return draft_skill(lesson, context)
    if target == "behavioral":
        return RuleDraft(one_line(lesson.text), f"- {one_line(lesson.text)}")
    if target == "instinct":
        return draft_instinct(lesson)
    if target == "memory":
        return MemoryDraft(section or section_of(lesson), one_line(lesson.text))
    return None


def _scrubbed(lesson: Lesson) -> Lesson:
    """Return a lesson with its secrets redacted again, since other people read proposals."""
    texts = {name: scrub_text(getattr(lesson, name)) for name in ("text", "fix", "quote", "situation")}
    return replace(lesson, **texts)


def one_line(text: str) -> str:
    """Put a sentence on one line and end it with a full stop."""
    text = " ".join(text.split())
    return text if not text or text[-1] in ".!?…" else f"{text}."


# --- notes


def draft_note(lesson: Lesson, context: Context = NOWHERE) -> NoteDraft:
    """Draft a note that says what went wrong, what helped, and where it happened."""
    files = (*lesson.files, *context.files)
    words = f"{lesson.text} {lesson.fix} {lesson.situation}"
    language = language_of(files, words)
    framework = framework_of(words)
    named = [name for name in (language, framework) if name]
    return NoteDraft(
        title=title_of(lesson),
        category=note_category(lesson),
        key_insight=one_line(f"{lesson.text} {lesson.fix}"),
        body=_body(lesson, context),
        tags=tuple(dict.fromkeys([*named, *tags_of(f"{lesson.text} {lesson.fix}")]))[:MOST_TAGS],
        symptoms=symptoms_of(lesson),
        root_cause=root_cause_of(lesson),
        confidence=CONFIDENCE_VALUES.get(lesson.level, 0.6),
        language=language,
        framework=framework,
    )


def title_of(lesson: Lesson) -> str:
    """Return a title for a lesson: its text without the opening phrase, cut at a clause if it is too long."""
    text = compiled(_CHOOSING, 2).sub("", compiled(_OPENING, 2).sub("", lesson.text))
    text = compiled(r"^because (?:of )?(?=\w+ \w)", 2).sub("", text)
    text = " ".join(text.split()).rstrip(".!…,;: ")
    if len(text) > TITLE_CHARS:
        text = _first_clauses(text)
    return _capital(text)


def _capital(text: str) -> str:
    """Capitalise the first letter of a text, unless it begins with a name, which keeps its spelling."""
    word = text.split(" ", 1)[0].rstrip(",;:.!?").replace("'", "")
    plain = word.isalpha() and word.islower() and not names_tool(word)
    return text[:1].upper() + text[1:] if plain else text


def _first_clauses(text: str) -> str:
    """Return as many clauses as fit into a title, or as many words if the first clause is too long."""
    ends = [cut.start() for cut in compiled(r"[;,](?= )| [–—-] | because | so that ").finditer(text[:TITLE_CHARS])]
    fits = [end for end in ends if end >= TITLE_CHARS // 4]
    return text[: fits[-1]].rstrip(" ,;:") if fits else shortened(text, TITLE_CHARS)


def note_category(lesson: Lesson) -> str:
    """Return the folder of notes in which a reader would look for this lesson."""
    if lesson.way == "decision":
        return "architecture-decisions" if lesson.category == "Architecture" else "decisions"
    if lesson.way in ("rule", "keep", "advice"):
        denies = compiled(r"\b(?:never|don't|do not|avoid|stop|must not|mustn't)\b").search(lesson.text.lower())
        return "anti-patterns" if denies else "patterns"
    low = f"{lesson.text} {lesson.fix}".lower()
    fits = (name for name, words in _NOTE_CATEGORIES if compiled(rf"(?<![\w-])(?:{words})(?![\w-])").search(low))
    return next(fits, "debugging-sessions")


def symptoms_of(lesson: Lesson) -> tuple[str, ...]:
    """Return the key lines of the error behind a lesson, or the failure messages that the user quoted."""
    if not lesson.situation:
        return ()
    if lesson.situation_via == "error":
        lines = [line.strip() for line in error_excerpt(lesson.situation).splitlines() if line.strip()]
    else:
        lines = _quoted_trouble(lesson)
    return tuple(dict.fromkeys(shortened(line, SYMPTOM_CHARS) for line in lines))[:MOST_SYMPTOMS]


def _quoted_trouble(lesson: Lesson) -> list[str]:
    """Return the quotations in a failure report by a person, if a cause or a fix was found for it."""
    if lesson.way not in _EXPLAINING_WAYS or not is_trouble(lesson.situation):
        return []
    return [found.strip() for found in compiled(_QUOTATION, 2).findall(lesson.situation[:_PROMPT_CHARS])]


def root_cause_of(lesson: Lesson) -> str:
    """Return the cause that a lesson names, or ""."""
    text = " ".join(lesson.text.split())
    match = compiled(_CAUSE, 2).search(text) or (
        compiled(_BECAUSE, 2).search(text) if lesson.way != "decision" else None
    )
    if match is None and lesson.way not in ("cause", "found"):
        return ""
    cause = match[1] if match else compiled(_OPENING, 2).sub("", text)
    return one_line(_capital(cause))


def _body(lesson: Lesson, context: Context) -> str:
    """Return the body of a note: sections for problem, solution and context."""
    parts = (("Problem", _problem(lesson)), ("Solution", _solution(lesson)), ("Context", _background(lesson, context)))
    return "\n\n".join(f"## {heading}\n\n{text}" for heading, text in parts) + "\n"


def _problem(lesson: Lesson) -> str:
    """Describe the problem: the error or request that occurred, then the cause if the solution does not state it."""
    parts = []
    if lesson.situation and lesson.situation_via == "error":
        parts.append(f"This error came up:\n\n{fenced(lesson.situation)}")
    elif lesson.speaker != "user" and (request := request_in(lesson.situation)):
        parts.append(f"It came up while this was asked for:\n\n> {request}")
    if lesson.way in _DESCRIBING and (lesson.fix or lesson.way != "found"):
        parts.append(one_line(lesson.text))
    return "\n\n".join(parts) or _UNSAID


def request_in(prompt: str) -> str:
    """Return the request of a prompt: its first sentence that is no signal; or the whole line if it holds a
    quotation."""
    for sentence in sentences(prompt[:_PROMPT_CHARS], typed=True):
        if _is_request_or_report(sentence.text) and not scan(sentence.text):
            request = prompt.strip() if QUOTED in sentence.text and "\n" not in prompt.strip() else sentence.text
            return shortened(request, SYMPTOM_CHARS)
    return ""


def _is_request_or_report(sentence: str) -> bool:
    """Tell whether a sentence requests work or describes a behaviour; an aside does neither."""
    return len(sentence.split()) >= _LEAST_REQUEST and (
        is_trouble(sentence) or asks_for_work(sentence) or is_report(sentence)
    )


def _solution(lesson: Lesson) -> str:
    if lesson.way in _DESCRIBING and not lesson.fix:
        return _NO_FIX if lesson.way != "found" else one_line(lesson.text)
    return one_line(lesson.fix or lesson.text)


def _background(lesson: Lesson, context: Context) -> str:
    """Describe where a lesson was learned and how often it was met, as far as that is known."""
    who = {
        "user": "a person said it",
        "assistant": "an agent found it out",
        "tool": "a command that failed and one that worked show it",
    }
    facts = [
        f"Learned{f' in {context.project}' if context.project else ''}: {who.get(lesson.speaker, 'somebody said it')}."
    ]
    if context.seen > 1:
        facts.append(f"Met in {context.seen} sessions.")
    if files := tuple(dict.fromkeys(lesson.files))[:5]:
        facts.append(f"Files: {', '.join(f'`{name}`' for name in files)}.")
    return " ".join(facts)


def fenced(text: str) -> str:
    """Return a text as a fenced code block with a fence longer than any backtick run in it."""
    ticks = max((len(run) for run in compiled(r"`{3,}").findall(text)), default=2) + 1
    return f"{'`' * ticks}text\n{text.strip()}\n{'`' * ticks}"


# --- instincts and skills


def draft_instinct(lesson: Lesson) -> InstinctDraft:
    """Draft an instinct with the initial confidence of its origin."""
    low = lesson.text.lower()
    tests = compiled(r"\b(?:tests?|testing|pytest|jest|vitest|mocks?)\b").search(low)
    category = _INSTINCT_CATEGORIES.get(lesson.category, "convention")
    if lesson.category not in _INSTINCT_CATEGORIES and tests:
        category = "testing"
    corrected = lesson.speaker == "user" and lesson.way in ("rule", "correction")
    origin = "correction" if corrected else "approval" if lesson.way in ("keep", "praise") else "single"
    who = {"user": "A person said", "assistant": "An agent found out"}.get(lesson.speaker, "A command showed")
    source = f"{who}: {lesson.quote or shortened(lesson.text, TITLE_CHARS)}"
    return InstinctDraft(one_line(lesson.text), scope_of(low), category, source, origin, ORIGINS[origin])


def draft_skill(lesson: Lesson, context: Context = NOWHERE) -> SkillDraft:
    """Draft a skill for a recurring lesson: when to use it and which steps to take."""
    title, symptoms = title_of(lesson), symptoms_of(lesson)
    name = skill_name(title)
    when = f"when this shows up: {symptoms[0]}" if symptoms else f"when it is about this: {title}"
    description = one_line(shortened(f"Use {when}", DESCRIPTION_CHARS))
    steps = _steps(lesson, symptoms)
    return SkillDraft(name, description, steps, _skill_file(name, description, title, steps, lesson, context))


def skill_name(title: str) -> str:
    """Return a short file name for a skill, made of whole words of its title."""
    return short_slug(title, NAME_CHARS) or "learned-fix"


def _steps(lesson: Lesson, symptoms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the steps of a skill: check the symptom, know the cause, apply the fix."""
    first = (
        [f"Check that it is the same: `{symptoms[0]}`." if "`" not in symptoms[0] else symptoms[0]] if symptoms else []
    )
    cause = [one_line(lesson.text)] if lesson.fix else []
    return (*first, *cause, one_line(lesson.fix or lesson.text))


def _skill_file(
    name: str, description: str, title: str, steps: tuple[str, ...], lesson: Lesson, context: Context
) -> str:
    """Return the text of a skill file: front matter, title, steps and background."""
    import json  # every JSON string is a valid YAML string

    head = f"---\nname: {name}\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n"
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    return f"{head}\n# {title}\n\n## Steps\n\n{listed}\n\n## Background\n\n{_background(lesson, context)}\n"
