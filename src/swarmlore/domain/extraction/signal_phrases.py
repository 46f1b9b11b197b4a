"""Phrases that signal something worth keeping, by strength and language; false alarms, questions, reported speech.

They are matched against one masked sentence in lower case, with bounded gaps.
"""

from __future__ import annotations

FOREIGN_RULE = (
    # German: "immer", "nie", "… muss", "bitte keine …", "das ist verboten"
    r"immer(?! noch| wieder| mehr| weniger| schneller| langsamer| größer)|niemals|nie(?! (?:gesehen|gehört|gewusst"
    r"|gedacht|passiert))|auf keinen fall|unter keinen umständen|unbedingt|ab (?:jetzt|sofort)|in zukunft|künftig"
    r"|grundsätzlich|(?:bitte|hier) (?:\w+ )?(?:keine?n?|nicht)|keine?n? [a-zäöüß-]+(?: [a-zäöüß-]+)? (?:in|im|auf|ohne"
    r"|für)|(?:halte?|behalte?) [^?]{2,60}(?:unter|klein|kurz|getrennt)|, sonst |gilt für all|es gilt|(?:ist"
    r"|sind) (?:verboten|tabu|pflicht|nicht erlaubt)|(?:müssen|muss|darf nicht|dürfen nicht|darf nur"
    r"|dürfen nur)(?! ich)|denk(?:e)? (?:dran|daran)|merk dir|^wir (?:schreiben|nutzen|verwenden|benutzen|benennen"
    r"|committen|testen)|frage? (?:mich|uns)|bevor du|vergiss nicht|hör auf|(?:nutze?|verwende?|nimm"
    r"|schreibe?) [^,;?]{2,60}(?:,| und| statt| anstatt| nicht)",
    # French: "il faut", "toujours", "ne … jamais", "ne … pas" with an order
    r"^pas d(?:e|')\s?[a-zéèêàç]+|il (?:ne )?faut(?! voir)|toujours(?! pas| en train| là| lent)|jamais|(?:ne"
    r"|n')\s?[a-zéèêàç-]+(?:\s[a-zéèêàç-]+)? (?:pas|plus|jamais)(?= (?:de|d'|le|la|les|sur|dans|à|en|du|des)\b)"
    r"|interdit|obligatoire|désormais|dorénavant|à partir de maintenant|n'oublie pas|arrête (?:de|d')|évite (?:de|d'"
    r"|les|le|la)|^on (?:utilise|écrit|nomme)|on (?:doit|n'utilise|ne met|ne fait)|(?:doit|doivent) (?:être|passer"
    r"|avoir|toujours)|utilise [^,;?]{2,60}(?:,| au lieu| plutôt| pas )",
    # Spanish: "siempre", "nunca", "hay que", "no uses", "debe"
    r"^(?:usamos|escribimos|nombramos)|siempre|nunca|jamás|hay que|no se (?:usa|usan|permite|hace|toca)n?|no (?:guardes"
    r"|uses|hagas|pongas|toques|borres|cambies|olvides|escribas|subas|añadas|metas|ejecutes|edites|mezcles)|(?:está"
    r"|están|queda) prohibid[oa]s?|es obligatorio|(?:debe|deben|tiene que|tienen que)(?= \w)|a partir de ahora"
    r"|de ahora en adelante|deja de|recuerda que|ten en cuenta|usa [^,;?]{2,60}(?:,| en vez| en lugar| no )|evita ",
)
FOREIGN_CAUSE = (
    r"(?:die|der|das) (?:eigentliche )?(?:ursache|fehler|grund|problem)(?: dafür)? (?:war|lag)|lag (?:daran|an)"
    r"|la cause (?:était|venait)"
    r"|le problème (?:était|venait)|la causa (?:era|fue)|el problema (?:era|fue|estaba)|el error (?:era|fue|estaba)",
)
FOREIGN_FIX = (
    r"(?:die lösung|behoben|gelöst) (?:war|durch|mit|indem)|la solution (?:était|est|a été)|(?:résolu|corrigé"
    r"|réglé) (?:en|avec|par)|la solución (?:era|fue|es)|(?:se )?(?:arregl|solucion|resolv)(?:ó|í|é|amos|imos|ado"
    r"|ido) (?:con|al|poniendo|cambiando)",
)
FOREIGN_DECISION = (
    r"(?:haben|hatten|wurde|habe) (?:uns )?[^,;.?]{0,60}(?:entschieden|beschlossen)|wir (?:entschieden|bleiben bei"
    r"|nehmen jetzt)|on a (?:décidé|choisi|opté)|nous avons (?:décidé|choisi)|(?:hemos )?(?:decidi(?:mos|do)"
    r"|elegi(?:mos|do)|optamos)",
)
FOREIGN_FOUND = (
    r"(?:es )?stellt(?:e)? sich heraus|hat sich herausgestellt|il s'avère|en fait c'était|resulta que|resultó que",
)
FOREIGN_CORRECTION = (
    r"(?:das|es) (?:ist|war) (?:so )?(?:falsch|nicht richtig|verkehrt)|nicht so[,!.]|schon wieder|wie oft (?:noch|soll)"
    r"|ich hab(?:e)? (?:dir )?(?:doch )?(?:schon )?gesagt|c'est (?:faux|incorrect)|pas comme ça|je t'ai déjà dit"
    r"|encore une fois|está mal|eso no es|así no|ya te (?:dije|he dicho)|otra vez no",
)
FOREIGN_PRAISE = (
    r"(?:genau|perfekt|prima|super|klasse|sehr gut|gut gemacht|gute arbeit|passt)(?=[,.! ]|$)(?! (?:wenn|wie viel"
    r"|genommen))|genau so|(?:parfait|super|très bien|bien joué|c'est exactement|excellent travail|impeccable"
    r"|nickel)(?=[,.! ]|$)|(?:perfecto|muy bien|bien hecho|buen trabajo|excelente|así sí|genial|exacto)(?=[,.! ]|$)",
)
FOREIGN_KEEP = (
    r"(?:mach(?:e)? (?:so|genauso) weiter|weiter so|bleib(?:e)? (?:dabei|bei))|continue (?:comme ça|ainsi)|garde (?:ça"
    r"|ce style|cette)|sig(?:ue|amos) (?:así|\w+ando|\w+iendo|con)|mantén (?:esto|este|así)",
)
FOREIGN_ADVICE = (
    r"(?:achte|pass(?:e)?) (?:bitte )?(?:darauf|auf)|lieber [^,;?]{2,60} als|ich (?:würde )?bevorzuge|fais attention"
    r"|assure-toi|veille à|je préfère|asegúrate|ten cuidado|prefiero",
)
FOREIGN_CAVEAT = (
    r"(?:funktioniert|läuft|geht|baut) nur (?:mit|auf|unter|wenn|in)|braucht [^,;?]{2,60}(?:, sonst| installiert"
    r"| sonst)|ne (?:marche|fonctionne|tourne) qu(?:e|'|')"
    r"|solo funciona (?:con|en|si)|sólo funciona|necesita [^,;?]{2,60} (?:instalad|si no|o si no)\w*",
)
FOREIGN_GUESS = (
    r"vielleicht|eventuell|vermutlich|wahrscheinlich|könnte(?:n)? (?:man|wir|das|es|ein)|scheint|ich glaube"
    r"|mal überlegen|evtl\.?|peut-[eê]tre|sans doute|probablement|on (?:dirait|pourrait)|il semble|je pense que|à voir"
    r"|quiz[aá]s?|tal vez|a lo mejor|probablemente|parece que|podr[ií]amos|creo que",
)
CHANGE = (
    r"(?:sind|haben) [^,;.?]{0,40}(?:umgestiegen|gewechselt|ersetzt)|(?:on est|nous sommes) passés? (?:à|de)"
    r"|(?:hemos )?cambia(?:mos|do) (?:a|de)",
)
# Foreign questions, which may lack a question mark, and phrases that only sound like a rule.
FOREIGN_QUESTION = (
    r"(?:(?:und|aber|also|oder),? )?(?:soll(?:en)? (?:ich|wir)|muss (?:ich|man|das)|darf (?:ich|man)|warum|wieso"
    r"|weshalb|wann|wer|wie (?:oft|kann|geht|soll)|kannst du|könntest du)\b"
    r"|est-ce\b|faut-il\b|pourquoi\b|comment\b|(?:peux|pourrais)-tu\b|¿|por qué\b|(?:puedes|podrías)\b"
)
FOREIGN_FALSE = (
    r"\bimmer (?:noch|wieder)\b|\bfast immer\b|\bwie immer\b|\bnie mehr gesehen\b|\bpresque toujours\b"
    r"|\bcomme toujours\b|\bcasi siempre\b|\bcomo siempre\b|\b(?:muss|müssen) (?:ich|wohl|gestern)\b|\bno importa\b"
    r"|\bpas de (?:souci|problème)\b|\bne t'inquiète pas\b|\bkeine (?:sorge|ahnung|eile)\b",
)


