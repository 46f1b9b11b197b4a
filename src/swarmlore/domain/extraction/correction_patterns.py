"""Regular expressions for sentences that state a rule, prohibition, convention, decision or fact of a project.

They are matched against a sentence without its opening words, in lower case, with plain apostrophes.
"""

from __future__ import annotations

import re
from functools import cache

# --- openings of a sentence: removed repeatedly, each leaves its mark


# Greetings, praise, address, politeness: no content.
_IDLE = (
    r"(?:hey|hi|hello|ok(?:ay)?|so|well|great|nice|good(?: job| work)?|perfect|cool|thanks?(?: you)?|thx|look|listen"
    r"|please|pls|bitte|s'il te pla[iî]t|por favor|but|and|also|then|hm+|uh|um|oh|ah|sorry|btw|by the way|just"
    r"|one (?:more )?thing|(?:claude|codex|copilot|gemini|opencode|cursor|@[\w-]{2,30}|dude|man|mate|buddy|guys"
    r"|everyone(?=\s?,))|aber|und|mais|et|pero|y|(?:hang|hold) on|whoa|woah|argh+|ugh|ouch|oops|(?:right|fine|sure"
    r"|agreed|understood)(?=\s?[,.:!–—-])|looks good|lgtm|yes|yeah|yep|wait|again|important|reminder|(?:for )?next time"
    r"|achtung)"
)
# The agent did or said something wrong. A "no" before a noun forbids it, and must stay: "no default exports".
_SPOKEN_NO = (
    r"\s*(?:$|[,.:;!…–—-])|\s(?:no|nope|we|we're|it|it's|its|that|that's|this|the|these|those|you|you're|they|they're|i"
    r"|use|don't|do not|always|never|our|there|in|on|for|actually|please|wir|hier|der|die|das|on|ici|utilise|aqu[ií]"
    r"|usa|usamos|run|not|all|every)\b"
)
_WRONG = (
    rf"(?:(?:(?:oh|god|hell|please|no|heavens|ah|oh god),? )?(?:no|non|stop|nein)(?={_SPOKEN_NO})|nope|nah"
    r"|(?:absolutely|certainly|definitely|please|god|of course) not(?=\s*[.,!:;–—-])"
    rf"|wrong [a-z]{{3,15}}(?=\s?[-:,.–—])|wrong|incorrect|falsch"
    rf"|not (?:quite|correct|right|true|like"
    rf" that)|nicht so"
    r"|(?:that|this|it|das|you)(?:'s| is|'re| are| was| ist) (?:just |still |plain |simply |also )?(?:wrong|incorrect"
    r"|not (?:right|correct|true|how \w[^,.:;]{1,30})|falsch|nicht richtig|mistaken)(?: about [^,.:;]{2,40})?"
    r"|c'est faux|ce n'est pas (?:[cç]a|correct)|est[aá] mal|eso no es correcto|eso est[aá] mal|(?:that|this|the"
    r"|such an?) [\w ./-]{2,30} (?:doesn't|does not|don't|do not) exist(?: (?:here|anymore|at all))?|(?:that|this"
    r"|it)(?:'s| is) (?:exactly )?the wrong (?:way(?: (?:round|around))?|place|direction|approach|order|end)|you(?:'re"
    r"| are) (?:using|in|on|running|editing) the wrong [\w .-]{2,30})"
)
# Repeated corrections: "I told you".
_TOLD = (
    r"(?:(?:like |as )?i(?:'ve| have)?(?: already| just)? (?:told you|said|mentioned|explained)(?: (?:this|it|that"
    r"|so))?"
    r"(?: (?:already|before|earlier|twice|again|now|several times|many times|three times|\d+ times)){0,2}(?: that)?"
    r"|how (?:many times|often) do i (?:have|need) to (?:say|repeat|tell you)(?: (?:it|this|you|that)){0,2}"
    r"|you (?:keep|kept) (?:forgetting|ignoring)(?: that)?|you forgot (?:again|that)(?: that)?|once again|yet again"
    r"|(?:this is |that's |it's )?(?:for )?the (?:second|third|fourth|fifth|tenth|hundredth|\d+(?:nd|rd|th)) time"
    r"|wie gesagt|ich habe (?:dir )?(?:doch )?(?:schon )?gesagt,? dass|comme je l'ai dit|ya te dije que|como dije)"
)
# Standing orders: "from now on".
STANDING = (
    r"(?:from now on(?:wards?)?|from here on|in (?:the )?future(?! (?:versions?|releases?|we will|we'll|we may"
    r"|we might))|going forward|moving forward|for (?:the )?future(?: reference)?|next time|for next time"
    r"|as a (?:general )?rule|ab jetzt|ab sofort|in zukunft|k[uü]nftig|von jetzt an|[aà] partir de maintenant"
    r"|d[eé]sormais|dor[eé]navant|de ahora en adelante|a partir de ahora|en adelante|en el futuro)"
)
# House rules: "that is how we do it".
HOUSE_RULE = (
    r"(?:that's|that is|it's|this is) (?:our|the|a|team) (?:\w+ )?(?:convention|rule|policy|standard|style)(?: here)?"
    r"|(?:that's|that is|this is) how we do (?:it|that|things)(?: here)?"
)
# Requests to remember.
_REMEMBER = (
    r"(?:(?:always |just )?remember(?: that| this| the following|(?=\s?[:,-]))|keep in mind(?: that)?|bear in"
    r" mind(?: that)?"
    r"|don't forget(?: that|(?=:))|never forget(?: that|(?=:))|merk dir(?: bitte)?(?:,? dass)?|denk dran(?:,? dass)?"
    r"|souviens-toi que|rappelle-toi que|n'oublie pas que|recuerda que|ten en cuenta que|no olvides que)"
)
# Announcements of a fact: "note that".
_NOTE = (
    r"(?:(?:(?:one|another|a|an|just|small|quick|last|final|side|general|important|only|more|further) ){0,3}(?:remark"
    r"|notes?|point|comment|caveat|hint|warning|heads[- ]?up|background|context|detail|correction|thing"
    r"|explanation)(?: (?:[a-z]+ ){0,3}[a-z]+)?(?=:)|(?:be )?careful|caution|beware|attention|watch out|note(?: that"
    r"|(?=:))|be aware(?: that)?|fyi|for the record|for your information|you should know(?: that)?|just so you know)"
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

# --- sentences that are no lesson

# Replies that only look like a correction.
FALSE_ALARMS = (
    r"\bnever ?mind\b|\bno (?:worries|problem|thanks|thank you|need\b|rush|idea|objections?|changes|question|doubt"
    r"|biggie)|\bnot wrong\b|\bnothing is wrong|\bdon't (?:worry|bother|sweat|mind|know|think|care|see|have|get"
    r"|understand|like|want|need)\b|\bnot (?:now|yet|sure)\b|\bi(?:'d| would| will|'ll)? never (?!want|use\b)"
    r"|\bi was wrong|\bof course\b|\bnon merci|\bnoch nicht"
)
# One-off: limited to this moment, this change, this place on the screen.
ONE_OFF = (
    r"\b(?:yet|for now|right now|this time|this once|today|tomorrow|tonight|for the moment|at the moment|so far"
    r"|(?<!^)anything|until (?:i|we|you|it|this|that)\b|while (?:i|you)|before we (?:continue|start|go on)"
    r"|when (?:you are|you're|it's|it is) (?:done|finished|ready)|when (?:you )?(?:finish|are done)|(?:in|for|on|of"
    r"|with|from|to|by) (?:this|that|the current) (?:pr|pull request|test|file|function|case|answer|reply|commit|branch"
    r"|change|line|message|class|method|task|one|issue|ticket|session|step|page|screen|section|part|release|sprint"
    r"|script|example)\b|as (?:before|it is(?!n't)|is(?!n't)|they are(?!n't))|same\b|(?:the|that) other(?!s)"
    r"|the (?:first|second|third|last|latter|former|next|previous|left|right|blue|red|green|one|way|old|new"
    r"|wrong) (?:one|ones|file|version|approach|option|idea|way|thing|case|part|half|button|sidebar|page)?(?=$"
    r"|[\s,.!])(?! (?:python|node|java|jdk|path|port|schema|queue|database|branch|interpreter|client|version))"
    r"|option [a-d]\b|on branch\b|different (?:approach|way|one)|something else|your (?:suggestion|version|idea"
    r"|proposal)|just (?:explain|plan|fix|give|show|tell|answer)|take your time|while you're at it|by (?:then|tonight"
    r"|next week|end of (?:day|week)|\w{3,6}day)\b|line \d+|now\s*$|(?:screenshot|code|text|diff|example|file|list"
    r"|spec) (?:above|below)|above\s*$|below\s*$|noch nicht|jetzt nicht|pour l'instant|por ahora)"
)
# Symptoms: reports of events, not of what should be done.
SYMPTOM = (
    r"\b(?:still|crash(?:es|ed)?|doesn't work|does not work|not working|broken|too (?:big|small|slow|long|many|much)"
    r"|same error|but (?:you|it|i)|i (?:get|got|see|saw|always get|always forget|want (?!you)|meant|mean|need|like|hate"
    r"|have|had|can't|cannot|changed|am|was|wonder)|when i \w+|output is|result is|value is|(?:but|,) it should"
    r"|it (?:always|never|only|also|just)?\s?(?:fails?|works?|hangs?|breaks?|happens?|loads?)|complains?"
    r"|never (?:loads?|finish(?:es)?|works?|got|worked|had|used|said|saw|ends?|starts?|returns?|appears?)"
    r"|always (?:fails?|get|gets|had|been|complain|crash(?:es)?|slow|hangs?|returned)|(?:you|we)'ve always"
    r"|toujours lent|immer belegt)\b"
)
# Verbs of lasting states: "they still use it".
LASTING_VERB = (
    r"(?:uses?|runs?|talks?|needs?|depends?|reads?|calls?|rel(?:y|ies)|supports?|speaks?|expects?|sends?|ha(?:s|ve)"
    r"|requires?|ships?|imports?|links?)"
)
# Symptoms in sentences without the form of a rule, unlike "never merge with failing tests".
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
# Words that refer to something outside of the sentence; a lesson of such words alone is empty.
_POINTING = "it its that thats this these those them they one ones there here same other another thing things stuff way"
_RULING = "so always never must should don dont not no only"
POINTING = frozenset(f"{_POINTING} {_RULING}".split())
TASK_VERBS = (
    "add fix write implement make create rename refactor change delete remove move show explain run update generate"
    " review summarize summarise translate draft put set check look find try test debug install build deploy open start"
    " continue give tell list print convert replace extract split merge revert undo redo investigate document describe"
    " design plan optimize optimise clean help see read search compare turn let's finish wire port bump insert append"
    " render"
)
TASK_STARTS = frozenset(TASK_VERBS.split())
# A clause that requests work now: the sentence is a task with a condition, not a rule.
TASK_CLAUSE = (
    r"(?:,|;|\band\b|\bthen\b|-|–|—) (?:please |can you |could you |then )?"
    r"(?:add|fix|write|implement|look|check|speed|create|update|explain|remove|refactor|do(?! it (?:that|this) way)|try"
    r"|revert) (?:a |an |it\b|the |this|that|into|up|some|what|why|all)"
)
# A request for work after a rule: it is removed from the rule.
ADDED_TASK = (
    r"(?<=.{15}), (?:please \w+|(?:fix|find|add|change|update|implement|remove|refactor) (?:the|a|all|it|this"
    r"|that)\b).*$"
)


@cache
def openings() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the openings of sentences as (mark, compiled pattern) pairs, to match at the beginning."""
    return tuple((name, re.compile(rule + r"\b" + _REST)) for name, rule in OPENINGS)


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression, compiled on first use."""
    return re.compile(pattern, flags)


_HERE = r"(?:repo(?:sitory)?|project|code ?base|monorepo|service|team|package|company|workspace|app|org)"
_ALWAYS = r"(?:always|never|immer|nie(?:mals)?|toujours|jamais|siempre|nunca)"
_SEEN = r"(?:show|display|sort|render|redirect|hide|return|open|close)"  # what a program does for its users
_GLAD = r"(?:happy|glad|nice|good|great|fun|welcome)"
_WE_DO = (
    r"use|don't|do not|never|always|only|deploy|rebase|squash|squash-merge|merge|pin|target|support|inject|store|keep"
    r"|name|prefer|follow|require|return|throw|ship|release|lint|format|import|log|call|avoid|forbid|require|commit|tag"
    r"|version|mock"
)

_WORK = (
    r"(?:prs?|pull requests?|commits?|migrations?|tests?|endpoints?|releases?|branch(?:es)?|changes?|modules?"
    r"|functions?|packages?)"
)

_WORKS = (
    r"(?:prs|pull requests|commits|migrations|tests|specs|endpoints|releases|branches|hotfixes|fixtures|changes"
    r"|snapshots|secrets|translations|locales|configs?|credentials|logs|events|topics|queries|components|types|schemas"
    r"|flags|feature flags|dependencies|timestamps|dates|amounts|prices|buckets|tables|columns|handlers|services)"
)
_EACH = r"(?:change|commit|edit|merge|release|deploy|deployment|pr|push|fix|migration|pull request|build|time|rebase)"
_STATE = (
    r"misaligned|restarted|red|green|failing|broken|missing|wrong|gone|empty|too|still|not|now|all|there|here|slow|done"
    r"|ready|in|on"
)

# Adjectives and adverbs of manner or place by their endings, without the verbs that have the same endings.
_NO_VERB = (
    r"(?!(?:disable|table|want|prevent|grant|print|point|count|hint|lint|mount|comment|document|implement|invent"
    r"|represent)\b)(?:\w+(?:ible|[^n]able|[^enfsbi]ed|ful|ous|[^a]nt)|on|off|in|at|top|bottom|left|right|open|closed"
    r"|shown|dark|light)"
)
_NO_OBJECT = r"(?=$|,| (?:in|on|at|to|for|when|while|and|from)\b)"

# Patterns that are strong enough for any clause of a sentence.
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
    r"(?:aqu[ií]|hier|ici) (?:siempre |immer |toujours |nur |solo )?(?:usamos|benutzen wir|verwenden wir|nutzen wir"
    r"|on utilise|nous utilisons) \w",
    r"(?:wir (?:benutzen|verwenden|nutzen)|on utilise|nous utilisons|usamos) \w[^;]{2,60}(?:nicht|statt|pas|au lieu"
    r"|en vez|en lugar|, no) ?\w",
)
_CONVENTIONS = (
    r"the (?:correct|right|proper|preferred|only) way to (?!fix|do|solve|go)[^,;]{3,50} is\b",
    r"(?:our|the|a|team) (?:\w{3,15} )?(?:rule|convention|policy|standard|guideline|agreement)(?: here| in this \w+|"
    r" for \w+)? is\b",
    r"(?:anything|everything|whatever) [^,;]{3,50} (?:needs?|goes|must|has to|gets|requires?|belongs?)\b",
    r"no (?!errors?|warnings?|failures?|problems?|issues?|changes?|tests?|results?|bugs?|need|way|idea)[\w -]{3,40} in"
    r" (?:the )?[\w -]{3,30}s(?: please)?$",
    r"(?:every|each|all|any) [^,;]{2,60} (?:must|has to|have to|go(?:es)? (?:through|in|into|to|via)|belongs?|comes?"
    r" (?:from|with)|gets? an?|has an?)\b",
    rf"(?:every|each|all|any)(?: new| our| the)? {_WORK}\b[^,;]{{0,40}} (?:needs?|should)\b",
    r"our [^,;]{2,50} (?:must|has to|have to)\b",
    r"our [^,;]{2,50} (?:is|are|go|goes|lives?) [^,;]{2,60}, (?:and )?(?:not|never) \w",
    r"(?:whenever|every time|each time|any time) [^,;]{5,90}, (?:it|you|we|they) (?:needs?|must|ha(?:s|ve) to)\b",
    rf"(?:this|the|our) {_HERE} (?:uses?|needs?|requires?|targets?|follows|runs? on|is on|is pinned)\b",
    rf"(?:(?:in|on|for|within) (?:this|our|the) {_HERE},? |here,? )?we (?!(?:use|keep|call|store) (?:an?|some|it"
    rf"|them)\b)(?:only |do |generally |usually |strictly |all |just )?(?:{_WE_DO})\b",
    rf"(?:for|with) (?!now\b|example\b|instance\b)[\w -]{{2,30}},? we (?:only |always )?(?:{_WE_DO})\b",
    r"in (?:this|our|the) team,? we \w",
    r"we (?!(?:see|saw|get|got|have|had|are|were|want|need|can|could|should|will|would)\b)\w+ [^,;]{2,60}, "
    r"(?:and )?not \S",
    r"(?!the |these |those |my |your )[\w -]{3,30}s are \w+(?:ed|en|t) [^,;]{2,40} here\b",
    r"[\w`./-]{2,40} (?:is|are) (?:deprecated|obsolete|legacy|frozen|banned|forbidden|off limits)\b[^,;]{0,25}, "
    r"(?:so )?(?:please )?(?:use|call|import|take|go|don't)\b",
    rf"(?:run|use|update|regenerate|rebuild|bump) [^,;]{{2,60}} (?:after|before|with|on) (?:every|each|any) {_EACH}\b",
    r"(?:write|name|format|phrase) (?:all |your |our )?(?:commit messages|commits|branches|tests|comments|docstrings"
    r"|variables|migrations|pr titles|prs|changelog entries) (?:in|as(?! well)|like|with|without|using)\b",
    rf"no [\w -]{{2,40}} in (?:this|our) {_HERE}\b",
    r"(?:use|write|put|prefer) [^,;]{2,60} (?:in|for) (?:all|every|each)(?: of)? our \w",
    r"all (?:of )?our [\w -]{2,30} (?:are|use|log|go|live|run|have|need|return|write|send|store|speak|expose|follow)\b",
    r"[\w`./* -]{2,50} must not be \w+(?:ed|en|un|t|n)\b",
    r"(?:you|one|we) (?:must|may|should) not \w",
    r"(?:the )?[\w`./ -]{2,50} (?:must|has to|have to) be \w+(?:ed|en|un|t|n)\b (?:with|by|from|in|before|after|on"
    r"|through|via|for)\b",
    r"(?!the |this |that |it |these |those |your )[\w`./ -]{3,50}s (?:must|have to) be (?!fixed|changed|updated|added"
    r"|removed|done|renamed|moved|bigger|smaller)\w+(?:ed|en|un|t|n)\b",
)
# How all things of a kind are handled.
_HABITS = (
    rf"(?:all )?(?:our )?{_WORKS} (?:always )?(?:go|live|belong|target|come|get|start|end|use) (?!up\b|down\b|red\b)\w",
    rf"(?:all )?(?:our )?{_WORKS} are (?:always |only )?(?:named|written|generated|signed|squashed|recorded|stored|kept"
    r"|based|pulled|managed|reviewed|merged|tagged|made|created) (?!yet\b|again\b)\w",
)
_CERTAIN = (
    r"the|this|that|these|those|my|your|his|her|some|two|three|several|many|most|it|its|i|you|they|there|users?"
    r"|customers?|people|errors?|changes|results|things|looks|seems|is|was|does|yes|thanks|links|buttons|images"
)
_GENERAL = (
    rf"all (?:our |the )?[\w -]{{2,30}}s are (?!(?:{_STATE})\b)\w[^?]{{3,}}|"
    rf"(?!(?:{_CERTAIN})\b)(?:[\w-]+ ){{0,2}}[\w-]+[^s\W]s (?:only |always |never |usually |all |just )?"
    r"(?:take|come|need|go|use|return|live|have|get|run|belong|require|follow|contain|share|inherit|expect|accept|store"
    r"|read|write|send|call|start|end|carry|depend|extend|implement|import) (?:an? |the |our |their |from |in |into "
    r"|to |on |with |by |via |through |as |under |at )?\w[^?]{2,}"
    rf"|(?!(?:{_CERTAIN})\b)(?:[\w-]+ ){{0,2}}[\w-]+[^s\W]s are (?:only |always |never )?(?:shown|displayed|stored"
    rf"|kept|sent"
    r"|written|handled|calculated|rounded|cached|loaded|encoded|formatted|validated|created|deleted|archived|billed"
    r"|charged|counted|measured|built|deployed|imported|exported|synced|configured|defined|versioned|translated|hashed"
    r"|encrypted) (?!twice|wrong|now|again|yet)\w"
)
_DECISIONS = (
    r"(?:we|the team)(?: have|'ve)? (?:all )?(?!\w+ (?:with|on|for|to \w+) (?:it|that|this)\b)(?:(?:also|now|finally"
    r"|just|recently) )?(?!\w+ (?:that|this|it) (?:in|on|at|with|last|yesterday|already|together)\b)(?:decided|chose"
    r"|agreed|settled|opted|standardi[sz]ed|switched|migrated|moved (?:away |over )?(?:from|to)|stopped using"
    r"|got rid of|(?:go|went) with|are going with)\b",
    r"(?:we're|we are) (?:going with|sticking with|standardi[sz]ing on|moving to)\b",
    r"(?:we're|we are|we've|we have) (?:now )?(?:replac(?:ing|ed) \w[^,;]{1,40} (?:with|by)"
    r"|(?:switch|migrat)(?:ing|ed) (?:from [^,;]{2,40} )?to|(?:dropping|dropped|retiring|retired|deprecating)) \w",
    r"(?:legal|security|product|finance|management|marketing|ops|compliance|the \w+ team|the (?:client|customer))"
    r"(?: has| have)? (?:decided|agreed|settled|insists?|insisted)\b",
    r"let's (?:stick (?:with|to)|standardi[sz]e on)\b",
    r"(?:let's|we'll|we will|i'd) go (?:with|for) [^;?]{3,120}\b(?:for|in) (?:all|every\w*|any\w*|new|our)\b",
)
_PREFERENCES = (
    r"i (?:always|never) (?:want|like|expect|need) \w",
    r"(?:i|we) (?:always |generally |usually |really |strongly |much )?(?:prefer|favou?r) (?!the\b|an?\b)",
    r"prefer (?!the\b|which\b)",
)
_COMPLAINTS = (
    r"(?:stop|quit) (?!running|waiting|working|watching|asking|talking|trying|being|doing)\w{2,20}ing\b",
    r"avoid\b",
)

