"""What a person lays down without a word of ruling: an order that names all of a kind, a limit, a division of labour.

"Pin versions exactly, no ranges", "only touch what the ticket is about", "tabs in make files, spaces everywhere else":
no single word tells, their shape does. Matched against one masked sentence in lower case.
"""

from __future__ import annotations

from swarmlore.rules.correction_words import compiled

_START = r"^(?:(?:please|and|also|but|so|ok|okay|btw|hey|pls|just|again|no|yes|next|then),? )*"
# Orders that are rarely a task by themselves.
_ORDERS = (
    r"(?:use|prefer|keep|put|name|call|ask|tell|log|return|throw|raise|store|pin|wrap|pass|inject|import|export"
    r"|commit|push"
    r"|rebase|squash|tag|sign|encrypt|mask|hash|escape|quote|validate|saniti[sz]e|mock|cover|measure|treat|think"
    r"|assume"
    r"|double-check|verify|confirm|propose|wait|leave|touch|edit|stick|follow|go|stay|group|format|sort|order|indent"
    r"|capitali[sz]e|spell|round|show|explain|write|say|reference|mention|link|include|start|end|begin|finish|run"
    r"|check"
    r"|limit|cap|bind|target|read|look|save|back up|expose|load|cite|label|rotate|request|declare|handle|catch|close"
    r"|open)"
)
_ALL = (
    r"(?:every|each|any(?!thing else| of (?:this|that|it))|always|only|whenever|everywhere|anywhere|unless|per \w+"
    r"|at (?:least|most)|by default|no (?:more|longer|other|matter)|nowhere|nothing (?:else|but)|exactly one"
    r"|one \w+ (?:per|at a time)"
    r"|(?:not|never|no|without) (?:an?|the|any|in|on|to|via|by|from|\w+s)\b|in (?:production|prod|ci|tests)\b"
    r"|all (?!of (?:it|this|that)\b|the (?:way|usages|files|tests)\b)\w+)"
)
_SAYING = (
    r"(?:say|saying|claim|claiming|report|reporting|tell|telling|declare|call|commit|committing|push|pushing|merge"
    r"|merging|open"
    r"|opening|touch|touching|change|changing|edit|editing|delete|deleting|start|starting|write|writing|add|adding"
    r"|ship|shipping"
    r"|deploy|deploying|move|propose|finish|hand|assume|answer|ask|run|running|release|releasing|land|landing|code"
    r"|coding|fix|fixing)"
)
# Things of the work itself: what holds for each of them is a rule; what holds for each patient is a fact.
_WORK = (
    r"(?:commits?|commit (?:titles?|messages?)|prs?|pull requests?|branch(?:es)?|branch names?|tests?|test cases?"
    r"|functions?|methods?"
    r"|class(?:es)?|files?|modules?|endpoints?|migrations?|tickets?|changes?|releases?|packages?|components?"
    r"|handlers?|queries|routes?"
    r"|variables?|constants?|scripts?|exceptions?|errors?|log lines?|messages?|secrets?|configs?|dependenc(?:y|ies)"
    r"|imports?|hooks?"
    r"|controllers?|services?|jobs?|images?|fixtures?|docs?|pages?|answers?|replies|steps?|features?|fix(?:es)?"
    r"|refactors?)"
)
_NO_CAN = (
    r"(?!be (?:sure|right|the|true)|see\b|find\b|reproduce|tell\b|say\b|remember|log in|connect|reach\b|open\b"
    r"|believe|wait\b|get (?:it|this|that|past|in)\b"
    r"|figure|understand|imagine|make it\b|build\b|run (?:it|this|that)\b|access\b|install\b)"
)
_NORMS = (
    rf"{_START}(?!make sure|be sure)[a-z-]{{2,}}\b[^?]{{2,100}} (?:whenever|every time|each time) (?:the|an?|you|we"
    rf"|something|it)\b",
    r"^(?!.*\b(?:is|are|was|has|have|i)\b).*\b(?:in |for |after |with )?(?:every|each) (?:single )?(?:session|time"
    r"|change|commit|pr|task|conversation)\b[.!]*$",
    rf"{_START}{_ORDERS}\b(?! (?:it|that|this|me|them)\b(?! only| always))[^?]{{1,120}}\b{_ALL}",
    rf"{_START}[a-z-]{{2,}}\b[^?]{{2,100}} (?:before|after|until|unless) (?:you(?:'ve| have)?|we|any|every|each|a"
    rf"|the)? ?{_SAYING}\b",
    rf"{_START}(?:only|just) (?:ever )?(?!show|include|return|explain|read|open|load|write){_ORDERS}\b(?! (?:it|that"
    rf"|this|me|a|an|one)\b)",
    r"you (?:only|just) (?:ever )?\w+ |(?:is|are) (?:mine|ours|my job|my call|yours|your job) to \w+|hands off\b"
    r"|(?:stay|keep) (?:away from|out of)\b",
    r"^[\w .'/-]{2,40} (?:in|for|on) [\w .'/-]{2,40}, [\w .'/-]{2,40} (?:everywhere(?: else)?|elsewhere|for the rest"
    r"|otherwise)\W*$",
    rf"(?:^|, |; |so |because |since )(?:you|we|one|agents?) (?:can't|cannot|can not|may not|aren't allowed to"
    rf"|are not allowed to) {_NO_CAN}\w+",
    rf"^(?:every|each|all(?: (?:our|of our|the|new|public|private))?|any|new"
    rf"|our) (?:[\w-]+ ){{0,3}}{_WORK}(?: [\w-]+){{0,3}} (?:[a-z]+s|go|start|end|carry|live|need|have"
    r"|get|use|come|follow|stay|include|take|belong|pass)\b(?! (?:fail|broke|missing|slow|red|green))",
    r"(?:^|\. )(?:it's|we're on|this is|we use|we're using) [\w.`-]+(?: (?:here|in this \w+"
    r"|for this))?,? (?:and )?not [\w.`-]+|^first (?:the|an?|you|we) [^,;?]{2,60}, then\b"
    r"|^[\w' -]{2,50}s (?:start|end|live|go|use|have|are|get|come|carry|follow|stay|belong|return|take|begin"
    r"|need)\b[^?]{2,80}(?:in this (?:code ?base|repo\w*|project|team|app)|around here|here)[.!]*$"
    r"|^(?!the |that |this |it )[\w .-]{2,40} only[,.;!]|^(?:unacceptable|not acceptable|not ok(?:ay)?|no way"
    r"|absolutely not)[.!]*$"
    r"|^[a-z]+ing [^,;?]{3,80} is (?:an? )?(?:hole|smell|mess|pain|bad idea|mistake|crime|anti-?pattern|no-no"
    r"|code smell|danger\w*|risky|cheating|sloppy|lazy|bad (?:style|practice)|not (?:ok|fine|enough))\b"
    r"|\b(?:drives?|makes?) me (?:nuts|mad|crazy|cringe)\b|\bi (?:hate|can't stand|despise) (?:it when|seeing"
    r"|(?!this\b)\w+s\b|\w+ing\b)|\bpet peeve\b"
    r"|^(?:no,? )?[\w.`…-]+, not [\w.`…-]+[.!]*$|^(?:[\w ]{2,40}, )?[\w.`…-]+ over [\w.`…-]+[.!]*$|\bwherever"
    r" possible\b|^forget (?:about )?[\w.`…-]+, (?:it's|we|use|this)\b|\bis (?:the one to use|what we use|the way to"
    r" go)\b|^(?:please )?(?:respect|honou?r|obey|mind) (?:the|our)\b|knows?"
    r" nothing (?:about|of)\b|\bleave [^,;?]{2,50} alone\b|, not (?:only|just) \w|belongs? (?:in|to|into|on|under|at"
    r"|with)\b[^?]{2,60}\bnot\b|^(?!see |until )[a-z][\w' ]{2,60} next time[.!]*$"
    r"|\bi (?:don't|do not) (?:ever )?want (?:to see|you to|any|another)\b"
    r"|^(?:we|we're|it's|this is|our)\b[^?]{2,80}, not [\w`…]+|\b(?:and|to|with) nothing else\b|\bnowhere else\b"
    r"|^we (?:write|name|spell|format|indent|prefix|suffix|squash|tag|sort|wrap|group|capitali[sz]e|document|review"
    r"|version)\b"
    rf"|^(?:[\w-]+ ){{0,2}}{_WORK}(?: [\w-]+){{0,2}} (?:stay|stays|needs? (?!to be (?:fixed|changed|updated)|work"
    rf"|help|some|more|another)|are kept|get their own|carry)\b"
    r"|^we \w+ [^,;?]{2,80}, (?:no|not|never) \w+|^we (?:pin|lock|freeze|forbid|ban|refuse|require|insist)\b",
    r"^(?:and |but |also )?i (?:expect|insist)\b(?! (?:this|that|it) (?:to be|is|will|was))|\bi (?:want|like"
    r"|need) (?:to see )?[^?]{3,100}\b(?:every|each|all|always|before|whenever)\b",
    rf"{_START}(?:one|two|three|\d+)(?: [\w-]+){{1,3}} (?:per|at a time|in|for each|max)\b(?! (?:total"
    rf"|all)\b)[^?]{{0,60}}$|^(?:[\w-]+ ){{1,4}}(?:come|comes|go|goes) (?:first|last|before|through|into|under)\b",
    rf"{_START}(?:small|short|plain|clear|simple|boring|explicit|tiny|fewer|shorter|smaller"
    rf"|one) (?:[\w-]+ ){{0,2}}[\w-]+s? (?:over|before|instead of|rather than|please|first)\b",
)
_FOR_TASKS = (0, 1, 3)  # what says when it holds is a rule, though it could be a task
_NEVER = (
    r"\b(?:i'll|i will|i'm|let me (?:know|see|check|think|look)|we'll|we will|let's|this (?:one|file|test|pr"
    r"|function|time)|for now|right now|today|yet|now|again\?"
    r"|the (?:first|second|last|other) one|(?:push|merge|commit|deploy|change|send|ship) (?:this|it|that)|written by"
    r"|made by|owned by|line \d+|below|above|following|attached"
    r"|i (?:tried|got|see|saw|did|have|had|was|think|guess)|would|maybe|perhaps"
    r"|could|might|if (?:possible|needed|you (?:can|want|like)))\b|\?\s*$|:$|\"|“"
)


