"""The shapes of sentences that state a rule, a prohibition, a convention, a decision or a fact about a project.

Matched against a sentence without its opening words, in lower case with plain apostrophes (`correction_words`).
"""

from __future__ import annotations

from swarmlore.rules.correction_words import compiled

_HERE = r"(?:repo(?:sitory)?|project|code ?base|monorepo|service|team|package|company|workspace|app|org)"
_ALWAYS = r"(?:always|never|immer|nie(?:mals)?|toujours|jamais|siempre|nunca)"
_SEEN = r"(?:show|display|sort|render|redirect|hide|return|open|close)"  # what a program does for its users
_GLAD = r"(?:happy|glad|nice|good|great|fun|welcome)"
_WE_DO = (
    r"use|don't|do not|never|always|only|deploy|rebase|squash|squash-merge|merge|pin|target|support|inject|store"
    r"|keep|name|prefer"
    r"|follow|require|return|throw|ship|release|lint|format|import|log|call|avoid|forbid|require|commit|tag|version"
    r"|mock"
)

_WORK = (
    r"(?:prs?|pull requests?|commits?|migrations?|tests?|endpoints?|releases?|branch(?:es)?|changes?|modules?"
    r"|functions?|packages?)"
)

# Strong enough to stand in any clause of a sentence.
_RULES = (
    rf"(?!(?:always|never) \w*[^s\W]s\b){_ALWAYS} (?!again|ever\b|the\b|had\b|been\b|{_GLAD}\b|{_SEEN}\b)[\w`]{{2,}}",
    rf"(?:we|(?:i|i'd) (?:want|like|need|expect) you to|you (?:must|should|have to|need to|can)|make sure (?:to|you"
    rf"|we|that you|that we)|be sure to|remember to|don't forget to|ensure (?:you|we)|wir|on|nous|let's)"
    rf" (?:must |should |have to |need to |can |may |will |also |\w{{3,12}}en |\w{{3,12}}ons )?{_ALWAYS} \w",
    rf"(?:if|when|whenever|before|after|every time|each time|once) (?:you|we|a|an|any|changing|adding"
    rf"|editing)\b[^;]{{3,90}}, {_ALWAYS} \w",
    r"(?:don't|do not|dont|never) ever \w",
    r"(?:don't|do not|dont) (?:you )?(?:ever )?\w[^;]{3,120} (?:again|ever|ever again)$",
    rf"(?!the |an? |this |that |it |i )[\w`./* -]{{2,60}} (?:should|must|may|can|shall) {_ALWAYS} \w",
    r"(?!the |an? |this |that |it |i )[\w /-]{2,50} (?:is|are) always [^,;]{2,60}, (?:and )?never \w",
    r"[\w /-]{2,40} bitte (?:immer|nie|niemals|nur) \w",
    r"n(?:e |')\w{2,20} (?:jamais|plus) \w",
    rf"(?:utilise[rz]?|usa|usad|usamos|benutzt?e?|verwendet?e?|nutze?|[eé]cri[stv]\w{{0,3}}|escribe|lance|ejecuta)"
    rf" (?:\w+ )?{_ALWAYS} \w",
    r"(?:aqu[ií]|hier|ici) (?:usamos|benutzen wir|verwenden wir|nutzen wir|on utilise|nous utilisons) \w",
    r"(?:wir (?:benutzen|verwenden|nutzen)|on utilise|nous utilisons|usamos) \w[^;]{2,60}(?:nicht|statt|pas|au lieu"
    r"|en vez|en lugar|, no) ?\w",
)
_CONVENTIONS = (
    r"the (?:correct|right|proper|preferred|only) way to (?!fix|do|solve|go)[^,;]{3,50} is\b",
    r"(?:our|the|a|team) (?:\w{3,15} )?(?:rule|convention|policy|standard|guideline|agreement)(?: here| in this \w+|"
    r" for \w+)? is\b",
    r"(?:every|each|all|any) [^,;]{2,60} (?:must|has to|have to|goes? (?:through|in|into|to|via)|belongs?|comes?"
    r" from)\b",
    rf"(?:every|each|all|any)(?: new| our| the)? {_WORK}\b[^,;]{{0,40}} (?:needs?|should)\b",
    r"our [^,;]{2,50} (?:must|has to|have to)\b",
    rf"(?:this|the|our) {_HERE} (?:uses?|needs?|requires?|targets?|follows|runs? on|is on|is pinned)\b",
    rf"(?:(?:in|on|for|within) (?:this|our|the) {_HERE},? |here,? )?we (?!(?:use|keep|call|store) (?:an?|some|it"
    rf"|them)\b)(?:only |do |generally |usually |strictly "
    rf"|all |just )?(?:{_WE_DO})\b",
    r"[\w`./* -]{2,50} must not be \w+(?:ed|en|un|t|n)\b",
    r"(?:you|one) (?:must|may|should) not \w",
    r"(?:the )?[\w`./ -]{2,50} (?:must|has to|have to) be \w+(?:ed|en|un|t|n)\b (?:with|by|from|in|before|after|on"
    r"|through|via|for)\b",
)
_DECISIONS = (
    r"(?:we|the team)(?: have|'ve)? (?:all )?(?!\w+ (?:with|on|for|to \w+) (?:it|that|this)\b)(?:decided|chose"
    r"|agreed|settled|opted|standardi[sz]ed|switched|migrated|went with|are going with)\b",
    r"(?:we're|we are) (?:going with|sticking with|standardi[sz]ing on|moving to|on)\b",
    r"let's (?:stick (?:with|to)|standardi[sz]e on)\b",
)
_PREFERENCES = (
    r"(?:i|we) (?:always |generally |usually |really |strongly |much )?(?:prefer|favou?r) (?!the\b|an?\b)",
    r"prefer (?!the\b|which\b)",
)
_COMPLAINTS = (
    r"(?:stop|quit) (?!running|waiting|working|watching|asking|talking|trying|being|doing)\w{2,20}ing\b",
    r"avoid\b",
)