# Features that make an order last: a place, a reason, an alternative.
_LASTING = (
    rf"\b(?:in|for|on|within|across) (?:this|our|the|all|any|every) (?:\w+ )?(?:{_HERE}s?|tests?|services|handlers"
    rf"|modules|files|migrations|tables?|database|db|api|schema|frontend|backend)\b"
    r"|\b(?:in|for) (?:\w+ )?(?:tests|handlers|modules|migrations)\b"
    r"|\b(?:everywhere|anywhere|here|in ci|in prod(?:uction)?|by hand|manually|directly|without \w+|ever|every \w+)\b"
)
_REASON = (
    r"\b(?:because|since|otherwise|as (?:it|they|we)|so that|due to)\b|[,;–—-] ?(?:it|they|that|this|we|there"
    r"|these) (?:gets?|is|are|runs?|locks?|breaks?|contains?|has|have|will|would|makes?|chokes?|takes?|'s|'re|uses?"
    r"|come|comes|causes?|need|needs|got)\b|, (?:most|all|half|some|many|everything) (?:of )?[^,;]{2,40} (?:is|are"
    r"|lives?|needs?|depends?)\b|, [\w ]{3,30} (?:depends?|rel(?:y|ies)) on (?:it|them|that|this)\b"
    r"|, the \w+ (?:\w+ )?(?:chokes?|breaks?|rejects?|overwrites?|ignores?|depends?|can't|cannot)\b"
)
_INSTEAD = r"\binstead\b|[,;:.–—-] ?(?:use|run|take|call|go through|put|import|prefer|ask|write|read|get|inject|rely)\b"
_CONTRAST = (
    r",? (?:and|und|et|y) (?:not|nicht|pas|no)\b|, ?(?:not|never|nicht|pas|no|nie) \w|, ?(?:not|never|nicht|pas"
    r"|no) [`'\".@/-]|\binstead of\b|\brather than\b|\bnot\b[^,;]{1,60}\bbut\b|\bstatt\b|\bsondern\b|\bau lieu d"
    r"|\ben (?:vez|lugar) de\b|^instead of\b"
)
_FACT = (
    r"\b(?:is|are|isn't|aren't|lives?|goes|go|needs?|uses?|runs?|has|have|belongs?|must|requires?|takes?|expects?"
    r"|returns?|comes?|supports?|sits?|listens?|starts?|stores?|reads?|picks?|points?|was|were|don't|doesn't|only"
    r"|called|ist|sind|liegt|liegen|est|sont|es|son|est[aá]n?|we're|it's|there's|rejects?|accepts?|delivers?|depends?"
    r"|can't|cannot|has to|have to)\b"
)
_PLACED = (
    r"\b(?:lives?|is|are|goes|go|belongs?|sits?|sit) (?:in|into|under|at|on|next to)\b|\bneeds?\b|\brequires?\b"
    r"|\bmust\b|\bhave to\b|\bonly\b|\bwe use\b|\bdeprecated\b"
)
_CODE = r"`|\d|\w[_/.@:=*]\w|\w/|(?<!\w)[./~-]+\w|[a-z][A-Z]|(?<![\w.])[A-Z]{2,}"
USE = (
    r"(?:use|benutze?|verwende?|nutze?|utilise|usa|run|call|take|import) (?!\d|(?:the|that|this|these|those|it|a|an"
    r"|another|our|your|both|them)\b)\S"
)
_MUST = r"(?:for [\w./ -]{2,40},? )?(?:you|one) (?:must|have to|need to|has to|should) (?!be |see |know |fix |add )\w"