_TROUBLE = (
    r"(?:bug|crash(?:es)?|deadlock|hang|hangs|leak|race|regression|outage|flake|flakiness|failure|error|errors|delay"
    r"|slowdown|slowness|stall|timeouts?|mismatch|drift|corruption|duplicates?|hole|breakage|conflict|noise|glitch"
    r"|exception|panic|segfault|loop|spike|drop|lag|problem|issue|garbage|symptom|behaviou?r)"
)
_CURED = (
    r"(?:fixe[sd]|solve[sd]|resolve[sd]|cure[sd]|heal(?:s|ed)|remove[sd]|clear(?:s|ed)(?: up)?|stop(?:s|ped)|end(?:s"
    r"|ed)|eliminate[sd]|avoid(?:s|ed)|help(?:s|ed)|(?:got|gets) rid of|makes? (?:it|them|both|all)(?! \d)|made (?:it"
    r"|them|both)(?! \d)|(?:gets?|got|brings?|brought) (?:it|them|things|everything)|did the trick|does the trick"
    r"|was enough|is enough|did it|(?:brings?|brought) (?:it|them) back)"
)
_DOUBT = (
    r"(?![^.;]{0,120}\b(?:seem\w*|appear\w*|might|maybe|perhaps|may|could|probably|should|would|didn't|doesn't|not)\b)"
)
_ANY_FOLK = r"(?:everything|anything|nothing|nobody|no one|no-one|everyone|everybody)"