# What makes an order last: its place, its reason, what to do instead.
_LASTING = (
    rf"\b(?:in|for|on|within|across) (?:this|our|the|all|any|every) (?:\w+ )?(?:{_HERE}s?|tests?|services|handlers"
    rf"|modules|files|migrations|tables?|database|db|api|schema|frontend|backend)\b"
    r"|\b(?:in|for) (?:\w+ )?(?:tests|handlers|modules|migrations)\b"
    r"|\b(?:everywhere|anywhere|here|in ci|in prod(?:uction)?|by hand|manually|directly|without \w+|ever|every \w+)\b"
)
_REASON = (
    r"\b(?:because|since|otherwise|as (?:it|they|we)|so that|due to)\b|[,;–—-] ?(?:it|they|that|this|we|there|these) "
    r"(?:gets?|is|are|locks?|breaks?|contains?|has|have|will|would|makes?|chokes?|takes?|'s|'re|uses?|come|comes"
    r"|causes?|need|needs|got)\b"
    r"|, the \w+ (?:\w+ )?(?:chokes?|breaks?|rejects?|overwrites?|ignores?|depends?|can't|cannot)\b"
)
_INSTEAD = r"\binstead\b|[,;:.–—-] ?(?:use|run|take|call|go through|put|import|prefer|ask|write|read|get|inject|rely)\b"
_CONTRAST = (
    r",? (?:and|und|et|y) (?:not|nicht|pas|no)\b|, ?(?:not|never|nicht|pas|no|nie) \w|, ?(?:not|never|nicht|pas|no)"
    r" [`'\".@/-]"
    r"|\binstead of\b|\brather than\b|\bnot\b[^,;]{1,60}\bbut\b|\bstatt\b|\bsondern\b|\bau lieu d|\ben (?:vez|lugar)"
    r" de\b"
    r"|^instead of\b"
)
_FACT = (
    r"\b(?:is|are|isn't|aren't|lives?|goes|go|needs?|uses?|runs?|has|have|belongs?|must|requires?|takes?|expects?"
    r"|returns?"
    r"|comes?|supports?|sits?|listens?|starts?|stores?|reads?|picks?|points?|was|were|don't|doesn't|only|called|ist"
    r"|sind|liegt"
    r"|liegen|est|sont|es|son|est[aá]n?|we're|it's|there's|rejects?|accepts?|delivers?|depends?|can't|cannot|has to"
    r"|have to)\b"
)
_PLACED = (
    r"\b(?:lives?|is|are|goes|go|belongs?|sits?|sit) (?:in|into|under|at|on|next to)\b|\bneeds?\b|\brequires?\b"
    r"|\bmust\b|\bhave to\b|\bonly\b|\bwe use\b|\bdeprecated\b"
)
_CODE = r"`|\d|\w[_/.@:=*]\w|\w/|(?<!\w)[./~-]+\w|[a-z][A-Z]|(?<![\w.])[A-Z]{2,}"
_USE = (
    r"(?:use|benutze?|verwende?|nutze?|utilise|usa|run|call|take|import) (?!\d|(?:the|that|this|these|those|it|a|an"
    r"|another|our|your|both|them)\b)\S"
)
_MUST = r"(?:you|one) (?:must|have to|need to|has to|should) (?!be |see |know |fix |add )\w"


