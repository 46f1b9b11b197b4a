"""By which words a signal is known, by level and by the way in which it teaches, and by which it only seems one.

All patterns are matched against one sentence in lower case with plain apostrophes, in which names and quotations are
masked; a sentence is short, and every gap is bounded.
"""

from __future__ import annotations

from swarmlore.rules import signal_phrases as phrases
from swarmlore.rules import signal_tongues as tongues

HIGH = "high"
MEDIUM = "medium"
LOW = "low"
OBSERVATION = "observation"
# What only a person can say: an agent's rules are advice, its praise is its own.
PERSONAL = frozenset(("rule", "correction", "praise", "keep", "advice", "note"))

_THING = r"(?:issue|problem|bug|culprit|cause|failure|blocker|catch)"
_WERE = r"(?:was|is|were|turned out|turns out)"
_AMOUNT = (
    r"(?:\d+(?:[.,]\d+)?|an?|one|two|three|four|five|six|ten|twenty|thirty|several|half an?|a few|a couple of"
    r"|most of the"
    r"|the (?:whole|entire|better part of the)|countless|many|way too many|too many)"
)
_SPAN = r"(?:hours?|hrs?|minutes?|mins?|days?|weeks?|afternoons?|mornings?|evenings?|nights?|h)"
# Where an order may begin: at the start of a sentence or of a clause.
_CLAUSE = (
    r"(?:^|(?<=[,;:–—-] )|(?<=\()|(?:and|but|so|then|or|please|pls|just|also|though|ok|okay|no|you|we|they|people"
    r"|again|really"
    r"|to"
    r"|and please|here|there|now|hey|well|actually|ever|first|important) )"
)
_ABOUT_IT = r"(?:that|this|it|you|these|those|they|the (?:first|second|last) one)"
_STATES = r"(?:'s|'re| is| are| was| were| looks| seems| sounds)"
_QUITE = r"(?: (?:just|still|plain|simply|also|completely|totally|clearly|so|all|just plain|quite|very|really|again))?"
_FINE = (
    r"(?:perfect|exactly|excellent|great|nice|good|correct|brilliant|awesome|lovely|fantastic|wonderful|superb"
    r"|amazing|beautiful|spot on|neat)"
)
# What may follow a word of praise: "nice work", "great, thanks"; not "nice weather", "good morning", "exactly 5".
_PRAISED = (
    r"(?=\W*$|\s?[,.!:;)–—-]| (?:job|work|one|catch|find|stuff|thanks|thank|thx|that|this|it|and|but|now|so|like"
    r"|again"
    r"|then|indeed|as"
    r"|what|how|right|solution|approach|fix|refactoring|result|explanation|start|progress|we|i|you|to go|mate|man"
    r"|answer|summary)\b)"
)