CAUSE = (
    r"^what (?:broke|caused|made|slowed|blocked|killed|confused|was (?:eating|breaking|blocking|killing"
    r"|wrong))\b[^?]{2,80}(?: was\b|:)|(?:is|was|are) explained by",
    rf"(?<!suspect )(?<!guess )(?<!think )(?:^(?!i\b)|\b(?:the|this|that|all (?:the|those)|those"
    rf"|these) )(?:[\w-]+ ){{0,4}}{_TROUBLE}(?: [\w-]+){{0,5}}?"
    r" (?:came|comes|come|stems?|stemmed|originate[sd]?|resulted|is|was|were|are) (?:\w+ly )?(?:from|due to|down to)",
    r"^(?:it |that |this )?(?:was )?caused by|(?:stems?|stemmed|originated|resulted) from|traced (?:it |this "
    r"|that )?(?:back |down )?to|boil(?:s|ed) down to|(?:came|comes|come) down to|(?:was|were|is|are) (?:due|down) to"
    r"|(?:was|were|is) to blame|(?:it|that|this) (?:came|comes) from",
    r"the (?!plan|idea|goal|hope|thought|point|deal|feedback|agreement|answer|result|good)(?:[\w-]+ )?[\w-]+ was that\b"
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
    r"resolved once|(?:fixed|solved|resolved|cured|went away|stable again|works again) (?:once|after|as soon as|since"
    r"|when) (?:i|we|the|it|you) \w+|the recipe (?:is|stays|remains)|brought (?:it|them|the [\w ]{2,30}) (?:back|down"
    r"|from|to|under)|did the trick|(?:is|was) what (?:cure[sd]|fixe[sd]|help(?:s|ed)|solve[sd]|worked|works)"
    r"|(?<=, )that worked|(?:finally )?got (?:it|this|that|them) (?:to work|working|going|running)(?: again)?(?: by"
    r"| with| after)|(?:gets?|got) (?:it|things|them) (?:going|working|running) again|the (?:cure|way out"
    r"|antidote) (?:is|was)|it's fixed now,|(?:cured|worked around) (?:it|this|that) (?:by|with)",
)
RECURRING = (
    r"every (?:couple of |few |other )?(?:weeks?|days?|months?)|whenever |(?:twice|three|four|five|several"
    r"|\d+) times (?:this|in|now|already|before)|(?:second|third|fourth|fifth|\d+(?:nd|rd|th)|nth"
    r"|umpteenth) time (?:this|in|we|that|now|it|the)|(?:every|each) (?:single )?time|every (?:release|deploy|upgrade"
    r"|month|sprint|monday) we|same (?:[\w-]+ ){0,4}(?:as (?:in|last|the|before)|again|story|thing)|again the same"
    r"|like (?:the )?last times?|as in the (?:\w+ )?(?:earlier|previous|last)|keeps? (?:coming back|happening|biting)"
    r"|(?:came|comes|is) back|recurring|over and over|time and again|once again|yet again"
)
HELPS = (
    rf"\b(?:{_CURED}|helped|helps|cures?|the (?:answer|recipe|fix|cure) (?:is|stays|was)"
    rf"|got [^,;.]{{2,40}} (?:moving|going|working|running)|works again|is gone|goes away)\b"
)
DECISION = (
    r"the (?:better|best|right) (?:approach|choice|option|call) (?:is|was)|(?:the )?trade-?off (?:is|was)"
    r"|(?<!i )should(?:'ve| have) (?:used|gone|picked|chosen|started|been|split|kept)|we(?:'re"
    r"| are) (?:standardi[sz]ing|dropping|keeping|moving everything)|(?:the )?(?:choice|pick) (?:is|was|fell on)"
    r"|we picked|we've chosen|we chose",
)
FOUND = (r"the (?:lesson|takeaway|moral)(?: here| learned)? (?:is|was)|^(?:lesson|takeaway)[:,]",)
CORRECTION = (
    r"you [^?]{3,60} without (?:asking|telling|checking|running|testing|reading|a test|permission)\b",
    r"(?:“…”|(?:the )?(?:word|term) \S+)(?: (?:for us|here|around here|always|in (?:our|this) [\w ]{2,20}))? (?:means?"
    r"|stands for|is short for|refers to|denotes)\b|in our [\w ]{2,20}?,? (?:an? |the )?“…” (?:is|are)\b|“…” (?:in our"
    r"|for us|here)[\w ]{0,20} (?:is|are)\b",
    r"(?:is|are|means?|uses?|runs?|lives?|goes|starts?|takes?|costs?|listens?|belongs?)\b[^,;?]{1,60}, not (?:just"
    r" )?[\w`“'][^?]{0,60}$",
    r"(?:tired|sick) of (?:repeating|saying|telling|seeing|reminding|explaining)",
    r"i said (?:to )?(?!i\b|that i|it was|yes\b|so\b|the\b|an?\b|this\b|these\b)\w+|why do i (?:have|need) to (?:repeat"
    r"|say|tell)|\w+ time i (?:have to|had to|'ve had to) (?:say|tell|repeat|explain)",
    r"how many times(?=\s?[?!.])|you(?:'re| are) (?:still|again) \w+ing|you(?:'ve| have) (?:again|once more)"
    r"|same mistake|for the last time|(?:we(?:'ve| have)? (?:been over|been through|talked about|discussed"
    r"|gone over)) (?:this|that|it)\b|(?:that|this|it) (?:already |has |had )?(?:broke|burned|burnt|bit|cost|hurt"
    r"|killed)[^.;?]{0,40} (?:last time|before|already|twice|once|us\b)|(?:got|were) (?:burned|burnt|bitten)",
    r"you (?:left|forgot|missed|did|used|broke|skipped|dropped|added|put|wrote|changed|removed"
    r"|made)\b(?!.{0,200}like (?:that|this) again)[^?]{0,60}\bagain[.!]*$"
    r"|i asked (?:for|you)[^?]{2,80}\b(?:and|but) you\b|you said [^?]{2,60}\bbut\b",
    r"^once more[:,]|^again[:,]|^(?:no|nope),? (?:use|take|call|do it|go) [^?]{2,80} instead\b",
    r"(?:the|that|this|your|those|these) (?:[\w-]+ ){1,3}(?:is|are) (?:all |still |plain |just |simply )?(?:wrong"
    r"|incorrect)(?=[,.!:;–—]|$)",
)
RULE = (
    r"(?:is|are|it's|that's) (?:an? |our |the |strictly |absolutely |simply )?(?:no-?go|taboo|off the table|off-limits"
    r"|out of the question|non-negotiable|unacceptable|not (?:acceptable|an option|ok(?:ay)?(?= (?:to|in|for|with"
    r"|here))|optional|negotiable|allowed|permitted|welcome)|verboten|sacred|untouchable|set in stone|hard (?:rule"
    r"|requirement|limit)|frozen(?=[,.;]|$)|illegal here)",
    r"^no (?!need|worries|problems?|idea|thanks?|rush|doubt|one\b|longer|more questions|objections?|changes?|clue|way\b"
    r"|luck|errors?|warnings?|issues?|output|response|answer|news|difference|progress|failures?|results?|sign|matter"
    r"|time|question|tests? (?:ran|found)|reason|logs? |real|big|hurry|pressure)[\w-]+(?: [\w-]+){0,3} (?:in|on|for"
    r"|inside|outside|without|before|after|within|during|anywhere|except|unless|please|ever)\b",
    r"(?<=, )(?:ever|period|full stop|end of story|no excuses|no ifs|no discussion|without exception)\W*$"
    r"|^(?:period|full stop|no exceptions|always|never|every time|every single time)[.!]*$",
    r"(?<!it )(?<!that )(?<!this )(?<!there )(?<!he )(?<!she )(?<!one )has to \w+|\w[^s\W]s have to \w+",
    r"^(?:please )?use [^,;:]{2,90}[,;:–—] (?!please\b|then\b|and\b|i\b|or\b|we'll\b|not\b"
    r"|if\b)(?:[^,;]{2,60} )?\w+[^s\W]s\b|^(?:please )?use [\w`…./-]+ for \w+ing\b|^(?:please )?(?:use|take"
    r"|go with) (?!this\b|that\b|it\b|these\b|those\b|the (?:second|first|other))[^,;?]{1,60} instead\b(?! of)"
    r"|^instead of [^,;]{2,80}, (?:please )?\w+",
    r"^(?:please )?(?:answer|reply|respond)\b (?:me )?(?:in|with|short\w*|brief\w*|more|only|concise\w*|direct\w*"
    r"|first)\b|^(?:please )?(?:be|stay) (?:more |a bit |much |very )?(?:brief|concise|terse|direct|specific|honest"
    r"|explicit|precise|short|sceptical|skeptical|thorough)\b|shorter (?:answers|replies|messages)|less (?:verbose"
    r"|chatty|fluff|prose)|(?:spare me|skip|cut|drop|leave out) the (?:summar|recap|preamble|pleasantr|intro|apolog"
    r"|praise|essay|lecture|fluff)\w*|i (?:don't|do not) (?:need|want)(?: to (?:see|read|hear))? (?:an?y? |your |the "
    r"|any |these |those |more )?(?:long )?(?:summar|explanation|apolog|recap|preamble|essay|lecture|commentar|emoji"
    r"|surpris)\w*",
    r"(?:don't|doesn't|do not|does not) belong|ha(?:s|ve) no (?:business|place) (?:in|on|being)|that's how (?:we|this"
    r"|things)|(?:not )?how (?:we|things) (?:do|work|are done|name|write|build|ship)\w* (?:it |that |this "
    r"|things )?(?:here|around here|in this)",
    rf"^{_ANY_FOLK} (?!else|works?\b|looks?\b|seems|pass(?:es|ed)|failed|changed|happens?|happened|was|were|fine|ok"
    rf"|good|i\b"
    r"|you\b|is (?:fine|ok|okay|good|green|working|done|broken|wrong|set|ready|in place|back)|knows|cares|noticed|wants"
    r"|likes|complained|got|came|shows?\b|went|worked)(?:[^,;.?]{2,50} )?(?:[a-z]+[^s\W]s|may|must|can|leave|land"
    r"|should)\b",
    r"(?:^|(?<=[,;] )|and |so )only (?:the |an? |our )?[\w-]+(?: [\w-]+){0,4} (?:may|can|should|is allowed|are allowed"
    r"|gets? to)\b",
    r"i (?:want|expect|insist|'d like|would like|need) (?:you to |that |to see |every|all|each|a |an "
    r"|the )[^?]{0,120}\b(?:each|every|always|whenever|before|first|in future|everywhere|all)\b(?! (?:one|other))",
    r"\b(?:required|mandatory) (?:in|on|for|before|by)\b|(?:isn't|is not|aren't|are not) (?:optional|negotiable"
    r"|up for)",
)
EFFORT = (
    r"after (?:roughly |about |over |almost |nearly |some |many |like )*(?:\d+|an?|one|two|three|four|five|several"
    r"|half an?|countless) (?:\w+ )?(?:hours?|days?|minutes?|weeks?|attempts|tries|approaches)\b(?: of| into| later"
    r"| debugging)|after (?:trying|bisecting|digging|much|a lot of|hours|days)\b|been debugging|wasted time on"
    r"|(?:hours?|days?|weeks?|afternoons?|nights?) of (?:debugging|bisecting|digging|searching|head[- ]?scratching"
    r"|pain)",
)
CAVEAT = (
    r"you(?:'ll| will) have to [^,;?]{2,60} (?:after|before|when|first|once)\b|(?:is|are) documented (?:as"
    r"|to)[^.;]{2,80}\bbut\b",
    r"^to (?:build|run|test|deploy|start|compile|flash|install)\b[^?]{2,80}\byou(?:'ll)? need\b|you need (?:the |an?"
    r" )?[\w .-]{2,40}\d",
    r"(?:build|suite|tests?|script|server|watcher|compiler|linter|emulator|simulator|cli|deploy|importer?|worker|job"
    r"|migrations?|jest|pytest|docker|make|npm|gradle|container) (?:\w+ )?(?:hangs?|fails?|crash(?:es)?|dies|stalls?"
    r"|refuses?|blocks?) (?:if|when|unless|without)\b(?! (?:i|we|you|users?|the user|clicking|opening|my)\b)",
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
    r"|allows?|understands?|starts?|handles?|speaks?) (?!me\b|us\b|a (?:minute|second|moment))",
    r"(?:you'll|you will|you|one|they|it|this|that|which|build|tests?|script|step|app|job|suite|service"
    r"|tool) needs? (?!to\b|more\b|some\b|your\b|help|an? (?:new|nicer|better|bigger|fix|test|review"
    r"|refactor))[^,;?]{2,60} (?:installed|on (?:the|your) path|running|enabled|for the|first|mounted|set|to (?:run"
    r"|build|work|start|compile|pass))\b|you'll need (?!to\b)",
    r"needs? to be (?!fixed|done|changed|updated|renamed|reviewed|rewritten|refactored)[^,;?]{1,60}(?: first\b"
    r"|,? (?:otherwise|or|before|because|for)\b)|needs? [^.;?]{2,80}(?:[,;–—-]| or| otherwise) ?(?:otherwise|or else"
    r"|(?:or )?(?:it|they|the [\w ]{2,20})(?: just| will|'ll)* (?:hangs?|fails?|breaks?|crash(?:es)?|refuses?"
    r"|times? out|dies|won't|can't|skips?|stops?))\b|requires? (?!you\b|us\b|me\b|an? (?:new|change|refactor\w*|rewrite"
    r"|fix|bit|lot|little))[^,;?]{2,80}(?:on|in|to|for|at|installed|running|version|set|or)\b",
    r"(?:won't|doesn't|does not|don't) (?:work|run|build|compile|start) (?:with|on|in|behind|without|unless|because"
    r"|under|inside|for)\b|(?:in|not )compatible with|conflicts? with|clash(?:es)? with|(?:version"
    r"|v)\.? ?[\d.x]+ (?:is )?(?:required|needed|breaks)",
    r"(?:according to|per) (?:the )?(?:[\w.-]+ ){0,3}(?:docs?|documentation|manual|readme|spec"
    r"|changelog)\b[^.;]{1,160}\b(?:but|in practice|in reality|actually|in fact|though|yet|however)\b|not mentioned in"
    r"|nowhere (?:mentioned|to be found)|red herring",
    r"the (?:error|message|warning|stack ?trace|log)(?: message)? (?:says?|said|claims?|points?|blames?|talks?"
    r"|suggests?)[^.;]{1,120}\b(?:but|although|while|yet|though|actually)\b",
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
    r"|went (?:down|up)|degraded|halved|doubled|fell|rose|shrank)|bottleneck (?:was|is)|\bn\+1\b|memory leak from"
    r"|timeouts? because|was (?:a )?(?:dead end|waste of time|the wrong approach)|scales (?:better|worse)"
    r"|the (?:right abstraction|pattern for)|(?:doesn't|does not|didn't) work because|should be (?:separated|decoupled"
    r"|extracted)",
    r"(?:tried|trying) [^.;]{2,100} but (?:it|that|they|the \w+) (?:doesn't|does not|didn't|isn't|can't"
    r"|won't) \w+ (?:behind|with|on|for|without|because|in|when)\b|don't bother (?:with|trying)",
)
NOTE = (
    r"heads[- ]?up|\bfyi\b|just so (?:you|we|that)|for the record|^(?:and |also )?(?:please )?note(?: that|:)|be aware"
    r"|mind that|for your information|worth (?:knowing|noting)|good to know|^(?:nb|ps|psa|reminder)[:,]|so be careful"
    r"|careful with",
)
ADVICE = (
    r"(?:works?|worked|reads?|scales?) (?:much |way |far )?better than|so (?:stay|stick|go) with|please follow the same"
    r"|i(?:'d| would) (?:rather (?:you|we|have|see|keep|use|not)|prefer(?! (?:it|that|this|the (?:second|first|last"
    r"|other))\b))|i (?:really |generally |usually |strongly |personally |much )?prefer(?! (?:it|that|this"
    r"|the (?:second|first|last|other|\w+ (?:theme|one|version|colou?r)))\b)|my preference|preferably|best practice"
    r"|(?:it's|it is|it would be) (?:better|best|safer|wiser|good practice) to|(?:you|we)(?:'d| had) better|^better to"
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
    r"|i'd like you to keep \w+ing|thanks for (?:asking|checking|waiting|testing|catching|not) |^(?:good|nice|great"
    r"|excellent|correct|clean|solid|neat|clever|elegant|smart) (?:approach|solution|implementation|refactor\w*|design"
    r"|structure|naming|fix|catch|choice|call|explanation|summary|write-?up|pattern)\b|(?:much|way|far"
    r"|so much) (?:better|cleaner|nicer|clearer|more readable|easier to read)|(?:big|huge|real) improvement|(?:this"
    r"|that)(?:'s| is) (?:exactly |just )?what i (?:want|like|expect|need|was (?:looking|hoping))|(?:that's"
    r"|this is) (?:the spirit|what i'm talking about|how i like it|how it should be)",
)
KEEP = (
    r"(?:use|do|apply|follow) (?:it|that|this|the same) (?:for|in|on|to) (?:the |all )?(?:other|rest|remaining|all)\b",
    r"do (?:that|this|it|so) (?:again|more|every|each|at the end of|from now on|for all|everywhere|in future)",
)
GUESS = (
    r"(?:you|one) (?:may|might|could) (?:want|like|also)|i (?:have (?:a|the) (?:feeling|hunch|suspicion)|believe|reckon"
    r"|imagine)|pretty sure|afaik|iirc|imh?o|as far as i (?:know|remember)|(?:may|might|could) have (?:helped|been"
    r"|caused|\w+ed)|feels? (?:heavy|odd|off|clunky|slow|wrong|strange|too)|thinking (?:out loud|aloud)|could (?:save"
    r"|help|make|avoid|simplify|reduce|replace|give)|don't quote me|lean(?:ing)? towards?|no strong (?:feelings?"
    r"|opinions?|preference)|tempted to|toying with|may be (?:a )?(?:coincidence|worth|better|just|nice|related)"
    r"|could be worth|(?:would|might|could|may)(?:n't| not) hurt|my (?:hunch|guess|gut|impression|feeling)|gut feeling"
    r"|i(?:'m| am) (?:inclined|thinking|half)|at some point|some ?day\b|down the (?:road|line)|so far so good|(?:not"
    r"|isn't|aren't) (?:entirely |totally |really |100% |so )?(?:sure|certain|convinced)|nice to have"
    r"|this approach works|found (?:a|this|an) (?:\w+ )?(?:tool|library|package|plugin|crate|gem)\b|we could|one could"
    r"|better off|may well|arguably|(?:i|we) (?:might|may)\b|worth (?:a look|exploring|thinking|looking)|it felt"
    r"|feels? (?:quicker|slower|faster|cleaner|nicer)",
    r"vulnerability|(?:keys?|secrets?|tokens?|credentials?|passwords?) (?:was|were|are|is|got) (?:exposed|leaked"
    r"|visible)|bypass (?:\w+ ){0,2}(?:rls|auth|checks?|security)|injection possible|privilege escalation",
)
# Half denied, or about another place and time.
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
    r"\b(?:i'm|i am|we're|nobody's|nobody is) not saying\b[^;]{0,200}|\bnot saying (?:that )?[^;]{0,200}|\b(?:doesn't"
    r"|does not|didn't|don't|do not) (?:necessarily )?(?:mean|imply)\b[^;]{0,200}|\bthat's not to say\b[^;]{0,200}",
    r"^exactly (?:one|two|three|four|five|six|ten|once|twice|zero|half|\d+|when|where|why|which|how many)\b",
    r"\b(?:great|good|nice|cool|ok|okay|fine),? (?:thanks?|thx|ty|cheers|thank you)\b(?: (?:a lot|so much|man|mate"
    r"|again))?[.! )]*$",
    r"\bif it turns out\b[^;]{0,120}|\bthe (?:problem|issue) is (?:that )?(?:the |our )?[\w ]{2,30} (?:is"
    r"|are) (?:down|offline|away|slow today)\b",
)
# Texts that neither the user nor the agent wrote.
FOREIGN = (
    r"^(?:please |ok,? |okay,? |actually,? |no,? |sorry,? )*(?:scrap|forget|ignore|disregard|scratch|strike) (?:what i"
    r"|that\b|it\b|my |the (?:rule|bit|part|thing))|\b(?:redistributions?|copyright notice|hereby|herein|thereof"
    r"|licensees?|licensors?|merchantability|sublicen[sc]e|permission notice|in no event shall|terms and conditions)\b"
    r"|\b(?:my|at the|in my|an?) (?:old|last|previous|former|ex-?|earlier) ?(?:job|team|company|employer|boss|workplace"
    r"|gig)\b|\bback (?:in the day|then|in \d{4})\b|\bwhen i was (?:a|at|young)\b|\bused to (?:always|never)\b"
)
# Sentences that only stress the previous one.
POINTS_BACK = (
    r"(?:unacceptable|not acceptable|not ok(?:ay)?|absolutely not)[.!]*$|(?:please |so |and |but |pls )?(?:(?:keep"
    r"|bear) (?:that|this|it) in mind|remember (?:that|this|it)|don't forget (?:that|this|it))(?: please| pls)?[.!]*$"
    r"|(?:always|never|ever|every (?:single )?time|no exceptions|period|full stop|immer|toujours|siempre|nie|jamais"
    r"|nunca)[.!]*$|(?:lost|spent|wasted|took|cost)\b[^,;]{2,40}[.!]*$|(?:i (?:want|need|expect) (?:that|this|it)"
    r"|(?:keep|go on|carry on|continue|more of|do) (?:it )?(?:that|this|like that|like this|so))\b[^?]{0,40}$"
    r"|the (?:manual|docs?|readme|documentation|spec|wiki) (?:is|are) (?:wrong|outdated|out of date)[^,;?]{0,30}$"
    r"|sigue \w+ así|(?:weiter so|continue comme ça)[.!]*$|(?:that's|that is|this is) (?:our|the|a) (?:\w+ )?(?:rule"
    r"|policy|convention|standard)[.!]*$"
)


