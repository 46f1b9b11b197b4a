"""By which words a person corrects an agent or sets a rule, and by which they only seem to.

All patterns are matched against one sentence in lower case with plain apostrophes; a sentence is short, and every gap
is bounded. English in full; German, French and Spanish where their words are as plain.
"""

from __future__ import annotations

import re
from functools import cache

# --- how a sentence opens: stripped again and again, each leaving its mark


# Greetings, praise, address, politeness: they say nothing.
_IDLE = (
    r"(?:hey|hi|hello|ok(?:ay)?|so|well|great|nice|good(?: job| work)?|perfect|cool|thanks?(?: you)?|thx|look|listen"
    r"|please|pls"
    r"|bitte|s'il te pla[iî]t|por favor|but|and|also|then|hm+|uh|um|oh|ah|sorry|btw|by the way|just|one (?:more )?thing"
    r"|(?:claude|codex|copilot|gemini|opencode|cursor|@[\w-]{2,30}|dude|man|mate|buddy|guys|everyone(?=\s?,))|aber"
    r"|und|mais"
    r"|et|pero|y"
    r"|(?:hang|hold) on|whoa|woah|argh+|ugh|ouch|oops|(?:right|fine|sure|agreed|understood)(?=\s?[,.:!–—-])"
    r"|looks good|lgtm|yes|yeah|yep|wait|again|important|reminder|(?:for )?next time"
    r"|achtung)"
)
# The agent did or said something wrong. A "no" before a noun forbids it, and must stay: "no default exports".
_SPOKEN_NO = (
    r"\s*(?:$|[,.:;!…–—-])|\s(?:no|nope|we|we're|it|it's|its|that|that's|this|the|these|those|you|you're|they"
    r"|they're|i|use|don't"
    r"|do not|always|never|our|there|in|on|for|actually|please|wir|hier|der|die|das|on|ici|utilise|aqu[ií]|usa"
    r"|usamos|run|not|all|every)\b"
)
_WRONG = (
    rf"(?:(?:(?:oh|god|hell|please|no|heavens|ah|oh god),? )?(?:no|non|stop|nein)(?={_SPOKEN_NO})|nope|nah"
    r"|(?:absolutely|certainly|definitely|please|god|of course) not(?=\s*[.,!:;–—-])"
    rf"|wrong [a-z]{{3,15}}(?=\s?[-:,.–—])|wrong|incorrect|falsch"
    rf"|not (?:quite|correct|right|true|like"
    rf" that)|nicht so"
    r"|(?:that|this|it|das|you)(?:'s| is|'re| are| was| ist) (?:just |still |plain |simply |also )?"
    r"(?:wrong|incorrect|not (?:right|correct|true|how \w[^,.:;]{1,30})|falsch|nicht richtig|mistaken)(?: about"
    r" [^,.:;]{2,40})?"
    r"|c'est faux|ce n'est pas (?:[cç]a|correct)|est[aá] mal|eso no es correcto|eso est[aá] mal"
    r"|(?:that|this|the|such an?) [\w ./-]{2,30} (?:doesn't|does not|don't|do not) exist(?: (?:here|anymore|at all))?"
    r"|(?:that|this|it)(?:'s| is) (?:exactly )?the wrong (?:way(?: (?:round|around))?|place|direction|approach"
    r"|order|end)"
    r"|you(?:'re| are) (?:using|in|on|running|editing) the wrong [\w .-]{2,30})"
)
# It was said before.
_TOLD = (
    r"(?:(?:like |as )?i(?:'ve| have)?(?: already| just)? (?:told you|said|mentioned|explained)(?: (?:this|it|that"
    r"|so))?"
    r"(?: (?:already|before|earlier|twice|again|now|several times|many times|three times|\d+ times)){0,2}(?: that)?"
    r"|how (?:many times|often) do i (?:have|need) to (?:say|repeat|tell you)(?: (?:it|this|you|that)){0,2}"
    r"|you (?:keep|kept) (?:forgetting|ignoring)(?: that)?|you forgot (?:again|that)(?: that)?|once again|yet again"
    r"|(?:this is |that's |it's )?(?:for )?the (?:second|third|fourth|fifth|tenth|hundredth|\d+(?:nd|rd|th)) time"
    r"|wie gesagt|ich habe (?:dir )?(?:doch )?(?:schon )?gesagt,? dass|comme je l'ai dit|ya te dije que|como dije)"
)
# From here on.
STANDING = (
    r"(?:from now on(?:wards?)?|from here on|in (?:the )?future(?! (?:versions?|releases?|we will|we'll|we may|we"
    r" might))|going forward|moving forward|for (?:the )?future(?: reference)?"
    r"|next time|for next time|as a (?:general )?rule|ab jetzt|ab sofort|in zukunft|k[uü]nftig|von jetzt an"
    r"|[aà] partir de maintenant|d[eé]sormais"
    r"|dor[eé]navant|de ahora en adelante|a partir de ahora|en adelante|en el futuro)"
)
# That is how things are done.
HOUSE_RULE = (
    r"(?:that's|that is|it's|this is) (?:our|the|a|team) (?:\w+ )?(?:convention|rule|policy|standard|style)(?: here)?"
    r"|(?:that's|that is|this is) how we do (?:it|that|things)(?: here)?"
)
# A plain request to remember.
_REMEMBER = (
    r"(?:(?:always |just )?remember(?: that| this| the following|(?=\s?[:,-]))|keep in mind(?: that)?|bear in"
    r" mind(?: that)?"
    r"|don't forget(?: that|(?=:))|never forget(?: that|(?=:))|merk dir(?: bitte)?(?:,? dass)?|denk dran(?:,? dass)?"
    r"|souviens-toi que|rappelle-toi que|n'oublie pas que|recuerda que|ten en cuenta que|no olvides que)"
)
# Something to know.
_NOTE = (
    r"(?:(?:(?:one|another|a|an|just|small|quick|last|final|side|general|important|only|more|further) ){0,3}(?:remark"
    r"|notes?|point|comment|caveat|hint|warning|heads[- ]?up|background|context|detail|correction|thing|explanation)"
    r"(?: (?:[a-z]+ ){0,3}[a-z]+)?(?=:)"
    r"|(?:be )?careful|caution|beware|attention|watch out"
    r"|note(?: that|(?=:))|be aware(?: that)?|fyi|for the record|for your information|you should know(?: that)?"
    r"|just so you know)"
)
_ACTUALLY = r"(?:actually|in fact|eigentlich|en fait|en realidad)"
# A request in the form of a question: "could you please not …?"
_ASKED = r"(?:(?:can|could|would|will) you(?: please| maybe| just)?(?= (?:stop|not|always|never|avoid)\b)|please)"
_REST = r"(?:\s*[,.:;!…–—-]+\s*|\s+|$)"
OPENINGS = (
    ("told", _TOLD), ("remember", _REMEMBER), ("note", _NOTE), ("standing", STANDING), ("asked", _ASKED),
    ("wrong", _WRONG),
    ("actually", _ACTUALLY), ("idle", _IDLE),
)  # fmt: skip