CUES = (
    (HIGH, "cause", (
        rf"root causes?(?: found| identified)?(?: {_WERE}|:| of)(?! (?:still |yet |as yet )?(?:unknown|unclear|not"
        rf"|to be|open|a mystery))|the (?:actual |real |underlying |true |whole |main )?{_THING}"
        rf"(?: (?:here|there|in the end))? {_WERE}(?! (?:(?:that )?(?:i (?:can't|cannot|don't)|…)|gone|fixed|still"
        rf"|now|back"
        rf"|the same|resolved|solved|known)\b)",
        r"(?:was|is|were|are|got|being) (?:actually |really )?caused by"
        r"|the (?:real )?reason(?: why)?[^,;.]{0,60} (?:was|is)\b",
        r"(?:failed|broke|crashed|happened|hung|timed out) (?:only )?because|(?:it was|was) [^,;.]{2,60} all along",
        *phrases.CAUSE, *tongues.CAUSE,
    )),
    (HIGH, "fix", (
        r"(?:was|is|were|got|can be|be) (?:fixed|resolved|solved) by|fixed by|resolved by|solved by|cured by",
        r"the (?:real |actual |right |final )?(?:fix|solution|trick|workaround|remedy|answer) (?:was|is"
        r"|turned out)(?! (?:in|at|ready|done|applied|complete|pushed|live|deployed)\b)",
        r"(?:what|that) (?:fixed|solved|resolved|helped) (?:it|this|that)|(?:fixed|solved|resolved) (?:it|this"
        r"|that) (?:by|with)",
        r"fixed it,|(?:fix|workaround|solution|remedy):",
        *phrases.FIX, *tongues.FIX,
    )),
    (HIGH, "decision", (
        r"decided (?:to|on|that|against|in favou?r)|(?:chose|picked|preferred|took) [^,;.]{1,60} over|chose to",
        r"(?:we'll|we will|let's|i'll|we're going to) go with|(?:we're|we are) going with",
        r"went with|ended up (?:going with|using|with|choosing|picking)|let's agree|opted (?:for|to)|settled (?:on"
        r"|for)|agreed (?:to|on|that)|(?:the|our) decision (?:is|was)"
        r"|decision:",
        *phrases.DECISION, *tongues.DECISION,
    )),
    (HIGH, "found", (
        r"found the (?:actual |real )?(?:culprit|cause|bug|problem|issue|reason|root cause|error)|^aha[,!:]",
        r"turns out|turned out|it transpires|figured (?:it |this |that )?out|found it\b(?! (?:in|on|at|under|here"
        r"|there)\b)|found out (?:that|why|what"
        r"|how)",
        r"worked out (?:that|why|how)|learned (?:that|the hard way)|learnt (?:that|the hard way)|lesson learn(?:ed|t)"
        r"|til:",
        *phrases.FOUND, *tongues.FOUND,
    )),
    (HIGH, "correction", (
        r"again(?=\s?!?\?)|i said (?:no|not|never|don't|use|to|that|it|only)|not what i (?:asked|wanted|meant|said"
        r"|told)",
        r"(?:that|this|it)(?:'s| is| was) (?:exactly |still )?(?:the |a )?wrong \w+|you(?:'ve| have)? got (?:it|that"
        r"|this) (?:all )?wrong"
        r"|you (?:misunderstood|misread|mixed up)",
        r"i(?:'ve| have| had)?(?: already| just)? (?:told|asked|reminded) you|not again|how many times|as i (?:said"
        r"|told)",
        r"you (?:keep|kept) (?:on )?\w+ing|you (?:forgot|did it"
        r"|broke) [^?]{0,60}\bagain",
        r"(?:for )?the (?:second|third|fourth|fifth|tenth|hundredth|umpteenth) time|i(?:'ve| have) said (?:it|this"
        r"|that|so)",
        rf"{_ABOUT_IT}{_STATES}{_QUITE} (?:wrong|incorrect|not right|not correct|not true|not what i|not how|false"
        rf"|mistaken)",
        r"(?:^|(?:no|nope|nah|sorry|hm+)[,.!]* )(?:wrong|incorrect)(?! with|[\w ]{0,20}, sorry)"
        r"|(?:[,.!] )wrong \w+(?=\s?[:,.–—-])"
        r"|not like (?:that|this)|incorrect(?=[.!,]|$)|that's not it",
        r"you (?:used|picked|chose|edited|took|changed|have|got|are in|are on) the wrong",
        r"(?:that|this|it) (?:isn't|ain't) (?:right|correct|true|what i|how (?:we|it|i|you))",
        *phrases.CORRECTION, *tongues.CORRECTION,
    )),
    (HIGH, "rule", (
        r"^(?:all |every |each |our |any )?(?:[\w-]+ ){0,3}[\w-]+s should (?:be|use|have|go|live|return|start|end"
        r"|come"
        r"|stay|follow|carry)"
        r"|^(?:all|every|each|any) [\w -]{2,40} (?:should|goes|go|needs?|has|have) ",
        r"^(?:please )?keep (?!going|doing|it up|in mind|me|an eye)[^,;]{2,80} (?:out of|in|within|under|away from"
        r"|separate|small|short|free of|below"
        r"|apart|sorted|up to date|together|at|as)\b",
        r"^(?:please |and |also )?(?:before|after|when|whenever|once|each time|every time|if) (?:you|we|a|an|any|each"
        r"|every|adding|changing|writing"
        r"|editing|touching|making|committing|pushing|merging|creating|\w+ing)\b[^,;]{2,80}, (?:please |also "
        r"|always )?(?!i\b|it\b|the\b|there|that"
        r"|this|we (?:get|see)|you (?:get|see|will|can)|can|could|would|they|what|how|why|is|are|nothing"
        r"|everything)\w+",
        r"(?:you|we|they|everyone|people|everybody) (?:have|need|are supposed|'re supposed"
        r"|ought) to\b(?=.{0,120}\b(?:each|every|all|any|whenever|before"
        r"|first|otherwise|here)\b)|(?<!s )(?<!ed )whenever (?:we|you|someone|somebody|anyone|an?|there|something)",
        r"you should (?:be |have )?us(?:e|ing|ed)|(?:should|let's|please) (?:become|turn (?:this|that|it) into"
        r"|make (?:this|that|it)|be) a (?:\w+ )?(?:skill"
        r"|workflow|recipe|playbook)",
        r"the rule is|(?:the )?(?:correct|right|proper) way (?:is|to)|you should know|remember (?:that|to\b|this"
        r"|these"
        r"|the following)"
        r"|remember[:,]"
        r"|don't forget|do not forget|never forget|keep in mind|bear in mind|rule of thumb|house rule|by convention",
        r"from now on|from here on|going forward|moving forward|in (?:the )?future,|as a rule|our (?:rule|convention"
        r"|policy)"
        r"|the (?:convention|policy) is|under no circumstances|at all times|no exceptions|on no account",
        r"(?:must|should|may|can|shall) (?:not|never|always|only)|mustn't|shouldn't|ought not|(?:may|can)not ever"
        r"|may not",
        rf"{_CLAUSE}(?:don't|do not|dont)(?! (?:i|we|they|you think|you know)\b)",
        r"never(?! again$)|always|must(?! i\b)|ask (?:me |us )?(?:first|before)|^next time",
        r"(?<!to )(?<!n't )(?<!will )(?<!would )(?<!they )stop \w+ing",
        rf"{_CLAUSE}(?:stop|quit|cease) (?:\w+ing\b|it\b|that\b|this\b|with\b)|{_CLAUSE}(?:avoid|refrain from) \w+",
        r"(?:is|are|be|it's|that's|strictly|absolutely|you're) (?:always |strictly |absolutely )?(?:required"
        r"|mandatory"
        r"|forbidden"
        r"|prohibited|not allowed|off limits|banned)|^required:|required (?:to|on|for every)",
        r"(?:have|has|need|needs) to (?!be (?:fixed|done|updated|changed|renamed|removed|added|finished|ready|merged"
        r"|rewritten)\b)(?:be|go|stay|live|come|pass|match|end|start|have)"
        r"(?![^.;]{0,80}\b(?:otherwise|or else|first|up|running|installed|enabled|started)\b)",
        rf"{_CLAUSE}(?:use|run|call|write|say|take|import|prefer) [^;.]{{1,80}}(?:,| and| -)? (?:not|instead of"
        rf"|rather than|in place of|never)\b",
        r"^(?:(?:so|and|but|ok|okay|please),? )*(?:can|could|would|will) (?:you|we) (?:please |maybe |just )?(?:stop"
        r"|not"
        r"|always|never|avoid|only)",
        r"^no (?!need|worries|problem|idea|thanks|thank|rush|doubt|one|longer|more questions|objections?|changes?"
        r"|clue|errors?|warnings?|issues?|failures?|results?"
        r"|way|luck)"
        r"(?:\w+ ){0,2}\w+s\b",
        r"^(?:only|just) ever |it's \w+, not \w+|we (?:only|don't|do not) (?:ever )?\w+",
        *phrases.RULE, *tongues.RULE,
    )),
    (MEDIUM, "effort", (
        rf"(?:debugging|chasing|fighting|stuck|staring|hunting|struggling|searching)[^,;.]{{0,40}} for (?:the (?:past"
        rf"|last) )?(?:{_AMOUNT} )?{_SPAN}",
        rf"(?:spent|spend|took|wasted|lost|cost|burned|burnt|needed)(?: me| us| him| her| them)?(?: about| over"
        rf"| almost| nearly"
        rf"| around| roughly| more than| like)? {_AMOUNT} (?:\w+ )?{_SPAN}",
        *phrases.EFFORT,
    )),
    (MEDIUM, "caveat", (
        r"(?:(?:the|their|its|official) ){0,2}(?:docs?|documentation|manual|readme|guide|man page)(?: \w+)? (?:say"
        r"|says|claims?|states?"
        r"|promises?"
        r"|suggests?)[^.;]{1,120}\b(?:but|yet|though|in fact|in reality|actually)\b",
        r"contrary to (?:the |its |their )?doc\w*|(?:un|(?:not|isn't|aren't|nowhere|never) )documented"
        r"|misleading (?:error|message|name|warning)"
        r"|(?:the )?error(?: message)? (?:is|was) misleading|confusing error|silently (?:ignore|drop|fail|swallow"
        r"|skip"
        r"|return)\w*",
        r"(?:requires?|needs?) [^,;.]{1,60}(?:to be )?installed|(?:only|just) works?(?= (?:with|if|when|on|in|inside"
        r"|for|under"
        r"|because|as|from|after|on|over|once|without))|only (?:runs?|builds?|supported) (?:on|with|in|if|when)"
        r"|has to be run",
        r"^(?:be )?careful\b|only works?|watch out|beware|gotcha|pitfall|caveat|known (?:bug|issue) in|breaks? (?:if"
        r"|when|as soon as)"
        r"|won't work (?:if|unless|without)",
        *phrases.CAVEAT, *tongues.CAVEAT,
    )),
    (MEDIUM, "insight", phrases.INSIGHT),
    (MEDIUM, "note", phrases.NOTE),
    (MEDIUM, "advice", (
        r"i(?:'d| would) (?:rather|prefer(?: it)? if|like it if) (?:you|we)",
        r"(?:make|be) sure(?! (?:of|about)\b)(?: (?:to|you|that|we|the|it|every|all)\b)?|make certain|see to it that"
        r"|take care (?:to|that)"
        r"|ensure that",
        *phrases.ADVICE, *tongues.ADVICE,
    )),
    (MEDIUM, "keep", (
        r"keep (?:doing|it up|using|going like|writing|it (?:that|this) way|that up|them (?:that|this) way|it like)"
        r"|continue (?:with|doing|to (?:use|do|write))|stick (?:with|to)|more (?:of this|of that|like this|like that)"
        r"|carry on (?:with|like)|do (?:it )?(?:more|exactly) like (?:this|that)",
        *phrases.KEEP, *tongues.KEEP,
    )),
    (MEDIUM, "praise", (
        r"(?:yes,? )?(?:just |exactly )?like that(?=[.!, ]|$)|well done|(?:great|good|nice|excellent|amazing"
        r"|fine) (?:job|work|catch"
        r"|find|stuff)|(?:exactly|precisely) (?:(?:what|how|as) (?:i|we)(?:'d)? (?:want|need|mean|ask|had in|like"
        r"|hoped|imagin)\w*|like|right|that|this)|i (?:really |quite |also |do )?(?:love|like) (?:it|this|that|how"
        r"|the way)|^(?:love|like) (?:this"
        r"|that|it|the)",
        rf"^(?:(?:yes|yeah|yep|yup|ok|okay|oh|wow|ah|hm|very|really|so|cool|thanks|that|much"
        rf"|no),? ){{0,2}}{_FINE}{_PRAISED}",
        rf"(?!it was )(?:that|this|it|these|those|which|all|everything|diff|code|version|tests?|one)(?:'s|'re| is"
        rf"| are| was"
        rf"| looks?"
        rf"| reads?| works?| sounds?| feels?){_QUITE} (?:much )?(?:{_FINE}|right|better)(?! (?:now\?|idea|enough"
        rf"|question|point|to|in)\b)",
        rf"^looks? (?:really |very |all )?(?:{_FINE}|right)|^lgtm\b|^(?:works|reads) (?:great|perfectly|well|nicely)",
        r"works like a charm|^(?:yup|yes|yep|yeah),? that's the one|^\W*(?:👍|💯|🎉|❤|👏|🙌)|^[^\w…]{0,6}(?:perfect"
        r"|exactly)\W*$",
        r"that's (?:it|the way|how|what i|more like it)(?! (?:how|what) it)|^spot on|^bravo|^kudos|^yes!+$"
        r"|^(?:love it"
        r"|nailed it)",
        *phrases.PRAISE, *tongues.PRAISE,
    )),
    (LOW, "guess", (
        r"maybe|perhaps|might (?:want|be|make|need|help|have)|consider(?:ing)?|could (?:work|be|also|maybe|perhaps)"
        r"|probably"
        r"|possibly|presumably|i (?:guess|suspect|suppose|assume|think|wonder)|not sure|worth (?:a try|trying"
        r"|considering)",
        r"(?:seems?|appears?) (?:the|it|this|there|we)\b|seems? (?:like|to|that|as|ok|fine|\w+ to)|appears? (?:to"
        r"|that"
        r"|as)|looks? (?:like|as if|as though)"
        r"|sounds? like|feels? like",
        r"interesting(?:ly)?|(?:good|great|nice|neat|fair) (?:idea|point|thought|suggestion)|curious(?:ly)?",
        *phrases.GUESS, *tongues.GUESS,
    )),
    (LOW, "change", (
        r"(?:moving|switching|migrating) (?:over |away )?(?:to|from|off)|discovered|noticed|observed|realised"
        r"|realized"
        r"|(?:switched|migrated|moved|changed|upgraded"
        r"|ported) (?:over )?(?:to|from|off)"
        r"|replaced [^,;.]{1,80} (?:with|by)|swapped [^,;.]{1,80} for|dropped [^,;.]{1,40} in favou?r",
        *tongues.CHANGE,
    )),
)  # fmt: skip