def is_rule(body: str) -> bool:
    """Tell whether a sentence opens like a rule: "always …", "never …"."""
    return _starts(_RULES, body)


def is_property(body: str) -> bool:
    """Tell whether "always" or "never" qualifies a property or a place, not an action: "always visible"."""
    return compiled(rf"(?:always|never) {_NO_VERB}\b{_NO_OBJECT}[^;]{{0,40}}$").match(body) is not None


def is_convention(body: str) -> bool:
    """Tell whether a sentence opens like a convention of the project."""
    return _starts(_CONVENTIONS, body)


def is_duty(body: str) -> bool:
    """Tell whether a sentence says what something should or must always or never do."""
    return compiled(r"(?:[\w-]+ ){1,3}(?:should|must) (?:always|never) \w").match(body) is not None


def is_habit(body: str) -> bool:
    """Tell whether a sentence says how all things of a kind are handled."""
    return _starts(_HABITS, body)


def is_decision(body: str) -> bool:
    """Tell whether a sentence opens like a decision."""
    return _starts(_DECISIONS, body)


def is_stack(body: str) -> bool:
    """Tell whether a sentence names the technology of the project: "we are on MySQL 8"."""
    return (
        compiled(r"(?:we're|we are) (?:still |all |stuck )?on (?!it\b|the\b|a\b|branch\b|vacation\b)[\w.-]+").match(
            body
        )
        is not None
    )


