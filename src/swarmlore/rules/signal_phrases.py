"""Turns of phrase that give a signal beside the plain words: what people say where they do not say "never" or "must".

Matched like the words in `signal_words`: against one masked sentence in lower case, with bounded gaps.
"""

from __future__ import annotations

_TROUBLE = (
    r"(?:bug|crash(?:es)?|deadlock|hang|hangs|leak|race|regression|outage|flake|flakiness|failure|error|errors|delay"
    r"|slowdown|slowness|stall|timeouts?|mismatch|drift|corruption|duplicates?|hole|breakage|conflict|noise|glitch"
    r"|exception|panic|segfault|loop|spike|drop|lag|problem|issue|garbage|symptom|behaviou?r)"
)
_CURED = (
    r"(?:fixe[sd]|solve[sd]|resolve[sd]|cure[sd]|heal(?:s|ed)|remove[sd]|clear(?:s|ed)(?: up)?|stop(?:s|ped)|end(?:s"
    r"|ed)"
    r"|eliminate[sd]|avoid(?:s|ed)|help(?:s|ed)|(?:got|gets) rid of|makes? (?:it|them|both|all)(?! \d)|made (?:it"
    r"|them|both)(?! \d)"
    r"|(?:gets?|got|brings?|brought) (?:it|them|things|everything)|did the trick|does the trick|was enough|is enough"
    r"|did it|(?:brings?|brought) (?:it|them) back)"
)
_DOUBT = (
    r"(?![^.;]{0,120}\b(?:seem\w*|appear\w*|might|maybe|perhaps|may|could|probably|should|would|didn't|doesn't"
    r"|not)\b)"
)
_ANY_FOLK = r"(?:everything|anything|nothing|nobody|no one|no-one|everyone|everybody)"

