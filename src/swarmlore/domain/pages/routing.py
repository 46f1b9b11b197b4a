"""Decide where a lesson belongs: an agent file, a note, a new skill, the instincts, MEMORY.md, or nowhere yet.

| lesson | target |
|---|---|
| how an agent should work: a correction, a preference | behavioral: the agent file |
| a cause, a fix, a technique, a decision with its reason | knowledge: a note |
| the same, met in several sessions or called recurring, with a fix | knowledge and skill |
| one short sentence that names tools, commands, flags | instinct |
| a gotcha, a term or a rule of this project; uncertain, of a known topic | memory: a section of MEMORY.md |
| uncertain, of no known topic | review: shown on request only |
| nothing to follow ("Perfect!") | none: only counted |

"""

from __future__ import annotations

from swarmlore.domain.extraction import signal_phrases as phrases
from swarmlore.domain.extraction.correction_patterns import compiled
from swarmlore.domain.extraction.session_lessons import Lesson
from swarmlore.domain.extraction.signal_phrases import LOW
from swarmlore.domain.extraction.statement_score import content_of
from swarmlore.domain.extraction.topics import UNKNOWN, names_tool
from swarmlore.frozen import frozen

SECTIONS = ("Architecture & Patterns", "Build & Deploy", "Gotchas & Workarounds", "Testing", "Environment & Config")


ROUTES = ("behavioral", "knowledge", "skill", "instinct", "memory", "review", "none")
ARCHITECTURE, BUILD, GOTCHAS, TESTING, ENVIRONMENT = SECTIONS
RECURRING = 2  # sessions in which the same lesson was met
MICRO_CHARS = 110
_LEAST_CONTENT = 2
_LEAST_EFFORT = 5

_ORDER = (
    r"^(?:(?:please|also|and|but|in future|from now on|here|for \w+|when|if|before|after|whenever)\b[^;]{0,60}?,?"
    r" ?)?(?:always|never|don't|do not|stop|avoid|use|run|call|put|keep|write|prefer|make sure|be sure|remember to|ask"
    r"|only|no|name|add|say|answer|pass|go|start|commit|squash|rebase|mark|set|follow|check|leave|work|think|read"
    r"|commit|return|throw|log|install|pin|quit|wait|explain|show|give|tell|treat|test|document|let|do|sort|hash"
    r"|regenerate|continue|stick)\b|\b(?:must|should|shouldn't|mustn't|shall|always|never|may not|have to|has to"
    r"|need to|needs to|don't|do not|required|forbidden|niemals|nie|immer|jamais|toujours|nunca|siempre|not allowed"
    r"|prohibited|make sure|the rule is|convention|rule of thumb|i want you to|supposed to|whenever)\b"
)
_EMPTY = (
    r"\b(?:wrong|incorrect|correct|right|told|already|twice|again|many|times|said|like|exactly|perfect|great|good|nice"
    r"|job|work|well|done|excellent|thanks|thank|way|round|other|tell|repeat|say|need|figured|found|stop|want|wanted"
    r"|meant|file|one|looks|love)\b"
)
_MANNER = (
    r"(?:don't|do not|never|always|stop|avoid|be|answer|ask|just)\b"
    r" (?:be(?:ing)? (?:so |too |that )?\w{3,}|(?!like\b|again\b|that\b|this\b)\w{4,})"
)
_STATED = (
    r"\b(?:is|are|isn't|aren't|was|were|has|have|lives?|uses?|listens?|runs?|means?|comes?|goes|sits?|returns?|expects?"
    r"|takes?|gets?|belongs?|holds?|contains?|needs?|not)\b"
)
_REASON = (
    r"\b(?:because|since|as (?:it|the|we|they|that|this|every|there)|so that|otherwise|due to|in order to|to avoid|over"
    r"|needs?|needed|instead of|rather than|given that|that way)\b|, (?:so|which|it|the|they|that|this|we|and"
    r"|\w+ (?:needed|needs|is|are|was|has|had|changes|breaks|costs?))\b|[–—:;] \w|\bhas to\b"
)
_OF_THE_PROJECT = (
    r"\bthe [\w-]+ (?:[\w-]+ ){0,2}(?:seems?|appears?)\b|\b(?:our|ours|here|in this (?:repo(?:sitory)?|project"
    r"|code ?base|package|module|app|workspace)|this (?:repo(?:sitory)?|project|code ?base|service|script|tool|app"
    r"|workspace)|that (?:script|service|tool)|we|us)\b|\b(?:the|a|an|its) (?:[\w.-]+ ){0,3}(?:service|package|module"
    r"|app|script|api|image|database|table|queue|schema|repo|build|makefile|pipeline|deploy|branch|consumer|scheduler"
    r"|worker|config|server|cluster|job|release|project|job|dev script|bucket)\b"
)
_CONSEQUENCE = r"(?:the|our|this|that|its?) [^,;]{5,120}[,;] so (?:you|we|it|they|the)\b"
_REMEMBERED = (
    r"(?:keep|bear) (?:that |this |it )?in mind|remember (?:that|this|it)|you should know|don't forget (?:that|this|it)"
)
# Words for facts that documentation and messages omit or get wrong: useful in every project.
_HIDDEN = (
    r"\b(?:docs?|documentation|manual|readme|reference|undocumented|documented|error|errors|message|messages|misleading"
    r"|silently|red herring|contrary|in practice|known bug|bug in|doku|la doc)\b"
)
_SECTION_WORDS = (
    (TESTING, r"tests?|testing|test suite|fixtures?|coverage|mocks?|pytest|jest|vitest|playwright|cypress|specs?|flaky"
              r"|snapshots?"),
    (ENVIRONMENT, r"env(?:ironment)?(?: var\w*)?|config\w*|ports?|installed|installer|jdk|node \d\S*|python \d\S*"
                  r"|localhost|host|hosts|proxy|certificates?|credentials?|settings?|variables?|version|versions"
                  r"|time ?zone|locale|gcc|gnu|sdk|tokens?|secrets?|linux|macos|windows|graphviz|libpq"),
    (BUILD, r"build\w*|built|deploy\w*|releas\w+|ci|pipelines?|docker\w*|images?|compil\w+|bundl\w+|lock ?files?"
            r"|gradle|maven|cargo"
     r"|webpack|vite|branch|branches|merg\w+|migrations?|make|npm|pnpm|yarn|packag(?:e|es|ing)|containers?|mkdocs"),
)  # fmt: skip
_EVERYWHERE = (
    r"\b(?:in (?:every|all|any) projects?|everywhere|in general|in all (?:my|our) (?:projects|repos)"
    r"|across projects|globally)\b"
)
_STACK = (
    r"\b(?:in|for|with|of) (?:all |the |our )?(?:python|typescript|javascript|rust|go|java|kotlin|swift|ruby|php|c\+\+"
    r"|sql|css|react|vue|django|rails|bash)\b"
)