def is_preference(body: str) -> bool:
    """Tell whether a sentence opens like a preference."""
    return _starts(_PREFERENCES, body)


def is_complaint(body: str) -> bool:
    """Tell whether a sentence asks to give up a habit."""
    return _starts(_COMPLAINTS, body)


def is_prohibition(body: str) -> bool:
    """Tell whether a sentence opens with "don't", "not", "no" or a foreign equivalent."""
    return compiled(r"(?:don't|do not|dont|not|no|kein\w*|pas de) [\w`.]").match(body) is not None


def is_ban(body: str) -> bool:
    """Tell whether a sentence says not to do something."""
    return compiled(r"(?:don't|do not|dont) [\w`.]").match(body) is not None


def is_swap(body: str) -> bool:
    """Tell whether a sentence prefers one thing over another of its kind: "use a real button, not a div"."""
    return compiled(r"use an? [^,;]{3,60}, (?:and )?(?:not|never) an? \w").match(body) is not None


def is_limit(body: str) -> bool:
    """Tell whether a sentence allows one thing only: "only touch en.json"."""
    return (
        compiled(r"only (?:ever )?(?:touch|edit|change|modify|use|commit|push|deploy|import|write|add)\b").match(body)
        is not None
    )


def is_about_one(body: str) -> bool:
    """Tell whether a sentence forbids an action on one particular thing: "don't rename the column"."""
    return (
        compiled(r"(?:don't|do not|dont) \w+ (?:the|an?|that|this|my) (?:[\w-]+ )?[\w-]*[^s\W](?=\W|$)").match(body)
        is not None
    )


