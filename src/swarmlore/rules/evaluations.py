"""Which sentences of a report tell something that the next task can use, and which only that the work was done. Pure.

What was done stands in the history of the code, and praise helps nobody. A sentence about the work is kept where it
says why, or what made the difference; one about the thing itself is kept unless it only finds it good.
"""

from __future__ import annotations

from swarmlore.rules.correction_words import compiled
from swarmlore.rules.vague import is_vague
from swarmlore.text.similarity import content_words

# What is said of every task that went well.
_ROUTINE = (
    r"^(?:all |the )?(?:tests?|checks?|builds?|everything|it|this|that|ci|lint|types?|task|work"
    r"|changes?)\b[^,;]{0,40}\b"
    r"(?:pass(?:es|ed)?|green|works?|worked|went well|done|complete[d]?|succeeded|fine|clean|as expected|in place)\b"
    r"|^(?:done|completed?|finished|implemented|no (?:issues|problems|errors|surprises)|as expected|straightforward"
    r"|went (?:well|smoothly)|nothing (?:special|unusual|to add|notable)|looks good|lgtm"
    r"|ready for review)\b[^,;]{0,40}$"
)
# Why something is as it is, what it needs, allows or refuses, what was chosen against what.
_TELLS = (
    r"\b(?:because|due to|caused by|root cause|fixed by|resolved by|solved by|turns? out|turned out|discovered"
    r"|unexpected\w*|surprising\w*|always|never|prefer|must|ha(?:s|ve|d) to|needs?|needed|requires?|required|cannot"
    r"|can't|only|unless|until|otherwise|by default|instead of|rather than|does not|doesn't|do not|don't|did not"
    r"|didn't|missing|lacks?|lacking|limited to|fails? (?:with|if|when|on)|ignores?|decided|works? around)\b"
    r"|\b(?:to|so as to) (?:prevent|avoid|keep|work around|stop|survive|guard)\b|\bchose [^,;]{1,80} over\b"
    r"|\bsince (?:the|it|they|an?|each|every|we|\w+ (?:is|are|does|do|has|have))\b|\b\w+, not (?:per|by|in|on|the)\b"
    r"|, so [\w`]|\bthere (?:is|are) no\b|\bpinned\b|\bby \w+ing\b|\b(?:used|with) [^,;]{2,60} against \w"
)
_DONE = r"(?:\w{2,}ed|wrote|built|made|did|took|had|went|got|kept|put|set up|ran|came|shipped|left|split|cut)"
_WORK = (
    rf"^(?:(?:then|also|and|finally|first|next|overall|mostly),? )?(?:(?:i|we)(?:'ve| have)? )?(?:also |then |just "
    rf"|successfully )?{_DONE}\b"
    rf"|\b(?:was|were|has been|have been|are|is) (?:\w+ly )?(?:{_DONE}|written)(?: (?:and|too|as well)\b|[,;.]|$)"
    r"|^(?:the |this |all |my |our |both )?(?:requirements?|pull request|pr|ticket|task|result|diff|commits?|branch"
    r"|implementation|feature|solution|subtasks?|code|change|changes|refactoring|work|approach|plan)\b"
    r"|^(?:i|we) (?:think|believe|am|are|feel)\b|^(?:this|that|it) (?:was|is|came)\b|^(?:overall|minor|small|mostly)\b"
    r"|\bat first\b|\b\d+ passed\b|\bnow\W*$"
)
# The work or the thing finds itself good, or bad.
_PRAISE = (
    r"\b(?:readable|type-?safe|well[ -](?:tested|documented|structured|written)|reusable|nicely|smoothly|easy to"
    r"|fully typed|consistent with|descriptive|maintainable|robust|elegant|production[ -]ready|ready to (?:merge|ship)"
    r"|(?:clean|solid|complete|generic|accessible|consistent|straightforward)"
    r"(?: (?:implementation|solution|code|task|work|and)\b|\W*$|[,;])"
    r"|works? (?:well|fine|great|correctly|as)|worked (?:well|fine|as)"
    r"|follow(?:s|ed|ing)? (?:the |all |our )?(?:existing |project |same |established )?(?:style|conventions?|patterns?"
    r"|guidelines?|best practices)|patterns? match|no bugs|acceptance criteria|criteria met|as (?:requested|planned"
    r"|expected|specified)|(?:test|code|\d%|%) coverage|on time|could be better|(?:high|code) quality|quality:"
    r"|complexity:|no follow-ups?|nothing surprising|behaviou?r (?:is )?unchanged|all (?:checks|tests))(?!\w)"
)
_TIME = r"^(?:it |this |that |the task |which )?took (?:much |a bit |a little )?(?:longer|more|less|about|\d)"
_LABEL = r"^(?:good|bad|pros?|cons?|well|positive|negative|result|evaluation|self-evaluation)\s*:\s*"
_NOTHING = r"\bno(?:thing)? (?:[\w-]+ )?(?:needed|required|unexpected|surprising|missing)\b"


def says_something(sentence: str) -> bool:
    """Whether a sentence about a task is worth more than that task."""
    low = compiled(_LABEL).sub("", sentence.lower().replace("’", "'"))
    if low.endswith("?") or compiled(_ROUTINE).search(low) or compiled(_TIME).search(low):
        return False
    if compiled(_TELLS).search(low):
        return not compiled(_NOTHING).search(low)
    if compiled(_PRAISE).search(low) or compiled(_WORK).search(low):
        return False
    return not is_vague(sentence) or len(content_words(sentence)) > 3