def is_rule(body: str) -> bool:
    return _starts(_RULES, body)


def is_convention(body: str) -> bool:
    return _starts(_CONVENTIONS, body)


def is_decision(body: str) -> bool:
    return _starts(_DECISIONS, body)


def is_preference(body: str) -> bool:
    return _starts(_PREFERENCES, body)


def is_complaint(body: str) -> bool:
    """Whether it asks to give up a habit."""
    return _starts(_COMPLAINTS, body)


def is_prohibition(body: str) -> bool:
    return compiled(r"(?:don't|do not|dont|not|no|kein\w*|pas de) [\w`.]").match(body) is not None


def is_ban(body: str) -> bool:
    """Whether it says not to do something."""
    return compiled(r"(?:don't|do not|dont) [\w`.]").match(body) is not None


def is_about_one(body: str) -> bool:
    """Whether it forbids something to be done with one certain thing: "don't rename the column"."""
    return (
        compiled(r"(?:don't|do not|dont) \w+ (?:the|an?|that|this|my) (?:[\w-]+ )?[\w-]*[^s\W](?=\W|$)").match(body)
        is not None
    )


def is_everywhere(body: str) -> bool:
    """Whether it names a place or a manner that holds beyond the task."""
    return compiled(_LASTING.replace("|here|", "|")).search(body) is not None


def is_requirement(body: str) -> bool:
    return compiled(_MUST).match(body) is not None


def is_use(body: str) -> bool:
    """Whether it says to use something that has a name of its own."""
    return compiled(_USE).match(body) is not None


def is_named_tool(body: str) -> bool:
    """Whether it says to use, or not to use, one thing by its name."""
    return compiled(rf"(?:not to |to not |to |don't |do not |never |always )?{_USE}").match(body) is not None


def is_placed(body: str) -> bool:
    """Whether it opens with the project or the team it holds for."""
    return compiled(rf"(?:for|in|on|within|across) (?:this|our|the) (?:\w+ )?{_HERE}\b,? \w").match(body) is not None


def lasts(body: str) -> bool:
    return any(compiled(pattern).search(body) for pattern in (_LASTING, _REASON, _INSTEAD))


def has_reason(body: str) -> bool:
    return compiled(_REASON).search(body) is not None


def contrasts(body: str) -> bool:
    return compiled(_CONTRAST).search(body) is not None


def is_fact(body: str) -> bool:
    return compiled(_FACT).search(body) is not None


def is_placed_fact(body: str) -> bool:
    """Whether it says where something is, or what is needed."""
    return compiled(_PLACED).search(body) is not None


def names_something(text: str) -> bool:
    """Whether a text, in its own case, holds a number, a path, an identifier or code."""
    return compiled(_CODE).search(text) is not None


def _starts(patterns: tuple[str, ...], body: str) -> bool:
    return any(compiled(pattern).match(body) for pattern in patterns)