def is_everywhere(body: str) -> bool:
    """Tell whether a sentence names a place or a manner that holds beyond the task."""
    return compiled(_LASTING.replace("|here|", "|")).search(body) is not None


def is_requirement(body: str) -> bool:
    """Tell whether a sentence says what "you" or "one" must do."""
    return compiled(_MUST).match(body) is not None


def is_need(body: str) -> bool:
    """Tell whether a sentence says what things of a kind need: "bucket names need the env as prefix here"."""
    start = r"(?!the |this |that |these |those |it |i |we |you |my |your )[\w`./ -]{3,40}"
    return compiled(start + r"s (?:always )?need (?!to be |more\b)\w").match(body) is not None


def is_use(body: str) -> bool:
    """Tell whether a sentence says to use a thing by its own name."""
    return compiled(USE).match(body) is not None


def is_general(body: str) -> bool:
    """Tell whether a sentence states something about all things of a kind: "mutations take a single input object"."""
    if compiled(_GENERAL).match(body) is None:
        return False
    return compiled(r"\b(?:please|again|fix|wrong|weird|ugly|missing|broken|slow|too)\b").search(body) is None


def binds(body: str) -> bool:
    """Tell whether a sentence says what must be, not only what is."""
    return compiled(r"\b(?:must|mustn't|has to|have to|never|always|needs? to)\b").search(body) is not None


