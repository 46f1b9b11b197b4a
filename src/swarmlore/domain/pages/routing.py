"""Where a lesson belongs: an agent's file, a note, a new skill, the instincts, MEMORY.md, or nowhere yet. Pure.

| what it is | where it goes |
|---|---|
| how an agent should work: a correction, a preference | behavioral: the agent's file |
| a cause, a fix, a technique, a decision with its reason | knowledge: a note |
| the same, met several times or called so, with a fix | knowledge and skill |
| one short sentence that names tools, commands, flags | instinct |
| a gotcha, a term or a rule of this project; unsure, of a known topic | memory: a section of MEMORY.md |
| unsure, and of nothing in particular | review: only shown when somebody asks |
| nothing that could be followed ("Perfect!") | none: counted |
"""

from __future__ import annotations

from swarmlore.domain.extraction import signal_phrases as phrases
from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.session_lessons import Lesson
from swarmlore.domain.extraction.signal_phrases import LOW
from swarmlore.domain.extraction.statement_score import content_of
from swarmlore.domain.extraction.topics import UNKNOWN, names_tool
from swarmlore.frozen import frozen

SECTIONS = (
    "Architecture & Patterns",
    "Build & Deploy",
    "Gotchas & Workarounds",
    "Testing",
    "Environment & Config",
)


ROUTES = ("behavioral", "knowledge", "skill", "instinct", "memory", "review", "none")
ARCHITECTURE, BUILD, GOTCHAS, TESTING, ENVIRONMENT = SECTIONS
RECURRING = 2  # sessions in which the same was met
MICRO_CHARS = 110
_LEAST_CONTENT = 2
_LEAST_EFFORT = 5

_ORDER = (
    r"^(?:(?:please|also|and|but|in future|from now on|here|for \w+|when|if|before|after"
    r"|whenever)\b[^;]{0,60}?,? ?)?(?:always|never|don't"
    r"|do not|stop|avoid|use|run|call|put|keep|write|prefer|make sure|be sure|remember to|ask|only|no|name|add|say"
    r"|answer|pass|go"
    r"|start|commit|squash|rebase|mark|set|follow|check|leave|work|think|read|commit|return|throw|log|install|pin"
    r"|quit"
    r"|wait|explain"
    r"|show|give|tell|treat|test|document|let|do|sort|hash|regenerate|continue|stick)\b"
    r"|\b(?:must|should|shouldn't|mustn't|shall|always|never|may not|have to|has to|need to|needs to|don't|do not"
    r"|required|forbidden|niemals|nie|immer|jamais|toujours|nunca|siempre"
    r"|not allowed|prohibited|make sure|the rule is|convention|rule of thumb|i want you to|supposed to|whenever)\b"
)
_EMPTY = (
    r"\b(?:wrong|incorrect|correct|right|told|already|twice|again|many|times|said|like|exactly|perfect|great|good"
    r"|nice"
    r"|job|work|well|done|excellent|thanks|thank|way|round|other|tell|repeat|say|need|figured|found|stop|want|wanted"
    r"|meant|file|one"
    r"|looks|love)\b"
)
_MANNER = (
    r"(?:don't|do not|never|always|stop|avoid|be|answer|ask|just)\b"
    r" (?:be(?:ing)? (?:so |too |that )?\w{3,}|(?!like\b|again\b|that\b|this\b)\w{4,})"
)
_STATED = (
    r"\b(?:is|are|isn't|aren't|was|were|has|have|lives?|uses?|listens?|runs?|means?|comes?|goes|sits?|returns?"
    r"|expects?|takes?|gets?"
    r"|belongs?|holds?|contains?|needs?|not)\b"
)
_REASON = (
    r"\b(?:because|since|as (?:it|the|we|they|that|this|every|there)|so that|otherwise|due to|in order to|to avoid"
    r"|over|needs?|needed"
    r"|instead of|rather than|given that|that way)\b|, (?:so|which|it|the|they|that|this|we|and|\w+ (?:needed|needs"
    r"|is"
    r"|are|was|has"
    r"|had|changes|breaks|costs?))\b|[–—:;] \w|\bhas to\b"
)
_OF_THE_PROJECT = (
    r"\bthe [\w-]+ (?:[\w-]+ ){0,2}(?:seems?|appears?)\b|"
    r"\b(?:our|ours|here|in this (?:repo(?:sitory)?|project|code ?base|package|module|app|workspace)"
    r"|this (?:repo(?:sitory)?|project"
    r"|code ?base|service|script|tool|app|workspace)|that (?:script|service|tool)|we|us)\b"
    r"|\b(?:the|a|an|its) (?:[\w.-]+ ){0,3}(?:service|package|module|app|script|api|image|database|table|queue|schema"
    r"|repo|build"
    r"|makefile|pipeline|deploy|branch|consumer|scheduler|worker|config|server|cluster|job|release|project|job"
    r"|dev script|bucket)\b"
)
_CONSEQUENCE = r"(?:the|our|this|that|its?) [^,;]{5,120}[,;] so (?:you|we|it|they|the)\b"
_REMEMBERED = (
    r"(?:keep|bear) (?:that |this |it )?in mind|remember (?:that|this|it)|you should know|don't forget (?:that|this"
    r"|it)"
)
# What documents and messages do not tell, or tell wrongly: worth knowing anywhere.
_HIDDEN = (
    r"\b(?:docs?|documentation|manual|readme|reference|undocumented|documented|error|errors|message|messages"
    r"|misleading"
    r"|silently|red herring|contrary|in practice|known bug|bug in|doku|la doc)\b"
)
_SECTION_WORDS = (
    (TESTING, r"tests?|testing|test suite|fixtures?|coverage|mocks?|pytest|jest|vitest|playwright|cypress|specs?|flaky"
              r"|snapshots?"),
    (ENVIRONMENT, r"env(?:ironment)?(?: var\w*)?|config\w*|ports?|installed|installer|jdk|node \d\S*|python \d\S*"
                  r"|localhost|host|hosts"
     r"|proxy|certificates?|credentials?|settings?|variables?|version|versions|time ?zone|locale|gcc|gnu|sdk|tokens?"
     r"|secrets?|linux|macos"
     r"|windows|graphviz|libpq"),
    (BUILD, r"build\w*|built|deploy\w*|releas\w+|ci|pipelines?|docker\w*|images?|compil\w+|bundl\w+|lock ?files?"
            r"|gradle|maven|cargo"
     r"|webpack|vite|branch|branches|merg\w+|migrations?|make|npm|pnpm|yarn|packag(?:e|es|ing)|containers?|mkdocs"),
)  # fmt: skip
_EVERYWHERE = (
    r"\b(?:in (?:every|all|any) projects?|everywhere|in general|in all (?:my|our) (?:projects|repos)"
    r"|across projects|globally)\b"
)
_STACK = (
    r"\b(?:in|for|with|of) (?:all |the |our )?(?:python|typescript|javascript|rust|go|java|kotlin|swift|ruby|php"
    r"|c\+\+"
    r"|sql|css|react|vue"
    r"|django|rails|bash)\b"
)