HIGH = "high"
MEDIUM = "medium"
LOW = "low"
OBSERVATION = "observation"
# Ways that count only for a person: an agent's rules are advice, and its praise is for itself.
PERSONAL = frozenset(("rule", "correction", "praise", "keep", "advice", "note"))

_THING = r"(?:issue|problem|bug|culprit|cause|failure|blocker|catch)"
_WERE = r"(?:was|is|were|turned out|turns out)"
_AMOUNT = (
    r"(?:\d+(?:[.,]\d+)?|an?|one|two|three|four|five|six|ten|twenty|thirty|several|half an?|a few|a couple of"
    r"|most of the|the (?:whole|entire|better part of the)|countless|many|way too many|too many)"
)
_SPAN = r"(?:hours?|hrs?|minutes?|mins?|days?|weeks?|afternoons?|mornings?|evenings?|nights?|h)"
# Positions where an order may begin: the start of a sentence or a clause.
_CLAUSE = (
    r"(?:^|(?<=[,;:–—-] )|(?<=\()|(?:and|but|so|then|or|please|pls|just|also|though|ok|okay|no|you|we|they|people|again"
    r"|really|to|and please|here|there|now|hey|well|actually|ever|first|important) )"
)
_ABOUT_IT = r"(?:that|this|it|you|these|those|they|the (?:first|second|last) one)"
_STATES = r"(?:'s|'re| is| are| was| were| looks| seems| sounds)"
_QUITE = r"(?: (?:just|still|plain|simply|also|completely|totally|clearly|so|all|just plain|quite|very|really|again))?"
_FINE = (
    r"(?:perfect|exactly|excellent|great|nice|good|correct|brilliant|awesome|lovely|fantastic|wonderful|superb"
    r"|amazing|beautiful|spot on|neat)"
)
# Text that may follow a word of praise: "nice work", "great, thanks"; not "nice weather", "good morning", "exactly 5".
_PRAISED = (
    r"(?=\W*$|\s?[,.!:;)–—-]| (?:job|work|one|catch|find|stuff|thanks|thank|thx|that|this|it|and|but|now|so|like|again"
    r"|then|indeed|as|what|how|right|solution|approach|fix|refactoring|result|explanation|start|progress|we|i|you|to go"
    r"|mate|man|answer|summary)\b)"
)