def is_known_fact(body: str) -> bool:
    """Tell whether a sentence says how things of a kind are, or that something is as it is on purpose."""
    place = rf"{_WORKS} (?:in|of|from) (?:the|our) [\w -]{{2,20}} are (?!(?:{_STATE})\b)[\w-]+"
    handled = rf"{_WORKS} are \w+(?:ed|en)\b [^,;]{{0,40}}\b(?:by|with|via|after|before|through|from|as|once|only)\b"
    if compiled(rf"(?:our |all )?(?:{place}|{handled})").match(body):
        return True
    meant = compiled(r"\b(?:by design|on purpose|intentional(?:ly)?|deliberate(?:ly)?)\b").search(body) is not None
    return meant and is_fact(body)


def is_fact_with_order(body: str) -> bool:
    """Tell whether a sentence states a fact and what therefore not to do, or what to do first."""
    fact = r"(?!it |that |this |you |i |we )[^,;]{4,90}\b(?:is|are|lives?|sits?|needs?|requires?|gets?) "
    found = compiled(
        fact + r"(?!\d)[^,;]{2,80}, (?:so )?(?:please )?(?:don't|do not|never|start|run|export|install) \w"
    ).match(body)
    return found is not None and (names_something(body) or compiled(_LASTING).search(body) is not None)