@frozen
class Context:
    """What is known around a lesson: the project, names that only it has, files touched, how often the same was met."""

    project: str = ""
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    seen: int = 1
    agent: str = ""


NOWHERE = Context()


@frozen
class Route:
    """Where a lesson goes, the chief place first, and why."""

    targets: tuple[str, ...]
    section: str = ""
    reason: str = ""
    scope: str = "project"

    @property
    def target(self) -> str:
        return self.targets[0]


def route(lesson: Lesson, context: Context = NOWHERE) -> Route:
    """Where a lesson belongs."""
    if not says_something(lesson):
        return Route(("none",), reason="it says nothing that could be followed")
    if lesson.speaker == "user" and lesson.way in ("rule", "correction", "advice", "keep", "praise"):
        return _of_a_person(lesson, context)
    if lesson.level == LOW or lesson.way in ("guess", "change", "observation"):
        return _unsure(lesson, context)
    if lesson.way == "note":
        return _memory(lesson, "what to know about this project")
    if lesson.way == "caveat":
        return _caveat(lesson, context)
    return _found_out(lesson, context)


def says_something(lesson: Lesson) -> bool:
    """Whether there is anything left beside praise, blame and what they point at."""
    low = lesson.text.lower().replace("’", "'")
    bare = compiled(_EMPTY).sub(" ", low)
    if lesson.way == "praise":
        judged = (
            compiled(
                r"(?:works?|looks?|reads?|merg\w+|ship|(?:that|this|it)(?:'s| is| looks?| works?| was|$))\b"
            ).match(low)
            is not None
        )
        return lesson.category != UNKNOWN and len(content_of(bare)) >= _LEAST_CONTENT and not judged
    if lesson.way == "effort":
        return len(content_of(bare)) > _LEAST_EFFORT or (
            compiled(_REASON + r"|\b(?:that|to (?:find|see|notice|learn)|before|until|on)\b").search(bare) is not None
            and (len(content_of(bare)) > _LEAST_CONTENT)
        )
    if lesson.way == "guess":
        return True
    return len(content_of(bare)) >= _LEAST_CONTENT or names_tool(lesson.text) or "`" in lesson.text or _is_manner(low)


def _is_manner(low: str) -> bool:
    """Whether it is an order about how to behave, however few its words: "Don't apologise.", "Never guess."."""
    return compiled(_MANNER).match(low) is not None


# --- what a person wants


def _of_a_person(lesson: Lesson, context: Context) -> Route:
    low = lesson.text.lower().replace("’", "'")
    orders = _orders(lesson, low)
    if lesson.category == "Domain":
        return _memory(lesson, "a term or a rule of the business")
    if lesson.category == "New Skill":
        return Route(("skill",), reason="a procedure to be followed step by step", scope=scope_of(low))
    if is_micro_rule(lesson, orders):
        return Route(("instinct",), reason="one short rule that names its tools", scope=scope_of(low))
    if orders:
        return Route(("behavioral",), reason="how an agent should work", scope=scope_of(low))
    if compiled(r"i\b|as i|told").match(lesson.cue) and not compiled(_STATED).search(low):
        return Route(("behavioral",), reason="what an agent was told before", scope=scope_of(low))
    return _memory(lesson, "a fact about this project that a person put right")


