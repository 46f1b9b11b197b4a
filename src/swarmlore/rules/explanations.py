"""What makes a sentence an explanation, and what makes a prompt a report of trouble that an explanation answers.

An explanation says how something is and what follows from it. No single word tells that: signs are added up, and the
sentence with the most of them in a stretch of work is the one that is kept.
"""

from __future__ import annotations

from functools import lru_cache

from swarmlore.rules.correction_shapes import names_something
from swarmlore.rules.correction_words import TASK_STARTS, compiled

ENOUGH_ACTED = 1  # where it was said, then something was changed, and then it worked
ENOUGH = 2
ENOUGH_UNPROVEN = 4  # where nothing that worked afterwards shows that it was so
_LEAST_REPORT = 4  # words
_DENIAL_CHARS = 200
# What holds beyond the case at hand.
_RULES = r"\b(?:ha(?:s|ve) to|must|needs?|requires?|cannot|can't|only|never|until|otherwise|unless|by default)\b"
# Sentences that say how something is, not what was done: what it needs, allows, refuses, where it comes from.
_EXPLAINS = (
    r"\b(?:ha(?:s|ve|d) to|must|needs?|needed|requires?|required|cannot|can't|neither|because|until|otherwise|unless"
    r"|deprecated|defaults? to|by default"
    r"|(?:may|can|must) only|only (?:accepts?|lets?|works?|allows?|runs?|supports?|reads?|takes?|changes?|applies"
    r"|exists?)"
    r"|(?:came|comes) from|expects?|rejects?|ignores?|is (?:pinned|partitioned|generated|case-sensitive|read-only)"
    r"|(?:is|are) not \w+(?:ed|en|t)|(?:will|does|do|did) not|doesn't|don't|never)\b"
    r"|, so [\w`]|, and [^,;]{3,80} before [^,;]{3,60}$"
    r"|\b\w[^,;]{1,80}, (?:and )?not (?:per |by |in |on |at |the |an? )?\w"
    r"|\b(?:could|can|may) [^,;]{3,80} (?:at the same time|concurrently|in parallel|twice)\b"
    r"|\b(?:each|every) \w+ (?:triggers?|creates?|opens?|makes?|sends?|starts?|runs?)\b"
)
# How things behave.
_BEHAVES = (
    r"\b(?:insists? on|refuses?|demands?|assumes?|treats?|falls? back|blocks?|limits?|strips?|drops?|swallows?|caches?"
    r"|overrides?|shadows?|expires?|truncates?|buffers?|retries|reuses?|locks?|waits?|belongs? to|is part of|served?"
    r"|converts?|becomes?|turns? [^,;]{2,40} into|interprets?|hands?|exceeds?|shares?|competes?|collides?|races?"
    r"|leaks?|rewrites?|overwrites?"
    r"|removes?|keeps?|sends?|returns?|throws?|stores?|reads?|looks? for)\b"
)
# Signs, each with its points.
_SIGNS = (
    ("explains", 2, _EXPLAINS),
    ("rule", 1, _RULES),
    ("cause", 2, r"\bbecause\b|\bdue to\b|\bthat(?:'s| is) why\b|\btherefore\b|\bhence\b|\bwhich (?:is why|means"
     r"|makes?|caus\w+|leads?|leaves?)\b|, which (?:\w+ )?\w{2,}[^s\W]s\b|, (?:since|as) (?!soon|well|long)\w"
     r"|\bas a result\b|, so [\w`]|\bso that\b"
     r"|\b(?:is|are|was|were) (?:the cause|the culprit|what|why)\b|\bcaus(?:es?|ed)\b|\bmeans? (?:that|the|every"
     r"|no)\b"),
    ("contrast", 1, r"\b(?:but|while|whereas|although|though|instead of|rather than|even if)\b|, not \w"),
    ("limit", 1, r"\b(?:not|no|never|only|without|neither|nor|none|nothing)\b|n't\b"),
    ("condition", 1, r"\b(?:when(?:ever)?|if|once|as soon as|every time|until|unless|before|after|each time|per)\b"),
    ("colon", 1, r"\w: [a-z`\"]\S* \S+"),
    ("behaves", 1, _BEHAVES),
    ("surprise", 1, r"\b(?:silently|quietly|really|actually|in fact|implicitly|automatically|in reality)\b"),
    ("beside", 1, r"\w; [a-z`]\S* \S+"),
    ("all", 1, r"\b(?:each|every|all|any|always|both|twice|two)\b"),
    ("report", -2, r"\b(?:now|again|green|passes|passed|pass|works|fixed|restored|succeeds|done|updated)\b"
     r"|^\d[\d,.]* "),
)  # fmt: skip
_TROUBLE_CHARS = 600  # of a prompt: what follows is pasted
_TROUBLE = (
    r"\b(?:fail(?:s|ed|ing)?|errors?|crash\w*|broken|breaks|hangs?|slow\w*|lag|leaks?|loop|twice|times? out"
    r"|timeouts?"
    r"|takes? (?:about |over )?\d+ |bottleneck|killed|oom\w*|but not (?:on|in|for|when|if|with)|full|eating"
    r"|out of (?:memory|space|disk)|again"
    r"|sometimes|randomly|flaky|wrong|misses|lost|loses?|too (?:long|slow|many|much)|doesn't|does not|not working|stuck"
    r"|in the logs?|shows? up|instead of|since (?:we|the|last|yesterday|this|\w{2,6}day)|every few|investigate|find out"
    r"|debug|cause|reason|\d{3} (?:error|from)|restarts?|shifted|off by|one cent off)\b"
)
# Questions, and work on words: nothing is wrong there.
_ASKS = (
    r"(?:(?:first|ok(?:ay)?|and|so|also|got it|hm+|now)[,.]? )*(?:how|what|is|are|does|do|can you (?:explain|tell"
    r"|show|add)"
    r"|could|would|should|which|where|when|can|why (?:do|does|did|would|should) (?:you|we|i)"
    r"|(?:please )?(?:tell|summari[sz]e|translate|explain|draft|rename|describe|document|plan|list|review|write))\b"
)
_COMPILING = (
    r"\berror ts\d|\berror\[e\d|\bsyntaxerror\b|\bmismatched types\b|\bundefined reference\b"
    r"|\bcompilation (?:failed|error)"
    r"|\bis not assignable to\b|\bcannot find symbol\b|\bundeclared\b"
)
# The agent is still looking: what it says before that is what it sees, not why.
_STILL_LOOKING = (
    r"(?:^|[\s,])(?:let me|let's|i(?:'ll| will| want to| need to|'m going to)|next,? i(?:'ll| will)?|now i(?:'ll"
    r"| will)?)"
    r" (?:first |also |just |now |quickly )?(?:see|check|look|find out|verify|confirm|investigate|dig|measure|profile"
    r"|reproduce|test|compare|inspect|trace|debug|try)\b"
)
_DENIES = (
    r"^(?:that |it |this )?(?:can't|cannot|can not) be\b|^(?:\w+,? ){0,2}?(?:it|that|this|they)(?: is|'s| was|'re"
    r"| are)?(?:n't| not| cannot| can't| can not)\b"
    r"(?: (?:be|them|it|that|the|our|my|their|a))?\b|^(?:i doubt|doesn't help|does not help|didn't help|did not help"
    r"|no change|same (?:problem|error|thing|result)|still )|\b(?:not the (?:cause|reason|problem|issue)"
    r"|can't be (?:it|that)"
    r"|cannot be (?:it|that)|isn't (?:it|the (?:cause|reason|problem))|ruled (?:that|it) out)\b"
)
# "It isn't crashing any more", "that's not bad": no denial, though it begins like one.
_CONTENT = r"\b(?:any ?more|no longer|thanks|thank you|not (?:bad|urgent|needed|important|perfect|wrong))\b"
_SETTLED = (
    r"^\W*(?:thanks?|thank you|thx|ty|great|perfect|nice|cool|awesome|brilliant|lgtm|merged?|ship it|cheers|ta|yay)\b"
)
_ASKS_FOR_WORK = (
    r"(?:ok(?:ay)?,? |and |also,? |now,? |next,? |then,? |please |good[,.] )*(?:can you|could you|would you|will you"
    r"|let's|i want"
    r"|i need|i'd like|we need|we want|we should|we'll need|please|new task|next|unrelated)\b"
)