def forbids_with_reason(body: str) -> bool:
    """Tell whether a sentence says what "you" cannot do, and why."""
    return compiled(r"you (?:can't|cannot|can not) \w").match(body) is not None and has_reason(body)


def is_kept(body: str) -> bool:
    """Tell whether a sentence says that something has to stay as it is, and why."""
    return compiled(r"keep (?:the|our|all|every) \w").match(body) is not None and has_reason(body)


def is_placed_order(body: str) -> bool:
    """Tell whether a sentence says what to use, where and why: "run clippy with --all-features here, most of it is
    …"."""
    if not is_use(body):
        return False
    placed = compiled(rf"\bin (?:this|our) {_HERE}\b").search(body) is not None
    here = compiled(r"\bhere\b").search(body) is not None
    return placed or (here and (has_reason(body) or contrasts(body)))


def is_named_tool(body: str) -> bool:
    """Tell whether a sentence says to use, or not to use, one thing by its name."""
    return compiled(rf"(?:not to |to not |to |don't |do not |never |always )?{USE}").match(body) is not None


def is_placed(body: str) -> bool:
    """Tell whether a sentence opens with the project or the team it holds for."""
    return compiled(rf"(?:for|in|on|within|across) (?:this|our|the) (?:\w+ )?{_HERE}\b,? \w").match(body) is not None