CUES = (
    (HIGH, "cause", (
        rf"root causes?(?: found| identified)?(?: {_WERE}|:| of)(?! (?:still |yet |as yet )?(?:unknown|unclear|not"
        rf"|to be|open|a mystery))|the (?:actual |real |underlying |true |whole |main )?{_THING}(?: (?:here|there"
        rf"|in the end))? {_WERE}(?! (?:(?:that )?(?:i (?:can't|cannot|don't)|…)|gone|fixed|still|now|back|the same"
        rf"|resolved|solved|known)\b)",
        r"(?:was|is|were|are|got|being) (?:actually |really )?caused by"
        r"|the (?:real )?reason(?: why)?[^,;.]{0,60} (?:was|is)\b",
        r"(?:failed|broke|crashed|happened|hung|timed out) (?:only )?because|(?:it was|was) [^,;.]{2,60} all along",
        *CAUSE, *FOREIGN_CAUSE,
    )),
    (HIGH, "fix", (
        r"(?:was|is|were|got|can be|be) (?:fixed|resolved|solved) by|fixed by|resolved by|solved by|cured by",
        r"the (?:real |actual |right |final )?(?:fix|solution|trick|workaround|remedy|answer) (?:was|is"
        r"|turned out)(?! (?:in|at|ready|done|applied|complete|pushed|live|deployed)\b)",
        r"(?:what|that) (?:fixed|solved|resolved|helped) (?:it|this|that)|(?:fixed|solved|resolved) (?:it|this"
        r"|that) (?:by|with)",
        r"fixed it,|(?:fix|workaround|solution|remedy):",
        *FIX, *FOREIGN_FIX,
    )),
    (HIGH, "decision", (
        r"decided (?:to|on|that|against|in favou?r)|(?:chose|picked|preferred|took) [^,;.]{1,60} over|chose to",
        r"(?:we'll|we will|let's|i'll|we're going to) go with|(?:we're|we are) going with",
        r"went with|ended up (?:going with|using|with|choosing|picking)|let's agree|opted (?:for|to)|settled (?:on|for)"
        r"|agreed (?:to|on|that)|(?:the|our) decision (?:is|was)|decision:",
        *DECISION, *FOREIGN_DECISION,
    )),
    (HIGH, "found", (
        r"found the (?:actual |real )?(?:culprit|cause|bug|problem|issue|reason|root cause|error)|^aha[,!:]",
        r"turns out|turned out|it transpires|figured (?:it |this |that )?out|found it\b(?! (?:in|on|at|under|here"
        r"|there)\b)|found out (?:that|why|what|how)",
        r"worked out (?:that|why|how)|learned (?:that|the hard way)|learnt (?:that|the hard way)|lesson learn(?:ed|t)"
        r"|til:",
        *FOUND, *FOREIGN_FOUND,
    )),
    (HIGH, "correction", (
        r"again(?=\s?!?\?)|i said (?:no|not|never|don't|use|to|that|it|only)|not what i (?:asked|wanted|meant|said"
        r"|told)",
        r"(?:that|this|it)(?:'s| is| was) (?:exactly |still )?(?:the |a )?wrong \w+|you(?:'ve| have)? got (?:it|that"
        r"|this) (?:all )?wrong|you (?:misunderstood|misread|mixed up)",
        r"i(?:'ve| have| had)?(?: already| just)? (?:told|asked|reminded) you|not again|how many times|as i (?:said"
        r"|told)",
        r"you (?:keep|kept) (?:on )?\w+ing|you (?:forgot|did it|broke) [^?]{0,60}\bagain",
        r"(?:for )?the (?:second|third|fourth|fifth|tenth|hundredth|umpteenth) time|i(?:'ve| have) said (?:it|this"
        r"|that|so)",
        rf"{_ABOUT_IT}{_STATES}{_QUITE} (?:wrong|incorrect|not right|not correct|not true|not what i|not how|false"
        rf"|mistaken)",
        r"(?:^|(?:no|nope|nah|sorry|hm+)[,.!]* )(?:wrong|incorrect)(?! with|[\w ]{0,20}, sorry)"
        r"|(?:[,.!] )wrong \w+(?=\s?[:,.–—-])|not like (?:that|this)|incorrect(?=[.!,]|$)|that's not it",
        r"you (?:used|picked|chose|edited|took|changed|have|got|are in|are on) the wrong",
        r"(?:that|this|it) (?:isn't|ain't) (?:right|correct|true|what i|how (?:we|it|i|you))",
        *CORRECTION, *FOREIGN_CORRECTION,
    )),
    (HIGH, "rule", (
        r"^(?:all |every |each |our |any )?(?:[\w-]+ ){0,3}[\w-]+s should (?:be|use|have|go|live|return|start|end|come"
        r"|stay|follow|carry)|^(?:all|every|each|any) [\w -]{2,40} (?:should|goes|go|needs?|has|have) ",
        r"^(?:please )?keep (?!going|doing|it up|in mind|me|an eye)[^,;]{2,80} (?:out of|in|within|under|away from"
        r"|separate|small|short|free of|below|apart|sorted|up to date|together|at|as)\b",
        r"^(?:please |and |also )?(?:before|after|when|whenever|once|each time|every time|if) (?:you|we|a|an|any|each"
        r"|every|adding|changing|writing|editing|touching|making|committing|pushing|merging|creating"
        r"|\w+ing)\b[^,;]{2,80}, (?:please |also |always )?(?!i\b|it\b|the\b|there|that|this|we (?:get|see)|you (?:get"
        r"|see|will|can)|can|could|would|they|what|how|why|is|are|nothing|everything)\w+",
        r"(?:you|we|they|everyone|people|everybody) (?:have|need|are supposed|'re supposed"
        r"|ought) to\b(?=.{0,120}\b(?:each|every|all|any|whenever|before"
        r"|first|otherwise|here)\b)|(?<!s )(?<!ed )whenever (?:we|you|someone|somebody|anyone|an?|there|something)",
        r"you should (?:be |have )?us(?:e|ing|ed)|(?:should|let's|please) (?:become|turn (?:this|that|it) into"
        r"|make (?:this|that|it)|be) a (?:\w+ )?(?:skill|workflow|recipe|playbook)",
        r"the rule is|(?:the )?(?:correct|right|proper) way (?:is|to)|you should know|remember (?:that|to\b|this|these"
        r"|the following)|remember[:,]|don't forget|do not forget|never forget|keep in mind|bear in mind|rule of thumb"
        r"|house rule|by convention",
        r"from now on|from here on|going forward|moving forward|in (?:the )?future,|as a rule|our (?:rule|convention"
        r"|policy)|the (?:convention|policy) is|under no circumstances|at all times|no exceptions|on no account",
        r"(?:must|should|may|can|shall) (?:not|never|always|only)|mustn't|shouldn't|ought not|(?:may|can)not ever"
        r"|may not",
        rf"{_CLAUSE}(?:don't|do not|dont)(?! (?:i|we|they|you think|you know)\b)",
        r"never(?! again$)|always|must(?! i\b)|ask (?:me |us )?(?:first|before)|^next time",
        r"(?<!to )(?<!n't )(?<!will )(?<!would )(?<!they )stop \w+ing",
        rf"{_CLAUSE}(?:stop|quit|cease) (?:\w+ing\b|it\b|that\b|this\b|with\b)|{_CLAUSE}(?:avoid|refrain from) \w+",
        r"(?:is|are|be|it's|that's|strictly|absolutely|you're) (?:always |strictly |absolutely )?(?:required|mandatory"
        r"|forbidden|prohibited|not allowed|off limits|banned)|^required:|required (?:to|on|for every)",
        r"(?:have|has|need|needs) to (?!be (?:fixed|done|updated|changed|renamed|removed|added|finished|ready|merged"
        r"|rewritten)\b)(?:be|go|stay|live|come|pass|match|end|start|have)"
        r"(?![^.;]{0,80}\b(?:otherwise|or else|first|up|running|installed|enabled|started)\b)",
        rf"{_CLAUSE}(?:use|run|call|write|say|take|import|prefer) [^;.]{{1,80}}(?:,| and| -)? (?:not|instead of"
        rf"|rather than|in place of|never)\b",
        r"^(?:(?:so|and|but|ok|okay|please),? )*(?:can|could|would|will) (?:you|we) (?:please |maybe |just )?(?:stop"
        r"|not|always|never|avoid|only)",
        r"^no (?!need|worries|problem|idea|thanks|thank|rush|doubt|one|longer|more questions|objections?|changes?|clue"
        r"|errors?|warnings?|issues?|failures?|results?|way|luck)(?:\w+ ){0,2}\w+s\b",
        r"^(?:only|just) ever |it's \w+, not \w+|we (?:only|don't|do not) (?:ever )?\w+",
        *RULE, *FOREIGN_RULE,
    )),
    (MEDIUM, "effort", (
        rf"(?:debugging|chasing|fighting|stuck|staring|hunting|struggling|searching)[^,;.]{{0,40}} for (?:the (?:past"
        rf"|last) )?(?:{_AMOUNT} )?{_SPAN}",
        rf"(?:spent|spend|took|wasted|lost|cost|burned|burnt|needed)(?: me| us| him| her| them)?(?: about| over| almost"
        rf"| nearly| around| roughly| more than| like)? {_AMOUNT} (?:\w+ )?{_SPAN}",
        *EFFORT,
    )),
    (MEDIUM, "caveat", (
        r"(?:(?:the|their|its|official) ){0,2}(?:docs?|documentation|manual|readme|guide|man page)(?: \w+)? (?:say|says"
        r"|claims?|states?|promises?|suggests?)[^.;]{1,120}\b(?:but|yet|though|in fact|in reality|actually)\b",
        r"contrary to (?:the |its |their )?doc\w*|(?:un|(?:not|isn't|aren't|nowhere|never) )documented"
        r"|misleading (?:error|message|name|warning)|(?:the )?error(?: message)? (?:is|was) misleading|confusing error"
        r"|silently (?:ignore|drop|fail|swallow|skip|return)\w*",
        r"(?:requires?|needs?) [^,;.]{1,60}(?:to be )?installed|(?:only|just) works?(?= (?:with|if|when|on|in|inside"
        r"|for|under|because|as|from|after|on|over|once|without))|only (?:runs?|builds?|supported) (?:on|with|in|if"
        r"|when)|has to be run",
        r"^(?:be )?careful\b|only works?|watch out|beware|gotcha|pitfall|caveat|known (?:bug|issue) in|breaks? (?:if"
        r"|when|as soon as)|won't work (?:if|unless|without)",
        *CAVEAT, *FOREIGN_CAVEAT,
    )),
    (MEDIUM, "insight", INSIGHT),
    (MEDIUM, "note", NOTE),
    (MEDIUM, "advice", (
        r"i(?:'d| would) (?:rather|prefer(?: it)? if|like it if) (?:you|we)",
        r"(?:make|be) sure(?! (?:of|about)\b)(?: (?:to|you|that|we|the|it|every|all)\b)?|make certain|see to it that"
        r"|take care (?:to|that)|ensure that",
        *ADVICE, *FOREIGN_ADVICE,
    )),
    (MEDIUM, "keep", (
        r"keep (?:doing|it up|using|going like|writing|it (?:that|this) way|that up|them (?:that|this) way|it like)"
        r"|continue (?:with|doing|to (?:use|do|write))|stick (?:with|to)|more (?:of this|of that|like this|like that)"
        r"|carry on (?:with|like)|do (?:it )?(?:more|exactly) like (?:this|that)",
        *KEEP, *FOREIGN_KEEP,
    )),
    (MEDIUM, "praise", (
        r"(?:yes,? )?(?:just |exactly )?like that(?=[.!, ]|$)|well done|(?:great|good|nice|excellent|amazing"
        r"|fine) (?:job|work|catch|find|stuff)|(?:exactly|precisely) (?:(?:what|how|as) (?:i|we)(?:'d)? (?:want|need"
        r"|mean|ask|had in|like|hoped|imagin)\w*|like|right|that|this)|i (?:really |quite |also |do )?(?:love"
        r"|like) (?:it|this|that|how|the way)|^(?:love|like) (?:this|that|it|the)",
        rf"^(?:(?:yes|yeah|yep|yup|ok|okay|oh|wow|ah|hm|very|really|so|cool|thanks|that|much"
        rf"|no),? ){{0,2}}{_FINE}{_PRAISED}",
        rf"(?!it was )(?:that|this|it|these|those|which|all|everything|diff|code|version|tests?|one)(?:'s|'re| is| are"
        rf"| was| looks?| reads?| works?| sounds?| feels?){_QUITE} (?:much )?(?:{_FINE}|right|better)(?! (?:now\?|idea"
        rf"|enough|question|point|to|in)\b)",
        rf"^looks? (?:really |very |all )?(?:{_FINE}|right)|^lgtm\b|^(?:works|reads) (?:great|perfectly|well|nicely)",
        r"works like a charm|^(?:yup|yes|yep|yeah),? that's the one|^\W*(?:👍|💯|🎉|❤|👏|🙌)|^[^\w…]{0,6}(?:perfect"
        r"|exactly)\W*$",
        r"that's (?:it|the way|how|what i|more like it)(?! (?:how|what) it)|^spot on|^bravo|^kudos|^yes!+$|^(?:love it"
        r"|nailed it)",
        *PRAISE, *FOREIGN_PRAISE,
    )),
    (LOW, "guess", (
        r"maybe|perhaps|might (?:want|be|make|need|help|have)|consider(?:ing)?|could (?:work|be|also|maybe|perhaps)"
        r"|probably|possibly|presumably|i (?:guess|suspect|suppose|assume|think|wonder)|not sure|worth (?:a try|trying"
        r"|considering)",
        r"(?:seems?|appears?) (?:the|it|this|there|we)\b|seems? (?:like|to|that|as|ok|fine|\w+ to)|appears? (?:to|that"
        r"|as)|looks? (?:like|as if|as though)|sounds? like|feels? like",
        r"interesting(?:ly)?|(?:good|great|nice|neat|fair) (?:idea|point|thought|suggestion)|curious(?:ly)?",
        *GUESS, *FOREIGN_GUESS,
    )),
    (LOW, "change", (
        r"(?:moving|switching|migrating) (?:over |away )?(?:to|from|off)|discovered|noticed|observed|realised|realized"
        r"|(?:switched|migrated|moved|changed|upgraded|ported) (?:over )?(?:to|from|off)|replaced [^,;.]{1,80} (?:with"
        r"|by)|swapped [^,;.]{1,80} for|dropped [^,;.]{1,40} in favou?r",
        *CHANGE,
    )),
)  # fmt: skip