def _orders(lesson: Lesson, low: str) -> bool:
    """Whether it says what to do; a fact that is to be remembered, or that has consequences, does not."""
    if lesson.way in ("keep", "praise", "advice"):
        return True
    if compiled(_CONSEQUENCE).match(low):
        return False
    if lesson.way == "rule" and not compiled(_REMEMBERED).match(lesson.cue):
        return True
    return compiled(_ORDER).search(compiled(_REMEMBERED).sub(" ", low)) is not None


def is_micro_rule(lesson: Lesson, orders: bool = True) -> bool:
    """Whether a lesson is one short rule about tools, commands or flags."""
    text = lesson.text
    names = names_tool(text) or compiled(r"`[^`]{2,60}`").search(text) is not None
    contrasts = compiled(r"\bnot\b|\binstead of\b|\brather than\b").search(text.lower()) is not None
    fits = len(text) <= MICRO_CHARS and text.count(". ") == 0
    return fits and names and (orders or contrasts) and lesson.category in ("Tools", "Code Style", UNKNOWN)


def scope_of(low: str) -> str:
    """How far a rule reaches, as far as it says."""
    if compiled(_EVERYWHERE).search(low):
        return "universal"
    return "domain" if compiled(_STACK).search(low) else "project"


# --- what was found out


def _found_out(lesson: Lesson, context: Context) -> Route:
    low = lesson.text.lower()
    if _has_fix(lesson) and (context.seen >= RECURRING or compiled(phrases.RECURRING).search(low)):
        met = f"was met in {context.seen} sessions" if context.seen >= RECURRING else "comes up again and again"
        return Route(("knowledge", "skill"), reason=f"a fix for what {met}", scope=scope_of(low))
    if lesson.way == "decision" and not compiled(_REASON).search(low):
        return _memory(lesson, "a decision of this project, without its reason")
    if lesson.speaker == "tool":
        return _memory(lesson, "what a command needs in this project", GOTCHAS)
    kinds = {
        "decision": "a decision and its reason",
        "cause": "what caused a failure",
        "fix": "what overcame a failure",
    }
    return Route(("knowledge",), reason=kinds.get(lesson.way, "something that was found out"), scope=scope_of(low))


def _has_fix(lesson: Lesson) -> bool:
    fixed = r"\b(?:fix(?:ed)?|solved|resolved|solution|workaround|helped|by (?:\w+ing|setting)|works)\b"
    return lesson.way == "fix" or compiled(fixed).search(lesson.text.lower()) is not None


def _caveat(lesson: Lesson, context: Context) -> Route:
    """What a program needs is the project's matter; what its documents hide is worth a note for everybody."""
    low = lesson.text.lower()
    if compiled(
        r"\b(?:requires?|needs?|only (?:works?|runs?|builds?)|just works?|has to be run|breaks?|won't work)\b"
    ).search(low):
        return _memory(lesson, "what this project needs to work")
    if lesson.speaker == "user" and not compiled(_HIDDEN).search(low):
        return _memory(lesson, "what to mind in this project")
    if lesson.kind == "gap":
        return _memory(lesson, "what this project lacks", GOTCHAS)
    return Route(("knowledge",), reason="what the documents do not say", scope=scope_of(low))


def _unsure(lesson: Lesson, context: Context) -> Route:
    if (lesson.way == "guess" and lesson.category != UNKNOWN) or _is_of_the_project(lesson, context):
        return _memory(lesson, "unsure, and about this project")
    return Route(("review",), reason="unsure, and of nothing in particular")


def _is_of_the_project(lesson: Lesson, context: Context) -> bool:
    low = lesson.text.lower()
    named = any(name and compiled(rf"(?<!\w){_escaped(name.lower())}(?!\w)").search(low) for name in context.names)
    stated = lesson.way == "observation" and (lesson.speaker == "user" or lesson.category == "Domain")
    if named or stated or lesson.way == "change":
        return lesson.category != UNKNOWN or named
    return lesson.category != UNKNOWN and compiled(_OF_THE_PROJECT).search(low) is not None


def _escaped(name: str) -> str:
    import re  # only where names are known

    return re.escape(name[:80])


# --- where in MEMORY.md


def _memory(lesson: Lesson, reason: str, section: str = "") -> Route:
    return Route(("memory",), section or section_of(lesson), reason)


def section_of(lesson: Lesson) -> str:
    """The section of MEMORY.md in which somebody would look for it."""
    low = lesson.text.lower()
    if lesson.category in ("Domain", "Architecture"):
        return ARCHITECTURE
    for section, words in _SECTION_WORDS:
        if compiled(rf"(?<![\w-])(?:{words})(?![\w-])").search(low):
            return section
    return ARCHITECTURE if lesson.category in ("Code Style", "New Skill") else GOTCHAS