@frozen
class Context:
    """Surroundings of a lesson: project, names unique to it, files touched, number of sessions that met it."""

    project: str = ""
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    seen: int = 1
    agent: str = ""


NOWHERE = Context()


@frozen
class Route:
    """The targets of a lesson, the main one first, and the reason."""

    targets: tuple[str, ...]
    section: str = ""
    reason: str = ""
    scope: str = "project"

    @property
    def target(self) -> str:
        return self.targets[0]


def route(lesson: Lesson, context: Context = NOWHERE) -> Route:
    """Return the targets to which a lesson belongs, and why."""
    if not says_something(lesson):
        return Route(("none",), reason="it says nothing that could be followed")
    if lesson.speaker == "user" and lesson.way in ("rule", "correction", "advice", "keep", "praise"):
        return _route_request(lesson)
    if lesson.level == LOW or lesson.way in ("guess", "change", "observation"):
        return _route_uncertain(lesson, context)
    if lesson.way == "note":
        return _memory_route(lesson, "what to know about this project")
    if lesson.way == "caveat":
        return _route_caveat(lesson)
    return _route_finding(lesson, context)


def says_something(lesson: Lesson) -> bool:
    """Tell whether a lesson has content beside praise, blame and words that only point at something."""
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
    """Tell whether a text is an order about behaviour, however short: "Don't apologise.", "Never guess."."""
    return compiled(_MANNER).match(low) is not None


# --- requests of a person


def _route_request(lesson: Lesson) -> Route:
    """Route a rule, correction, advice or praise of a person."""
    low = lesson.text.lower().replace("’", "'")
    orders = _orders(lesson, low)
    if lesson.category == "Domain":
        return _memory_route(lesson, "a term or a rule of the business")
    if lesson.category == "New Skill":
        return Route(("skill",), reason="a procedure to be followed step by step", scope=scope_of(low))
    if is_micro_rule(lesson, orders):
        return Route(("instinct",), reason="one short rule that names its tools", scope=scope_of(low))
    if orders:
        return Route(("behavioral",), reason="how an agent should work", scope=scope_of(low))
    if compiled(r"i\b|as i|told").match(lesson.cue) and not compiled(_STATED).search(low):
        return Route(("behavioral",), reason="what an agent was told before", scope=scope_of(low))
    return _memory_route(lesson, "a fact about this project that a person put right")


def _orders(lesson: Lesson, low: str) -> bool:
    """Tell whether a lesson says what to do; a fact to remember, or a fact with a consequence, does not."""
    if lesson.way in ("keep", "praise", "advice"):
        return True
    if compiled(_CONSEQUENCE).match(low):
        return False
    if lesson.way == "rule" and not compiled(_REMEMBERED).match(lesson.cue):
        return True
    return compiled(_ORDER).search(compiled(_REMEMBERED).sub(" ", low)) is not None