def is_trouble(prompt: str) -> bool:
    """Whether a prompt reports something that goes wrong, and asks for its reason: then an explanation answers it."""
    low = prompt.lower().replace("’", "'")[:_TROUBLE_CHARS]
    return compiled(_ASKS).match(low) is None and compiled(_TROUBLE).search(low) is not None


def is_report(prompt: str) -> bool:
    """Whether a prompt tells how something behaves, and asks for no work of its own: the work is to find out why."""
    low = prompt.lower().replace("’", "'")[:_TROUBLE_CHARS].strip()
    if asks_for_work(prompt) or compiled(_SETTLED).match(low) or compiled(_ASKS).match(low):
        return False
    wishes = compiled(r"\b(?:should|needs? (?:an?|to|more|some)|would be|want|must)\b").search(low.partition(". ")[0])
    return wishes is None and len(low.split()) >= _LEAST_REPORT


def asks_for_work(prompt: str) -> bool:
    """Whether a prompt opens with an order or a request: a task of its own."""
    low = prompt[:_TROUBLE_CHARS].lower().replace("’", "'").strip()
    rest = compiled(r"(?:ok(?:ay)?|and|also|now|next|then|please|good|great|thanks|cool)[\s,.!:;–—-]+").sub(
        "", low[:60]
    )
    first = rest.split(None, 1)[0].rstrip(",:") if rest.strip() else ""
    return first in TASK_STARTS or compiled(_ASKS_FOR_WORK).match(low) is not None


def goes_on_about(prompt: str) -> bool:
    """Whether a prompt leaves a trouble that was reported before open: it asks for no new work and is no thanks."""
    low = prompt[:_TROUBLE_CHARS].lower().replace("’", "'").strip()
    return (denies(prompt) or is_report(prompt)) and compiled(_SETTLED).match(low) is None


def denies(prompt: str) -> bool:
    """Whether a prompt says that an explanation is wrong."""
    low = prompt[:_DENIAL_CHARS].lower().replace("’", "'")
    return compiled(_DENIES).search(low) is not None and compiled(_CONTENT).search(low) is None


def is_tentative(text: str) -> bool:
    """Whether what an agent says ends with that it goes on looking for the reason."""
    return compiled(_STILL_LOOKING).search(text[-_DENIAL_CHARS:].lower().replace("’", "'")) is not None


def is_of_compiling(error: str) -> bool:
    """Whether code that is being written does not compile yet: why not is over as soon as it does."""
    return compiled(_COMPILING).search(error.lower()) is not None


@lru_cache(maxsize=64)  # of a sentence when it is heard, and again when it is weighed against others
def explanation_points(sentence: str) -> int:
    """How much a sentence explains; from `ENOUGH` on it does."""
    low = sentence.lower().replace("’", "'")
    signs = {name: points for name, points, pattern in _SIGNS if compiled(pattern).search(low)}
    if "cause" in signs and "report" in signs:
        signs["report"] = -1  # what was done, and why
    return sum(signs.values()) + (1 if signs and names_something(sentence) else 0)