def lasts(body: str) -> bool:
    """Tell whether a sentence has a place, a reason or an alternative, which make an order last."""
    return any(compiled(pattern).search(body) for pattern in (_LASTING, _REASON, _INSTEAD))


def without_reason(body: str) -> str:
    """Return the part of a sentence before its reason."""
    return compiled(r"\b(?:because|due to|since|, as)\b").split(body, maxsplit=1)[0]


def has_reason(body: str) -> bool:
    """Tell whether a sentence gives a reason."""
    return compiled(_REASON).search(body) is not None


def contrasts(body: str) -> bool:
    """Tell whether a sentence contrasts two things: "X, not Y", "X instead of Y"."""
    return compiled(_CONTRAST).search(body) is not None


def is_fact(body: str) -> bool:
    """Tell whether a sentence states a fact."""
    return compiled(_FACT).search(body) is not None


def is_placed_fact(body: str) -> bool:
    """Tell whether a sentence says where something is, or what is needed."""
    return compiled(_PLACED).search(body) is not None


def names_something(text: str) -> bool:
    """Tell whether a text in its own case contains a number, a path, an identifier or code."""
    return compiled(_CODE).search(text) is not None


def _starts(patterns: tuple[str, ...], body: str) -> bool:
    """Tell whether a sentence begins with one of these patterns."""
    return any(compiled(pattern).match(body) for pattern in patterns)