def is_micro_rule(lesson: Lesson, orders: bool = True) -> bool:
    """Tell whether a lesson is one short rule about tools, commands or flags."""
    text = lesson.text
    names = names_tool(text) or compiled(r"`[^`]{2,60}`").search(text) is not None
    contrasts = compiled(r"\bnot\b|\binstead of\b|\brather than\b").search(text.lower()) is not None
    fits = len(text) <= MICRO_CHARS and text.count(". ") == 0
    return fits and names and (orders or contrasts) and lesson.category in ("Tools", "Code Style", UNKNOWN)


def scope_of(low: str) -> str:
    """Return how far a rule reaches by its own words: universal, domain or project."""
    if compiled(_EVERYWHERE).search(low):
        return "universal"
    return "domain" if compiled(_STACK).search(low) else "project"


# --- findings


def _route_finding(lesson: Lesson, context: Context) -> Route:
    """Route a cause, fix or decision."""
    low = lesson.text.lower()
    if _has_fix(lesson) and (context.seen >= RECURRING or compiled(phrases.RECURRING).search(low)):
        met = f"was met in {context.seen} sessions" if context.seen >= RECURRING else "comes up again and again"
        return Route(("knowledge", "skill"), reason=f"a fix for what {met}", scope=scope_of(low))
    if lesson.way == "decision" and not compiled(_REASON).search(low):
        return _memory_route(lesson, "a decision of this project, without its reason")
    if lesson.speaker == "tool":
        return _memory_route(lesson, "what a command needs in this project", GOTCHAS)
    kinds = {
        "decision": "a decision and its reason",
        "cause": "what caused a failure",
        "fix": "what overcame a failure",
    }
    return Route(("knowledge",), reason=kinds.get(lesson.way, "something that was found out"), scope=scope_of(low))


def _has_fix(lesson: Lesson) -> bool:
    fixed = r"\b(?:fix(?:ed)?|solved|resolved|solution|workaround|helped|by (?:\w+ing|setting)|works)\b"
    return lesson.way == "fix" or compiled(fixed).search(lesson.text.lower()) is not None


def _route_caveat(lesson: Lesson) -> Route:
    """Route a caveat: requirements of a program go to MEMORY.md, gaps of its documentation to a note."""
    low = lesson.text.lower()
    if compiled(
        r"\b(?:requires?|needs?|only (?:works?|runs?|builds?)|just works?|has to be run|breaks?|won't work)\b"
    ).search(low):
        return _memory_route(lesson, "what this project needs to work")
    if lesson.speaker == "user" and not compiled(_HIDDEN).search(low):
        return _memory_route(lesson, "what to mind in this project")
    if lesson.kind == "gap":
        return _memory_route(lesson, "what this project lacks", GOTCHAS)
    return Route(("knowledge",), reason="what the documents do not say", scope=scope_of(low))


def _route_uncertain(lesson: Lesson, context: Context) -> Route:
    """Route an uncertain lesson: to MEMORY.md if it is about this project, else to review."""
    if (lesson.way == "guess" and lesson.category != UNKNOWN) or _is_of_the_project(lesson, context):
        return _memory_route(lesson, "unsure, and about this project")
    return Route(("review",), reason="unsure, and of nothing in particular")


def _is_of_the_project(lesson: Lesson, context: Context) -> bool:
    """Tell whether an uncertain lesson is about this project."""
    low = lesson.text.lower()
    named = any(name and compiled(rf"(?<!\w){_escaped(name.lower())}(?!\w)").search(low) for name in context.names)
    stated = lesson.way == "observation" and (lesson.speaker == "user" or lesson.category == "Domain")
    if named or stated or lesson.way == "change":
        return lesson.category != UNKNOWN or named
    return lesson.category != UNKNOWN and compiled(_OF_THE_PROJECT).search(low) is not None


def _escaped(name: str) -> str:
    """Escape a name for use in a regular expression, at most 80 characters of it."""
    import re  # deferred: only needed if names are known

    return re.escape(name[:80])


# --- sections of MEMORY.md


def _memory_route(lesson: Lesson, reason: str, section: str = "") -> Route:
    """Return a route to a section of MEMORY.md."""
    return Route(("memory",), section or section_of(lesson), reason)


def section_of(lesson: Lesson) -> str:
    """Return the section of MEMORY.md in which a reader would look for this lesson."""
    low = lesson.text.lower()
    if lesson.category in ("Domain", "Architecture"):
        return ARCHITECTURE
    for section, words in _SECTION_WORDS:
        if compiled(rf"(?<![\w-])(?:{words})(?![\w-])").search(low):
            return section
    return ARCHITECTURE if lesson.category in ("Code Style", "New Skill") else GOTCHAS