CAUSE = (
    r"^what (?:broke|caused|made|slowed|blocked|killed|confused|was (?:eating|breaking|blocking|killing"
    r"|wrong))\b[^?]{2,80}(?: was\b|:)|(?:is|was|are) explained by",
    rf"(?<!suspect )(?<!guess )(?<!think )(?:^(?!i\b)|\b(?:the|this|that|all (?:the|those)|those"
    rf"|these) )(?:[\w-]+ ){{0,4}}{_TROUBLE}(?: [\w-]+){{0,5}}?"
    r" (?:came|comes|come|stems?|stemmed|originate[sd]?|resulted|is|was|were|are) (?:\w+ly )?(?:from|due to|down to)",
    r"^(?:it |that |this )?(?:was )?caused by|(?:stems?|stemmed|originated|resulted) from|traced (?:it |this "
    r"|that )?(?:back |down )?to"
    r"|boil(?:s|ed) down to|(?:came|comes|come) down to|(?:was|were|is|are) (?:due|down) to|(?:was|were|is) to blame"
    r"|(?:it|that|this) (?:came|comes) from",
    r"the (?!plan|idea|goal|hope|thought|point|deal|feedback|agreement|answer|result"
    r"|good)(?:[\w-]+ )?[\w-]+ was that\b"
    r"|(?:was|were|is) (?:red-)?slow because|(?:that's|that is|which is|this is) why (?:it|the|we|they|every|all"
    r"|nothing|our)\b",
)
FIX = (
    r"^(?:ok,? |okay,? |so,? )?(?:solved|fixed|resolved)[:,]",
    r"(?<!i )(?<!we )(?<!you )(?<!'ve )(?<!have )(?<!to )(?:solved|fixed|cured|resolved) (?:it|this|that"
    r"|the (?:problem|issue|bug|crash|hang|leak))\b(?! (?:yet|already))",
    r"the (?:real |actual |right |final )?(?:fix|solution|trick|workaround|remedy) (?:for|to"
    r"|of) [^,;.?]{2,60} (?:was|is)\b",
    rf"(?:^|(?<=[,;] )){_DOUBT}(?!nothing|anything|something|everything|during"
    rf"|morning)[a-z]{{2,}}ing\b[^.;]{{3,140}}\b{_CURED}\b",
    r"resolved once|(?:fixed|solved|resolved|cured|went away|stable again|works again) (?:once|after|as soon as"
    r"|since|when) (?:i|we|the|it|you) \w+"
    r"|the recipe (?:is|stays|remains)|brought (?:it|them|the [\w ]{2,30}) (?:back|down|from|to|under)|did the trick"
    r"|(?:is|was) what (?:cure[sd]|fixe[sd]|help(?:s|ed)|solve[sd]|worked|works)|(?<=, )that worked"
    r"|(?:finally )?got (?:it|this|that|them) (?:to work|working|going|running)(?: again)?(?: by| with| after)"
    r"|(?:gets?|got) (?:it|things|them) (?:going|working|running) again|the (?:cure|way out|antidote) (?:is|was)"
    r"|it's fixed now,|(?:cured|worked around) (?:it|this|that) (?:by|with)",
)
RECURRING = (
    r"every (?:couple of |few |other )?(?:weeks?|days?|months?)|"
    r"whenever |(?:twice|three|four|five|several|\d+) times (?:this|in|now|already|before)|"
    r"(?:second|third|fourth|fifth|\d+(?:nd|rd|th)|nth|umpteenth) time (?:this|in|we|that|now|it|the)|(?:every"
    r"|each) (?:single )?time|every (?:release|deploy|upgrade|month|sprint|monday) we"
    r"|same (?:[\w-]+ ){0,4}(?:as (?:in|last|the|before)|again|story|thing)|again the same|like (?:the )?last times?"
    r"|as in the (?:\w+ )?(?:earlier|previous|last)"
    r"|keeps? (?:coming back|happening|biting)|(?:came|comes|is) back|recurring|over and over|time and again"
    r"|once again|yet again"
)
HELPS = (
    rf"\b(?:{_CURED}|helped|helps|cures?|the (?:answer|recipe|fix|cure) (?:is|stays|was)"
    rf"|got [^,;.]{{2,40}} (?:moving|going|working|running)|works again|is gone|goes away)\b"
)
DECISION = (
    r"the (?:better|best|right) (?:approach|choice|option|call) (?:is|was)|(?:the )?trade-?off (?:is|was)"
    r"|(?<!i )should(?:'ve| have) (?:used|gone|picked|chosen|started|been|split|kept)|we(?:'re"
    r"| are) (?:standardi[sz]ing"
    r"|dropping|keeping|moving everything)|(?:the )?(?:choice|pick) (?:is|was|fell on)|we picked|we've chosen"
    r"|we chose",
)
FOUND = (r"the (?:lesson|takeaway|moral)(?: here| learned)? (?:is|was)|^(?:lesson|takeaway)[:,]",)
CORRECTION = (
    r"you [^?]{3,60} without (?:asking|telling|checking|running|testing|reading|a test|permission)\b",
    r"(?:“…”|(?:the )?(?:word|term) \S+)(?: (?:for us|here|around here|always|in (?:our|this) [\w ]{2,20}))?"
    r" (?:means?|stands for"
    r"|is short for|refers to|denotes)\b|in our [\w ]{2,20}?,? (?:an? |the )?“…” (?:is|are)\b|“…” (?:in our|for us"
    r"|here)[\w ]{0,20} (?:is|are)\b",
    r"(?:is|are|means?|uses?|runs?|lives?|goes|starts?|takes?|costs?|listens?|belongs?)\b[^,;?]{1,60}, not (?:just"
    r" )?[\w`“'][^?]{0,60}$",
    r"(?:tired|sick) of (?:repeating|saying|telling|seeing|reminding|explaining)",
    r"i said (?:to )?(?!i\b|that i|it was|yes\b|so\b|the\b|an?\b|this\b|these\b)\w+|why do i (?:have|need) to"
    r" (?:repeat|say|tell)"
    r"|\w+ time i (?:have to|had to|'ve had to) (?:say|tell|repeat|explain)",
    r"how many times(?=\s?[?!.])|you(?:'re| are) (?:still|again) \w+ing|you(?:'ve| have) (?:again|once more)"
    r"|same mistake|for the last time|(?:we(?:'ve| have)? (?:been over|been through|talked about|discussed"
    r"|gone over))"
    r" (?:this|that|it)\b|(?:that|this|it) (?:already |has |had )?(?:broke|burned|burnt|bit|cost|hurt"
    r"|killed)[^.;?]{0,40}"
    r" (?:last time|before|already|twice|once|us\b)|(?:got|were) (?:burned|burnt|bitten)",
    r"you (?:left|forgot|missed|did|used|broke|skipped|dropped|added|put|wrote|changed|removed"
    r"|made)\b(?!.{0,200}like (?:that|this) again)[^?]{0,60}\bagain[.!]*$"
    r"|i asked (?:for|you)[^?]{2,80}\b(?:and|but) you\b|you said [^?]{2,60}\bbut\b",
    r"^once more[:,]|^again[:,]|^(?:no|nope),? (?:use|take|call|do it|go) [^?]{2,80} instead\b",
    r"(?:the|that|this|your|those|these) (?:[\w-]+ ){1,3}(?:is|are) (?:all |still |plain |just |simply )?(?:wrong"
    r"|incorrect)"
    r"(?=[,.!:;–—]|$)",
)
RULE = (
    r"(?:is|are|it's|that's) (?:an? |our |the |strictly |absolutely |simply )?(?:no-?go|taboo|off the table"
    r"|off-limits"
    r"|out of the question|non-negotiable|unacceptable|not (?:acceptable|an option|ok(?:ay)?(?= (?:to|in|for|with"
    r"|here))"
    r"|optional|negotiable|allowed|permitted|welcome)|verboten|sacred|untouchable|set in stone|hard (?:rule"
    r"|requirement"
    r"|limit)|frozen(?=[,.;]|$)|illegal here)",
    r"^no (?!need|worries|problems?|idea|thanks?|rush|doubt|one\b|longer|more questions|objections?|changes?|clue"
    r"|way\b"
    r"|luck|errors?|warnings?|issues?|output|response|answer|news|difference|progress|failures?|results?|sign|matter"
    r"|time"
    r"|question|tests? (?:ran|found)|reason|logs? |real|big|hurry|pressure)[\w-]+(?: [\w-]+){0,3}"
    r" (?:in|on|for|inside|outside|without|before|after|within|during|anywhere|except|unless|please|ever)\b",
    r"(?<=, )(?:ever|period|full stop|end of story|no excuses|no ifs|no discussion|without exception)\W*$"
    r"|^(?:period|full stop|no exceptions|always|never|every time|every single time)[.!]*$",
    r"(?<!it )(?<!that )(?<!this )(?<!there )(?<!he )(?<!she )(?<!one )has to \w+|\w[^s\W]s have to \w+",
    r"^(?:please )?use [^,;:]{2,90}[,;:–—] (?!please\b|then\b|and\b|i\b|or\b|we'll\b|not\b"
    r"|if\b)(?:[^,;]{2,60} )?\w+[^s\W]s\b"
    r"|^(?:please )?use [\w`…./-]+ for \w+ing\b|^(?:please )?(?:use|take|go with) (?!this\b|that\b|it\b|these\b"
    r"|those\b|the (?:second|first|other))[^,;?]{1,60} instead\b(?! of)"
    r"|^instead of [^,;]{2,80}, (?:please )?\w+",
    r"^(?:please )?(?:answer|reply|respond)\b (?:me )?(?:in|with|short\w*|brief\w*|more|only|concise\w*|direct\w*"
    r"|first)\b"
    r"|^(?:please )?(?:be|stay) (?:more |a bit |much |very )?(?:brief|concise|terse|direct|specific|honest|explicit"
    r"|precise|short|sceptical|skeptical|thorough)\b|shorter (?:answers|replies|messages)|less (?:verbose|chatty"
    r"|fluff|prose)"
    r"|(?:spare me|skip|cut|drop|leave out) the (?:summar|recap|preamble|pleasantr|intro|apolog|praise|essay|lecture"
    r"|fluff)\w*"
    r"|i (?:don't|do not) (?:need|want)(?: to (?:see|read|hear))? (?:an?y? |your |the |any |these |those "
    r"|more )?(?:long )?"
    r"(?:summar|explanation|apolog|recap|preamble|essay|lecture|commentar|emoji|surpris)\w*",
    r"(?:don't|doesn't|do not|does not) belong|ha(?:s|ve) no (?:business|place) (?:in|on|being)|that's how (?:we"
    r"|this|things)"
    r"|(?:not )?how (?:we|things) (?:do|work|are done|name|write|build|ship)\w* (?:it |that |this |things )?(?:here"
    r"|around here|in this)",
    rf"^{_ANY_FOLK} (?!else|works?\b|looks?\b|seems|pass(?:es|ed)|failed|changed|happens?|happened|was|were|fine|ok"
    rf"|good|i\b"
    r"|you\b|is (?:fine|ok|okay|good|green|working|done|broken|wrong|set|ready|in place|back)|knows|cares|noticed"
    r"|wants|likes"
    r"|complained|got|came|shows?\b|went|worked)(?:[^,;.?]{2,50} )?(?:[a-z]+[^s\W]s|may|must|can|leave|land"
    r"|should)\b",
    r"(?:^|(?<=[,;] )|and |so )only (?:the |an? |our )?[\w-]+(?: [\w-]+){0,4} (?:may|can|should|is allowed|are"
    r" allowed"
    r"|gets? to)\b",
    r"i (?:want|expect|insist|'d like|would like|need) (?:you to |that |to see |every|all|each|a |an "
    r"|the )[^?]{0,120}"
    r"\b(?:each|every|always|whenever|before|first|in future|everywhere|all)\b(?! (?:one|other))",
    r"\b(?:required|mandatory) (?:in|on|for|before|by)\b|(?:isn't|is not|aren't|are not) (?:optional|negotiable"
    r"|up for)",
)
EFFORT = (
    r"after (?:roughly |about |over |almost |nearly |some |many |like )*(?:\d+|an?|one|two|three|four|five|several"
    r"|half an?|countless)"
    r" (?:\w+ )?(?:hours?|days?|minutes?|weeks?|attempts|tries|approaches)\b(?: of| into| later| debugging)"
    r"|after (?:trying|bisecting|digging|much|a lot of|hours|days)\b|been debugging|wasted time on"
    r"|(?:hours?|days?|weeks?|afternoons?|nights?) of (?:debugging|bisecting|digging|searching|head[- ]?scratching"
    r"|pain)",
)
CAVEAT = (
    r"you(?:'ll| will) have to [^,;?]{2,60} (?:after|before|when|first|once)\b|(?:is|are) documented (?:as"
    r"|to)[^.;]{2,80}\bbut\b",
    r"^to (?:build|run|test|deploy|start|compile|flash|install)\b[^?]{2,80}\byou(?:'ll)? need\b|you need (?:the |an?"
    r" )?[\w .-]{2,40}\d",
    r"(?:build|suite|tests?|script|server|watcher|compiler|linter|emulator|simulator|cli|deploy|importer?|worker|job"
    r"|migrations?|jest|pytest"
    r"|docker|make|npm|gradle|container) (?:\w+ )?(?:hangs?|fails?|crash(?:es)?|dies|stalls?|refuses?|blocks?) (?:if"
    r"|when|unless|without)\b"
    r"(?! (?:i|we|you|users?|the user|clicking|opening|my)\b)",
    r"(?:readme|docs?|documentation|manual|guide|spec) (?:says?|claims?)[^.;]{1,100}, (?:it|that|this|they) (?:isn't"
    r"|is not|doesn't|don't|aren't|won't)\b",
    r"(?:you|one) (?:have|need) to [^,;?]{2,80} or (?:else|it|they|the|\w+ing)\b|(?:reference|guide|example|page"
    r"|tutorial) (?:is|are) (?:wrong|outdated|out of date|stale)",
    r"(?:error|message|warning|log|name)[^,;.?]{0,40} (?:is|was) (?:really |totally |completely |very )?misleading",
    r"(?:changelog|release notes|website|vendor|datasheet|spec|tutorial|guide|readme|docs?|documentation) (?:says?"
    r"|claims?|states?|promises?|suggests?|mentions?)[^.;]{1,140}\b(?:but|in reality|in practice|actually|in fact"
    r"|yet|though)\b",
    r"(?:docs?|manual|readme|documentation|spec|datasheet|comments?|wiki) (?:is|are) (?:just |simply "
    r"|plain )?(?:wrong|outdated|out of date|lying|stale)",
    r"works? only (?:with|if|when|on|in|from|after|under|for|once|inside|without)|only (?:accepts?|takes?|supports?"
    r"|allows?"
    r"|understands?|starts?|handles?|speaks?) (?!me\b|us\b|a (?:minute|second|moment))",
    r"(?:you'll|you will|you|one|they|it|this|that|which|build|tests?|script|step|app|job|suite|service"
    r"|tool) needs? (?!to\b|more\b"
    r"|some\b|your\b|help|an? (?:new|nicer|better|bigger|fix|test|review|refactor))[^,;?]{2,60} (?:installed"
    r"|on (?:the|your) path"
    r"|running|enabled|for the|first|mounted|set|to (?:run|build|work|start|compile|pass))\b|you'll need (?!to\b)",
    r"needs? to be (?!fixed|done|changed|updated|renamed|reviewed|rewritten|refactored)[^,;?]{1,60}(?: first\b"
    r"|,? (?:otherwise|or|before|because|for)\b)"
    r"|needs? [^.;?]{2,80}(?:[,;–—-]| or| otherwise) ?(?:otherwise|or else|(?:or )?(?:it|they"
    r"|the [\w ]{2,20})(?: just| will|'ll)* (?:hangs?|fails?|breaks?|crash(?:es)?|refuses?|times? out|dies|won't"
    r"|can't|skips?|stops?))\b"
    r"|requires? (?!you\b|us\b|me\b|an? (?:new|change|refactor\w*|rewrite|fix|bit|lot|little))[^,;?]{2,80}(?:on|in"
    r"|to|for|at|installed|running|version|set|or)\b",
    r"(?:won't|doesn't|does not|don't) (?:work|run|build|compile|start) (?:with|on|in|behind|without|unless|because"
    r"|under|inside|for)\b"
    r"|(?:in|not )compatible with|conflicts? with|clash(?:es)? with|(?:version|v)\.? ?[\d.x]+ (?:is )?(?:required"
    r"|needed|breaks)",
    r"(?:according to|per) (?:the )?(?:[\w.-]+ ){0,3}(?:docs?|documentation|manual|readme|spec"
    r"|changelog)\b[^.;]{1,160}\b(?:but|in practice"
    r"|in reality|actually|in fact|though|yet|however)\b|not mentioned in|nowhere (?:mentioned|to be found)"
    r"|red herring",
    r"the (?:error|message|warning|stack ?trace|log)(?: message)? (?:says?|said|claims?|points?|blames?|talks?"
    r"|suggests?)"
    r"[^.;]{1,120}\b(?:but|although|while|yet|though|actually)\b",
    r"(?:there's|there is) an? (?:quirk|trap|snag|catch|limit|oddity|subtlety)\b|(?:trap|snag|quirk|oddity)[:,]",
)
INSIGHT = (
    r"(?:p\d\d|latency|memory|time|size|cpu|usage|count) (?:drops?|dropped|falls?|fell|goes|went) (?:down )?(?:to"
    r"|from|by)\b",
    r"^[a-z]+ing\b[^.;?]{3,100}\b(?:halve[sd]|double[sd]|triple[sd]|saves?|saved|shaved|cuts?|reduce[sd]|sped up"
    r"|speeds up)\b",
    r"(?:brought|brings|took|takes|cut|cuts|reduced|reduces|dropped|shrank|went|sped|speeds?|down"
    r"|up)\b[^;?]{0,60}\bfrom [\d.,]+ ?\S* to (?:under |about |roughly )?[\d.,]+"
    r"|cut (?:the |our )?[\w ]{2,40} (?:in half|by (?:half|\d+))",
    r"\d+(?:[.,]\d+)? ?(?:x|times) (?:speed-?up|faster|slower|smaller|quicker|improvement|less|fewer|cheaper)"
    r"|(?:performance|throughput|latency|memory use|build time|runtime|start-?up)[^,;.]{0,40} (?:improved|dropped"
    r"|went (?:down|up)"
    r"|degraded|halved|doubled|fell|rose|shrank)|bottleneck (?:was|is)|\bn\+1\b|memory leak from|timeouts? because"
    r"|was (?:a )?(?:dead end|waste of time|the wrong approach)|scales (?:better|worse)|the (?:right abstraction"
    r"|pattern for)"
    r"|(?:doesn't|does not|didn't) work because|should be (?:separated|decoupled|extracted)",
    r"(?:tried|trying) [^.;]{2,100} but (?:it|that|they|the \w+) (?:doesn't|does not|didn't|isn't|can't"
    r"|won't) \w+ (?:behind|with|on|for"
    r"|without|because|in|when)\b|don't bother (?:with|trying)",
)
NOTE = (
    r"heads[- ]?up|\bfyi\b|just so (?:you|we|that)|for the record|^(?:and |also )?(?:please )?note(?: that|:)"
    r"|be aware|mind that"
    r"|for your information|worth (?:knowing|noting)|good to know|^(?:nb|ps|psa|reminder)[:,]|so be careful"
    r"|careful with",
)
ADVICE = (
    r"(?:works?|worked|reads?|scales?) (?:much |way |far )?better than|so (?:stay|stick|go) with"
    r"|please follow the same|i(?:'d| would) (?:rather (?:you|we|have|see|keep|use|not)|prefer(?! (?:it|that|this"
    r"|the (?:second|first|last|other))\b))|i (?:really |generally |usually |strongly "
    r"|personally |much )?prefer(?! (?:it|that|this|the (?:second|first|last|other|\w+ (?:theme|one|version"
    r"|colou?r)))\b)|my preference|preferably|best practice"
    r"|(?:it's|it is|it would be) (?:better|best|safer|wiser|good practice) to|(?:you|we)(?:'d| had) better"
    r"|^better to"
    r"|i (?:like|favou?r) [^.;?]{2,60} (?:better|over|more than)|should (?:really|generally|usually|ideally|rather)\b"
    r"|^(?:please )?try to (?:keep|avoid|use|write|stay|stick)",
)
PRAISE = (
    r"^(?!.{0,40}\b(?:is it|was it)\b)[a-z]+ing [^,;?]{2,50} (?:was|is) (?:the )?right(?: thing| move|"
    r" decision)?(?=[,.!]|$)|^love (?:the|your|how) ",
    r"(?:that|this) (?:was|is) (?:an? )?(?:very |really )?(?:helpful|useful|nice|clear|clean|elegant)\b",
    r"(?:is|was|are) (?:exactly |just )?(?:what|how) (?:i|we) (?:had in mind|wanted|meant|like|pictured|imagined)"
    r"|^(?:great|good|nice|glad|happy|love) that (?:you|it)\b",
    r"exactly (?:the|my|this|that) [^?]{2,60}\b(?:i|we) (?:want|need|like|mean|had|was|were)\w*",
    r"(?:is|was|are) (?:spot on|the right call|the right (?:way|approach|shape|level))|that(?:'s| is) how i like"
    r"|i'd like you to keep \w+ing|thanks for (?:asking|checking|waiting|testing|catching|not) "
    r"|^(?:good|nice|great|excellent|correct|clean|solid|neat|clever|elegant|smart) (?:approach|solution"
    r"|implementation|refactor\w*"
    r"|design|structure|naming|fix|catch|choice|call|explanation|summary|write-?up|pattern)\b"
    r"|(?:much|way|far|so much) (?:better|cleaner|nicer|clearer|more readable|easier to read)|(?:big|huge"
    r"|real) improvement"
    r"|(?:this|that)(?:'s| is) (?:exactly |just )?what i (?:want|like|expect|need|was (?:looking|hoping))"
    r"|(?:that's|this is) (?:the spirit|what i'm talking about|how i like it|how it should be)",
)
KEEP = (
    r"(?:use|do|apply|follow) (?:it|that|this|the same) (?:for|in|on|to) (?:the |all )?(?:other|rest|remaining"
    r"|all)\b",
    r"do (?:that|this|it|so) (?:again|more|every|each|at the end of|from now on|for all|everywhere|in future)",
)
GUESS = (
    r"(?:you|one) (?:may|might|could) (?:want|like|also)|i (?:have (?:a|the) (?:feeling|hunch|suspicion)|believe"
    r"|reckon|imagine)|pretty sure|afaik|iirc|imh?o|as far as i (?:know|remember)|(?:may|might|could) have (?:helped"
    r"|been|caused|\w+ed)|feels? (?:heavy|odd|off|clunky|slow|wrong|strange|too)|thinking (?:out loud|aloud)|could"
    r" (?:save|help|make|avoid|simplify|reduce|replace"
    r"|give)|don't quote me|lean(?:ing)? towards?|no strong (?:feelings?|opinions?|preference)"
    r"|tempted to|toying with|may be (?:a )?(?:coincidence|worth"
    r"|better|just|nice|related)|could be worth|(?:would|might|could|may)(?:n't| not) hurt|my (?:hunch|guess|gut"
    r"|impression|feeling)"
    r"|gut feeling|i(?:'m| am) (?:inclined|thinking|half)|at some point|some ?day\b|down the (?:road|line)"
    r"|so far so good"
    r"|(?:not|isn't|aren't) (?:entirely |totally |really |100% |so )?(?:sure|certain|convinced)|nice to have"
    r"|this approach works"
    r"|found (?:a|this|an) (?:\w+ )?(?:tool|library|package|plugin|crate|gem)\b|we could|one could|better off"
    r"|may well|arguably"
    r"|(?:i|we) (?:might|may)\b|worth (?:a look|exploring|thinking|looking)|it felt|feels? (?:quicker|slower|faster"
    r"|cleaner|nicer)",
    r"vulnerability|(?:keys?|secrets?|tokens?|credentials?|passwords?) (?:was|were|are|is|got) (?:exposed|leaked"
    r"|visible)|bypass (?:\w+ ){0,2}(?:rls|auth"
    r"|checks?|security)|injection possible|privilege escalation",
)
# Half of it is denied, or it is told of another place and time.
FALSE = (
    r"\b(?:they|he|she|management|the (?:client|customer|boss|board|pm)) (?:have |has |'ve )?decided\b[^;]{0,120}"
    r"|\bthat's what i (?:thought|see|saw|got|get|feared|did|had)\b",
    r"\bheads[- ]?up,?:? (?:that )?i(?:'m|'ll| am| will)\b[^;]{0,80}",
    r"\bexactly the (?:error|problem|issue|bug|message|same)\b",
    r"\bi(?:'m| am) not sure (?:what|i\b|how to|where)\b[^;]{0,80}",
    r"\b(?:build|deploy\w*|tests?|suite|run|request|query|job|upload|download|page"
    r"|it) took [^,;.]{2,30}(?: to (?:build|run|deploy|load|compile|start|finish|complete)\b|$)",
    r"\bi think (?:so\b|(?:it's|that's|we're|this is|you're|it is|that is) (?:done|fine|ok|okay|good|right|ready"
    r"|enough|all|it)\b)|\b(?:it's|it is) not that\b[^;]{0,200}",
    r"\bdon't quote me\b(?: on (?:it|that|this))?",
    r"\b(?:i'm|i am|we're|nobody's|nobody is) not saying\b[^;]{0,200}|\bnot saying (?:that )?[^;]{0,200}"
    r"|\b(?:doesn't|does not|didn't|don't|do not) (?:necessarily )?(?:mean|imply)\b[^;]{0,200}"
    r"|\bthat's not to say\b[^;]{0,200}",
    r"^exactly (?:one|two|three|four|five|six|ten|once|twice|zero|half|\d+|when|where|why|which|how many)\b",
    r"\b(?:great|good|nice|cool|ok|okay|fine),? (?:thanks?|thx|ty|cheers|thank you)\b(?: (?:a lot|so much|man|mate"
    r"|again))?[.! )]*$",
    r"\bif it turns out\b[^;]{0,120}|\bthe (?:problem|issue) is (?:that )?(?:the |our )?[\w ]{2,30} (?:is"
    r"|are) (?:down|offline|away|slow today)\b",
)
# Texts that nobody in the room wrote.
FOREIGN = (
    r"^(?:please |ok,? |okay,? |actually,? |no,? |sorry,? )*(?:scrap|forget|ignore|disregard|scratch"
    r"|strike) (?:what i|that\b|it\b|my |the (?:rule|bit|part|thing))"
    r"|\b(?:redistributions?|copyright notice|hereby|herein|thereof|licensees?|licensors?|merchantability"
    r"|sublicen[sc]e"
    r"|permission notice|in no event shall|terms and conditions)\b"
    r"|\b(?:my|at the|in my|an?) (?:old|last|previous|former|ex-?|earlier) ?(?:job|team|company|employer|boss"
    r"|workplace|gig)\b"
    r"|\bback (?:in the day|then|in \d{4})\b|\bwhen i was (?:a|at|young)\b|\bused to (?:always|never)\b"
)
# A sentence that only stresses the one before it.
POINTS_BACK = (
    r"(?:unacceptable|not acceptable|not ok(?:ay)?|absolutely not)[.!]*$|"
    r"(?:please |so |and |but |pls )?(?:(?:keep|bear) (?:that|this|it) in mind|remember (?:that|this|it)"
    r"|don't forget (?:that|this|it))"
    r"(?: please| pls)?[.!]*$|(?:always|never|ever|every (?:single )?time|no exceptions|period|full stop|immer"
    r"|toujours|siempre|nie"
    r"|jamais|nunca)[.!]*$|(?:lost|spent|wasted|took|cost)\b[^,;]{2,40}[.!]*$"
    r"|(?:i (?:want|need|expect) (?:that|this|it)|(?:keep|go on|carry on|continue|more of|do) (?:it )?(?:that|this"
    r"|like that|like this|so))\b[^?]{0,40}$"
    r"|the (?:manual|docs?|readme|documentation|spec|wiki) (?:is|are) (?:wrong|outdated|out of date)[^,;?]{0,30}$"
    r"|sigue \w+ así|(?:weiter so|continue comme ça)[.!]*$"
    r"|(?:that's|that is|this is) (?:our|the|a) (?:\w+ )?(?:rule|policy|convention|standard)[.!]*$"
)