# Where a cue is only a manner of speaking: masked before cues are looked for.
_NOT = r"(?:don't|do not|dont|doesn't|didn't|needn't|not need to|not have to)"
_NO_MATTER = (
    r"(?:worry|mind|know|think|care|see|bother|sweat|remember|understand|get it|believe|recall|feel|mean|like it"
    r"|want(?! (?:to see|you to|any|these|those|this kind))"
    r"|hurry|panic|be sorry|have (?:to|any|a|the|time)|need|have\b)"
)
_GOING_WRONG = (
    r"(?:loads|works?|finishes|hangs?|crash(?:es)?|fails?|ends|stops|listens?|completes|starts|breaks|happens?"
    r"|appears"
    r"|responds|shows up|hits|connects|times out|gets (?:here|stuck|called|there)|complain|pass(?:es)?|run|succeeds?)"
)
_SURELY = (
    r"(?:have (?:been|\w+(?:ed|en|one|ot|ft|st))\b|be (?:kidding|joking|it|him|her|why|because|some\w*|\w+day\b"
    r"|missing"
    r"|wrong|right|nice|the\b|there|fun|tired|a (?:joke|bug|typo|mistake|misunderstanding|coincidence|glitch)))"
)
_FALSE = (
    r"\bnever ?mind\b(?: (?:the|that|this) [\w ]{2,40})?|\bnvm\b",
    # nothing is wrong
    r"\b(?:is|are|was|were|'s|'re)(?: |n't )?(?:not|n't|nothing|never) (?:\w+ )?(?:wrong|incorrect|bad)\b"
    r"|\bnot wrong\b",
    r"\b(?:isn't|aren't|wasn't) (?:really |all that )?(?:wrong|incorrect|bad)\b|\banything wrong\b",
    r"\bnothing(?:'s| is)? (?:is )?(?:wrong|incorrect|bad)\b|\b(?:don't |do not )?get me wrong\b|\bcan't go wrong\b"
    r"|\bwrong \w+, sorry\b",
    r"\bi (?:was|am|'m) (?:wrong|mistaken)\b|\bi stand corrected\b|\bcorrect me if\b",
    # nothing is asked for
    r"\b(?:not|never|no longer|isn't|aren't|wasn't|n't)(?: (?:strictly|really|absolutely|always|even|be|been|yet"
    r"|actually))?"
    r" (?:required|mandatory|necessary|needed|a must|an issue)\b",
    rf"\b{_NOT}(?: (?:really|even|you|always|necessarily|strictly|ever|actually|all))? {_NO_MATTER}[^,;:]{{0,120}}",
    r"\bno need to [^,;:]{0,120}|\bneedn't [^,;:]{0,120}|\bnone? of (?:this|that) is required\b",
    r"\bif (?:you|we|i|they|it|one|someone) (?:don't|do not|doesn't|never|always|must|can't|mustn't)\b[^,;]{0,120}",
    r"\b(?:so|in order|such) (?:that )?(?:you|we|it|they|i|he|the \w+) (?:don't|do not|doesn't|never|always|must)\b",
    # half of it is denied
    r"\bnot (?:always|never|necessarily|exactly|perfect(?:ly)?|quite|too (?:bad|good|great)|bad|good|great|nice"
    r"|sure if)\b",
    r"\b(?:isn't|aren't|wasn't) (?:always|necessarily|exactly|perfect|quite|good|great|nice)\b|\bnot yet decided\b",
    r"\b(?:not sure|don't think|doubt) (?:if |whether |that )?(?:that|this|it)(?:'s| is) \w+",
    r"\bnot that (?:it|that|this)(?:'s| is)[^,;]{0,120}|\bnever gonna\b|\bno longer (?:forbidden|banned|a rule)\b",
    r"\b(?:haven't|have not|hasn't) (?:yet )?(?:decided|figured|found)\b",
    # somebody speaks of themselves
    r"\bi(?: do|'d| would| will|'ll|'ve| have| had| can| could)?(?: also| still)? (?:never|always|must|don't|do not"
    r"|didn't"
    r"|can't)\b(?! (?:want|expect|prefer|like (?:it|to see)|need|insist|ask)\b)|\bi must (?:say|admit|have)\b",
    r"\bi should(?:n't| not| never)? have\b|\b(?:i|you) (?:couldn't|can't|could not) agree more\b",
    # what is thought or told, and no order
    rf"\b(?:it|this|that|there|you|he|she|they|something|someone|we) must {_SURELY}|^must (?:be|have)\b",
    r"\b(?:it|this|that|they|he|she) must be (?:\w+ ){0,3}(?:somewhere|somehow|cached|broken|stuck|down|related|gone"
    r"|running"
    r"|hanging|coming|something|because|late|early|hard|easy|old|new|tired)\b|\bi(?:'m| am) (?:also |still )?(?:never"
    r"|always)\b",
    r"\bthe [\w ]{2,30} must be (?:flaky|broken|stuck|down|cached|wrong|missing|gone|old|stale|slow|busy|full"
    r"|corrupt\w*|locked)\b|\bdon't stop\b[.!]*$"
    r"|\bthere must be (?:a|an|some|another) (?:\w+ )?way\b|\bwould (?:never|always)\b",
    r"\bnever (?:seen|saw|heard|had|got|worked|happened|been|said|knew|thought|tried|used (?:it|that|this)|touched"
    r"|did"
    r"|noticed|ending|a dull)\b",
    rf"\b(?:never|always) {_GOING_WRONG}\b",
    r"\blooks? like (?:you|i|we)(?:'re|'ve|'m)?(?! (?:use|need|have|run|ship|still))\b",
    # sayings
    r"\b(?:as|like|same as) always\b|\balways (?:welcome|happy|glad|nice|good|fun|a pleasure|been|had|the same)\b",
    r"\bstop (?:here|there|for now|by|the server|it now)\b|\bonce and for all\b|\bnow or never\b|\bnever say never\b",
    r"\bbetter late than never\b|\ba must(?:-| )have\b|\bthe good news\b",
    r"\b(?:good|great|nice|fine) (?:morning|afternoon|evening|night|day|luck|question|try|grief|to (?:see|know"
    r"|meet))\b",
)
FALSE_ALARMS = "|".join((*_FALSE, *phrases.FALSE, *tongues.FALSE))
# Nothing is said to anybody: plans and thoughts.
HYPOTHETICAL = (
    r"\blet's (?:assume|pretend|imagine)\b|\bi wish\b|^if (?:the|this|that) (?:fix|change|problem|issue|cause"
    r"|theory)\b|"
    r"\b(?:what if|if only|had (?:i|we|you|it|they)|suppose|supposing|hypothetically|imagine|let's say|let us say"
    r"|in theory|say we|assuming (?:we|you"
    r"|it|that))\b"
    r"|\bif\b[^;]{2,200}\b(?:would|could|might)\b|\b(?:would|could|might)\b[^;]{2,200}\bif\b|\bwould (?:it|that"
    r"|have)\b|^(?!.{0,80}\b(?:maybe|perhaps|wonder|probably|better|nice|feeling|think|believe|guess|suspect"
    r"|hunch)\b).{0,300}\bwould be\b"
    r"|\bwhether\b[^;]{2,80}\b(?:or not|or)\b|^either\b"
)
# Somebody else's words, told without marks of quotation.
REPORTED = (
    r"\baccording to\b|(?<!i )(?<!i've )(?<!have )(?<!already )told (?:me|us)\b|\b(?:he|she|they|colleague|boss"
    r"|manager|lead|customer|client|book|article|blog|blog post|post"
    r"|wiki|tutorial"
    r"|guide|linter"
    r"|compiler|docs?|documentation|manual|readme|man page|spec|rfc|standard|users?|customers?|testers?|comment"
    r"|label|title|message|error|warning"
    r"|log|logs"
    r"|output|tool|banner|checker|someone|somebody|text|caption|button|ticket|issue|answer|page|sign"
    r"|prompt)(?: (?!you\b|i\b|we\b|before\b|has\b|to\b)[\w./-]+){0,3}?"
    r" (?<!to )(?:says?|said|writes?|wrote|reads?|states?|stated|claims?|claimed|prints?|printed|complain(?:s|ed)?"
    r"|reports?(?= that)|reported|told me"
    r"|tells? (?:me|you|us)"
    r"|goes|warns?"
    r"|insists?|recommends?|recommended|suggests?|mentions?|mentioned)\b"
)
QUESTION = (
    r"(?:(?:so|and|but|ok|okay|hm+|well|wait|sorry|please|also|then|hey),? )*(?:"
    r"(?:is|are|was|were|does|did|can|could|should|shall|would|will|must|may|has|had|isn't|aren't|doesn't|didn't"
    r"|can't"
    r"|couldn't"
    r"|shouldn't|wouldn't|won't|wasn't) (?:i|we|you|he|she|it|they|that|this|these|those|there|the|an?|any\w*|all"
    r"|every\w*|our"
    r"|my|your|some\w*)\b"
    r"|(?:do|have|don't) (?:i|we|they|these|those)\b|do you\b|have you\b"
    r"|(?:which|what|whose|how)(?: \w+){1,3} (?:do|does|did|is|are|can|should|would|will) (?:you|we|i|they|it|the)\b"
    r"|(?:what|why|when|where|who|whom|whose|which|how)(?:'s|'re| is| are| was| were| do| does| did| can| could"
    r"| should| would"
    r"| will| must| have| has| else| about| come| many| much| often| long| decided| wrote| broke| the hell)\b)"
)
# A request in the form of a question, and a reproach.
ASKED = (
    r"^(?:(?:so|and|but|ok|okay|please),? )*(?:can|could|would|will) we (?:please )?(?:stop|not|avoid)\b"
    r"|^(?:(?:so|and|but|ok|okay|please),? )*(?:can|could|would|will) you (?:please |maybe |just )?(?:stop|not|always"
    r"|never|avoid"
    r"|only|make sure|remember)\b|\bagain\s?[?!]+$|^how (?:many times|often) (?:do|must|should) i\b"
)
NO_REPROACH = r"^(?:should|shall|can|could|may|do|must|will|would|is|are|does|what|when|where|who|which) "
ASKED_TAIL = r",? (?:ok|okay|got it|understood|alright|please|clear|deal|yeah|agreed)\s?\?+$"
TASK_CLAUSE = (
    r"\b(?:that|which|who|where|why|how|whether|saying|so that|called|named|titled|entitled|to say"
    r"|with the text) [^,;]{0,200}|: .{0,600}$"
)
# A rule inside of a task stands in a clause of its own: "run `make gen`, never edit the output".
OWN_CLAUSE = r"(?:[,;.–—-] ?|\b(?:and|but) )(?:\w+ ){0,2}$"
# Orders for this once.
ONCE = (
    r"\bcurrently\b|"
    r"^before (?:you|we) (?:start|begin|continue|go on|do anything)\b|"
    r"\b(?:for now|this time|this once|right now|today|tonight|yet|for the moment|(?:in|for|from|to|on|of) (?:this"
    r"|that|the current)"
    r" (?:pr|pull request|test|file|function|case|commit|branch|change|line|message|class|method|task|one|issue"
    r"|ticket"
    r"|session|step"
    r"|release|sprint))\b"
)
# A list under such a line is a task or somebody else's text.
FOREIGN_LIST = (
    r"\b(?:spec\w*|requirements?|implement|acceptance|criteria|says?|states?|todo|tasks?|steps to|following|below"
    r"|error|output|docs?"
    r"|readme|example|summary|changes|options?|plan)\b"
)
# How an agent behaves: whoever objects to that means it for good.
MANNERS = (
    r"\b(?:apologi[sz]\w*|guess\w*|assum\w+|invent\w*|hallucinat\w+|repeat yourself|rambl\w+|emojis?|over-?explain\w*"
    r"|flatter\w*"
    r"|summari[sz]\w+|verbose|chatty|lectur\w+|sorry|praise)\b"
)
HEDGED = r"^(?:hm+,? |ok,? |so,? )?(?:it )?(?:seems|appears|looks|sounds)\b"
CODE = r"[{}]|=>|[\w)\]] ?== ?[\w('\"]|&&|\|\||\);|\(\) ?[;{]"
# Orders that hold until the work at hand is done.
FOR_THE_TASK = (
    r"\b(?:until (?:i've|i have|we've|it|this|that|you|the)|when (?:you are|you're|it's|you) (?:done|finished|ready"
    r"|finish)"
    r"|line \d+|i (?:mentioned|sent|gave|showed|told)|the (?:first|second|third|last|other) \w+|just (?:explain|plan"
    r"|fix|give|show|tell|answer)|anything else|the (?:first|second|third|last|other) one"
    r"|a new file|before we (?:continue|start)|while (?:i|you))\b|\bfor (?:this|that)[.!]*$"
)
POLITE = r"\b(?:good|great|nice|fair|excellent) (?:idea|point|thought|catch|suggestion|question)\b"
FOR_AN_AGENT = r"you are (?:a|an|the) "