# --- what is no lesson

# Replies that only look like a correction.
FALSE_ALARMS = (
    r"\bnever ?mind\b|\bno (?:worries|problem|thanks|thank you|need\b|rush|idea|objections?|changes|question|doubt"
    r"|biggie)"
    r"|\bnot wrong\b|\bnothing is wrong|\bdon't (?:worry|bother|sweat|mind|know|think|care|see|have|get|understand"
    r"|like|want|need)\b"
    r"|\bnot (?:now|yet|sure)\b|\bi(?:'d| would| will|'ll)? never (?!want|use\b)|\bi was wrong|\bof course\b|\bnon"
    r" merci|\bnoch nicht"
)
# True for this moment, this change, this place on the screen.
ONE_OFF = (
    r"\b(?:yet|for now|right now|this time|this once|today|tomorrow|tonight|for the moment|at the moment|so far"
    r"|(?<!^)anything"
    r"|until (?:i|we|you|it|this|that)\b|while (?:i|you)|before we (?:continue|start|go on)|when (?:you are|you're"
    r"|it's|it is) (?:done|finished|ready)"
    r"|when (?:you )?(?:finish|are done)|(?:in|for|on|of|with|from|to|by) (?:this|that|the current) (?:pr|pull"
    r" request|test"
    r"|file|function|case|answer|reply"
    r"|commit|branch|change|line|message|class|method|task|one|issue|ticket|session|step|page|screen|section|part"
    r"|release|sprint|script|example)\b"
    r"|as (?:before|it is(?!n't)|is(?!n't)|they are(?!n't))"
    r"|same\b|(?:the|that) other(?!s)|the (?:first|second|third|last"
    r"|latter|former|next"
    r"|previous"
    r"|left|right|blue|red|green|one|way|old|new|wrong) (?:one|ones|file|version|approach|option|idea|way|thing|case"
    r"|part|half|button|sidebar|page)?"
    r"(?=$|[\s,.!])(?! (?:python|node|java|jdk|path|port|schema|queue|database|branch|interpreter|client|version))"
    r"|option [a-d]\b|on branch\b"
    r"|different (?:approach|way|one)|something else|your (?:suggestion|version|idea|proposal)|just (?:explain|plan"
    r"|fix|give|show|tell|answer)"
    r"|take your time|while you're at it|by (?:then|tonight|next week|end of (?:day|week)|\w{3,6}day)\b"
    r"|line \d+|now\s*$|(?:screenshot|code|text|diff|example|file|list|spec) (?:above|below)|above\s*$|below\s*$"
    r"|noch nicht|jetzt nicht|pour l'instant|por ahora)"
)
# Reports of what happens, not of what should be done.
SYMPTOM = (
    r"\b(?:still|crash(?:es|ed)?|doesn't work|does not work|not working|broken|too (?:big|small|slow|long|many|much)"
    r"|same error"
    r"|but (?:you|it|i)|i (?:get|got|see|saw|always get|always forget|want (?!you)|meant|mean|need|like|hate|have"
    r"|had|can't|cannot"
    r"|changed|am|was|wonder)"
    r"|when i \w+|output is|result is|value is|(?:but|,) it should|it (?:always|never|only|also|just)?\s?(?:fails?"
    r"|works?|hangs?|breaks?|happens?|loads?)"
    r"|complains?|never (?:loads?|finish(?:es)?|works?|got|worked|had|used|said|saw|ends?|starts?|returns?|appears?)"
    r"|always (?:fails?|get|gets|had|been|complain|crash(?:es)?|slow|hangs?|returned)|(?:you|we)'ve always|toujours"
    r" lent|immer belegt)\b"
)
# What goes on for long: "they still use it".
LASTING_VERB = (
    r"(?:uses?|runs?|talks?|needs?|depends?|reads?|calls?|rel(?:y|ies)|supports?|speaks?|expects?|sends?|ha(?:s|ve)"
    r"|requires?|ships?|imports?|links?)"
)
# The same, where the sentence has not the shape of a rule: "never merge with failing tests" has.
FAILING = (
    r"\b(?:fail(?:s|ed|ing|ures?)?|\d+ (?:tests?|errors?|warnings?)|red|hangs?|slow|missing|empty|blank|timeouts?"
    r"|timed out|unchanged)\b"
)
# Thinking aloud.
HYPOTHETICAL = (
    r"\b(?:maybe|perhaps|what if|suppose|hypothetically|would (?:it|that|be|you|we|break|have)|should (?:we|i)\b"
    r"|could we|can we|may i"
    r"|i wonder|wondering|might|i guess|not sure|it would|vielleicht|peut-[eê]tre|quiz[aá]s?|tal vez)\b"
)
# Words that point at something outside of the sentence; a lesson made of nothing else says nothing.
_POINTING = "it its that thats this these those them they one ones there here same other another thing things stuff way"
_RULING = "so always never must should don dont not no only"
POINTING = frozenset(f"{_POINTING} {_RULING}".split())
TASK_VERBS = (
    "add fix write implement make create rename refactor change delete remove move show explain run update generate"
    " review"
    " summarize summarise translate draft put set check look find try test debug install build deploy open start"
    " continue"
    " give tell list print convert replace extract split merge revert undo redo investigate document describe design"
    " plan"
    " optimize optimise clean help see read search compare turn let's finish wire port bump insert append render"
)
TASK_STARTS = frozenset(TASK_VERBS.split())
# A clause that asks for work now: the sentence is a task with a condition, not a rule.
TASK_CLAUSE = (
    r"(?:,|;|\band\b|\bthen\b|-|–|—) (?:please |can you |could you |then )?"
    r"(?:add|fix|write|implement|look|check|speed|create|update|explain|remove|refactor|do(?! it (?:that|this) way)|try"
    r"|revert) (?:a |an |it\b|the |this|that|into|up|some|what|why|all)"
)
# Work that is asked for behind a rule: the rule is kept without it.
ADDED_TASK = (
    r"(?<=.{15}), (?:please \w+|(?:fix|find|add|change|update|implement|remove|refactor) (?:the|a|all|it|this"
    r"|that)\b).*$"
)


@cache
def openings() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """How sentences open, as patterns to match at their beginning."""
    return tuple((name, re.compile(rule + r"\b" + _REST)) for name, rule in OPENINGS)


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern, compiled when it is first needed."""
    return re.compile(pattern, flags)