# Things of a kind, and what they do: "public methods get a doc comment".
_KIND = (
    r"^(?!(?:the|this|that|these|those|an?|my|your|his|her|its?|they|there|i|you|he|she|some|two|three|both|most"
    r"|here|users?|customers?|people|still|what|yes|nothing"
    r"|something|looks|seems|works|tests?|checks|builds?|\d+)\b)(?:[\w/-]+ ){0,3}[\w/-]+[^s\W]s (?:(?:only|all|just"
    r"|also) )?(?:are|have|get|go|come|live|stay|need|use|start|end|carry|belong"
    r"|follow|return|take|explain|describe|contain|include|read|talk|know|depend|run|own|pass|throw|raise|write|keep"
    r"|hold|say|wear|begin|name|state|match|sit|reside|import|call|do)\b"
)
# How long, how often, by whom: a fact, though of things of a kind.
_MEASURED = (
    r"\b(?:for|every|after|within) (?:\d+|an?|one|two|three|five|ten|fifteen|thirty|sixty)? ?(?:seconds?|minutes?"
    r"|hours?|days?|weeks?|months?)\b|\bare \w+ed (?:straight )?(?:from|by|every|on|at)\b"
)
RULED = ("Code Style", "Process", "Security", "Architecture")


def is_of_a_kind(low: str, category: str) -> bool:
    """Whether a statement says how all things of a kind of the work are: a convention. Of the business it is a fact."""
    told = compiled(_NEVER).search(low) or compiled(_MEASURED).search(low)
    return category in RULED and compiled(_KIND).match(low) is not None and not told


def norm_in(low: str, task: bool) -> str:
    """The words by which a sentence is a standing order, or nothing; a task is none unless it says when."""
    if compiled(_NEVER).search(low):
        return ""
    for place, pattern in enumerate(_NORMS):
        if task and place not in _FOR_TASKS:
            continue
        if found := compiled(pattern).search(low):
            return found[0].strip(" ,;:")[:60]
    return ""