# Idioms that contain a cue; they are masked before the search for cues.
_NOT = r"(?:don't|do not|dont|doesn't|didn't|needn't|not need to|not have to)"
_NO_MATTER = (
    r"(?:worry|mind|know|think|care|see|bother|sweat|remember|understand|get it|believe|recall|feel|mean|like it"
    r"|want(?! (?:to see|you to|any|these|those|this kind))"
    r"|hurry|panic|be sorry|have (?:to|any|a|the|time)|need|have\b)"
)
_GOING_WRONG = (
    r"(?:loads|works?|finishes|hangs?|crash(?:es)?|fails?|ends|stops|listens?|completes|starts|breaks|happens?|appears"
    r"|responds|shows up|hits|connects|times out|gets (?:here|stuck|called|there)|complain|pass(?:es)?|run|succeeds?)"
)
_SURELY = (
    r"(?:have (?:been|\w+(?:ed|en|one|ot|ft|st))\b|be (?:kidding|joking|it|him|her|why|because|some\w*|\w+day\b|missing"
    r"|wrong|right|nice|the\b|there|fun|tired|a (?:joke|bug|typo|mistake|misunderstanding|coincidence|glitch)))"
)
_FALSE = (
    r"\bnever ?mind\b(?: (?:the|that|this) [\w ]{2,40})?|\bnvm\b",
    # no problem is reported
    r"\b(?:is|are|was|were|'s|'re)(?: |n't )?(?:not|n't|nothing|never) (?:\w+ )?(?:wrong|incorrect|bad)\b"
    r"|\bnot wrong\b",
    r"\b(?:isn't|aren't|wasn't) (?:really |all that )?(?:wrong|incorrect|bad)\b|\banything wrong\b",
    r"\bnothing(?:'s| is)? (?:is )?(?:wrong|incorrect|bad)\b|\b(?:don't |do not )?get me wrong\b|\bcan't go wrong\b"
    r"|\bwrong \w+, sorry\b",
    r"\bi (?:was|am|'m) (?:wrong|mistaken)\b|\bi stand corrected\b|\bcorrect me if\b",
    # no request is made
    r"\b(?:not|never|no longer|isn't|aren't|wasn't|n't)(?: (?:strictly|really|absolutely|always|even|be|been|yet"
    r"|actually))? (?:required|mandatory|necessary|needed|a must|an issue)\b",
    rf"\b{_NOT}(?: (?:really|even|you|always|necessarily|strictly|ever|actually|all))? {_NO_MATTER}[^,;:]{{0,120}}",
    r"\bno need to [^,;:]{0,120}|\bneedn't [^,;:]{0,120}|\bnone? of (?:this|that) is required\b",
    r"\bif (?:you|we|i|they|it|one|someone) (?:don't|do not|doesn't|never|always|must|can't|mustn't)\b[^,;]{0,120}",
    r"\b(?:so|in order|such) (?:that )?(?:you|we|it|they|i|he|the \w+) (?:don't|do not|doesn't|never|always|must)\b",
    # half denied
    r"\bnot (?:always|never|necessarily|exactly|perfect(?:ly)?|quite|too (?:bad|good|great)|bad|good|great|nice"
    r"|sure if)\b",
    r"\b(?:isn't|aren't|wasn't) (?:always|necessarily|exactly|perfect|quite|good|great|nice)\b|\bnot yet decided\b",
    r"\b(?:not sure|don't think|doubt) (?:if |whether |that )?(?:that|this|it)(?:'s| is) \w+",
    r"\bnot that (?:it|that|this)(?:'s| is)[^,;]{0,120}|\bnever gonna\b|\bno longer (?:forbidden|banned|a rule)\b",
    r"\b(?:haven't|have not|hasn't) (?:yet )?(?:decided|figured|found)\b",
    # statements about the speaker
    r"\bi(?: do|'d| would| will|'ll|'ve| have| had| can| could)?(?: also| still)? (?:never|always|must|don't|do not"
    r"|didn't|can't)\b(?! (?:want|expect|prefer|like (?:it|to see)|need|insist|ask)\b)|\bi must (?:say|admit|have)\b",
    r"\bi should(?:n't| not| never)? have\b|\b(?:i|you) (?:couldn't|can't|could not) agree more\b",
    # thoughts and reports, no orders
    rf"\b(?:it|this|that|there|you|he|she|they|something|someone|we) must {_SURELY}|^must (?:be|have)\b",
    r"\b(?:it|this|that|they|he|she) must be (?:\w+ ){0,3}(?:somewhere|somehow|cached|broken|stuck|down|related|gone"
    r"|running|hanging|coming|something|because|late|early|hard|easy|old|new|tired)\b|\bi(?:'m| am) (?:also "
    r"|still )?(?:never|always)\b",
    r"\bthe [\w ]{2,30} must be (?:flaky|broken|stuck|down|cached|wrong|missing|gone|old|stale|slow|busy|full"
    r"|corrupt\w*|locked)\b|\bdon't stop\b[.!]*$"
    r"|\bthere must be (?:a|an|some|another) (?:\w+ )?way\b|\bwould (?:never|always)\b",
    r"\bnever (?:seen|saw|heard|had|got|worked|happened|been|said|knew|thought|tried|used (?:it|that|this)|touched|did"
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
FALSE_ALARMS = "|".join((*_FALSE, *FALSE, *FOREIGN_FALSE))
# Plans and thoughts, addressed to nobody.
HYPOTHETICAL = (
    r"\blet's (?:assume|pretend|imagine)\b|\bi wish\b|^if (?:the|this|that) (?:fix|change|problem|issue|cause|theory)\b"
    r"|\b(?:what if|if only|had (?:i|we|you|it|they)|suppose|supposing|hypothetically|imagine|let's say|let us say"
    r"|in theory|say we|assuming (?:we|you|it|that))\b|\bif\b[^;]{2,200}\b(?:would|could|might)\b|\b(?:would|could"
    r"|might)\b[^;]{2,200}\bif\b|\bwould (?:it|that|have)\b|^(?!.{0,80}\b(?:maybe|perhaps|wonder|probably|better|nice"
    r"|feeling|think|believe|guess|suspect|hunch)\b).{0,300}\bwould be\b|\bwhether\b[^;]{2,80}\b(?:or not|or)\b"
    r"|^either\b"
)
# Reported speech without quotation marks.
REPORTED = (
    r"\baccording to\b|(?<!i )(?<!i've )(?<!have )(?<!already )told (?:me|us)\b|\b(?:he|she|they|colleague|boss|manager"
    r"|lead|customer|client|book|article|blog|blog post|post|wiki|tutorial|guide|linter|compiler|docs?|documentation"
    r"|manual|readme|man page|spec|rfc|standard|users?|customers?|testers?|comment|label|title|message|error|warning"
    r"|log|logs|output|tool|banner|checker|someone|somebody|text|caption|button|ticket|issue|answer|page|sign"
    r"|prompt)(?: (?!you\b|i\b|we\b|before\b|has\b|to\b)[\w./-]+){0,3}? (?<!to )(?:says?|said|writes?|wrote|reads?"
    r"|states?|stated|claims?|claimed|prints?|printed|complain(?:s|ed)?|reports?(?= that)|reported|told me|tells? (?:me"
    r"|you|us)|goes|warns?|insists?|recommends?|recommended|suggests?|mentions?|mentioned)\b"
)
QUESTION = (
    r"(?:(?:so|and|but|ok|okay|hm+|well|wait|sorry|please|also|then|hey),? )*(?:(?:is|are|was|were|does|did|can|could"
    r"|should|shall|would|will|must|may|has|had|isn't|aren't|doesn't|didn't|can't|couldn't|shouldn't|wouldn't|won't"
    r"|wasn't) (?:i|we|you|he|she|it|they|that|this|these|those|there|the|an?|any\w*|all|every\w*|our|my|your"
    r"|some\w*)\b|(?:do|have|don't) (?:i|we|they|these|those)\b|do you\b|have you\b|(?:which|what|whose"
    r"|how)(?: \w+){1,3} (?:do|does|did|is|are|can|should|would|will) (?:you|we|i|they|it|the)\b|(?:what|why|when|where"
    r"|who|whom|whose|which|how)(?:'s|'re| is| are| was| were| do| does| did| can| could| should| would| will| must"
    r"| have| has| else| about| come| many| much| often| long| decided| wrote| broke| the hell)\b)"
)
# A request in the form of a question, and a reproach.
ASKED = (
    r"^(?:(?:so|and|but|ok|okay|please),? )*(?:can|could|would|will) we (?:please )?(?:stop|not|avoid)\b|^(?:(?:so|and"
    r"|but|ok|okay|please),? )*(?:can|could|would|will) you (?:please |maybe |just )?(?:stop|not|always|never|avoid"
    r"|only|make sure|remember)\b|\bagain\s?[?!]+$|^how (?:many times|often) (?:do|must|should) i\b"
)
NO_REPROACH = r"^(?:should|shall|can|could|may|do|must|will|would|is|are|does|what|when|where|who|which) "
ASKED_TAIL = r",? (?:ok|okay|got it|understood|alright|please|clear|deal|yeah|agreed)\s?\?+$"
TASK_CLAUSE = (
    r"\b(?:that|which|who|where|why|how|whether|saying|so that|called|named|titled|entitled|to say"
    r"|with the text) [^,;]{0,200}|: .{0,600}$"
)
# A rule inside a task has its own clause: "run `make gen`, never edit the output".
OWN_CLAUSE = r"(?:[,;.–—-] ?|\b(?:and|but) )(?:\w+ ){0,2}$"
# Words of an order that holds once ("for now", "in this PR"): it is a task, not a rule to remember.
ONCE = (
    r"\bcurrently\b|^before (?:you|we) (?:start|begin|continue|go on|do anything)\b|\b(?:for now|this time|this once"
    r"|right now|today|tonight|yet|for the moment|(?:in|for|from|to|on|of) (?:this|that|the current) (?:pr|pull request"
    r"|test|file|function|case|commit|branch|change|line|message|class|method|task|one|issue|ticket|session|step"
    r"|release|sprint))\b"
)
# Headings of lists that are a task or another author's text.
FOREIGN_LIST = (
    r"\b(?:spec\w*|requirements?|implement|acceptance|criteria|says?|states?|todo|tasks?|steps to|following|below|error"
    r"|output|docs?|readme|example|summary|changes|options?|plan)\b"
)
# Behaviour of an agent: an objection to it holds for good.
MANNERS = (
    r"\b(?:apologi[sz]\w*|guess\w*|assum\w+|invent\w*|hallucinat\w+|repeat yourself|rambl\w+|emojis?|over-?explain\w*"
    r"|flatter\w*|summari[sz]\w+|verbose|chatty|lectur\w+|sorry|praise)\b"
)
HEDGED = r"^(?:hm+,? |ok,? |so,? )?(?:it )?(?:seems|appears|looks|sounds)\b"
CODE = r"[{}]|=>|[\w)\]] ?== ?[\w('\"]|&&|\|\||\);|\(\) ?[;{]"
# Orders that hold until the current task is done.
FOR_THE_TASK = (
    r"\b(?:until (?:i've|i have|we've|it|this|that|you|the)|when (?:you are|you're|it's|you) (?:done|finished|ready"
    r"|finish)|line \d+|i (?:mentioned|sent|gave|showed|told)|the (?:first|second|third|last|other) \w+|just (?:explain"
    r"|plan|fix|give|show|tell|answer)|anything else|the (?:first|second|third|last|other) one|a new file"
    r"|before we (?:continue|start)|while (?:i|you))\b|\bfor (?:this|that)[.!]*$"
)
POLITE = r"\b(?:good|great|nice|fair|excellent) (?:idea|point|thought|catch|suggestion|question)\b"
FOR_AN_AGENT = r"you are (?:a|an|the) "
