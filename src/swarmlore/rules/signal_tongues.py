"""The plainest words of a rule, of praise and of a guess in German, French and Spanish."""

from __future__ import annotations

RULE = (
    # German: "immer", "nie", "… muss", "bitte keine …", "das ist verboten"
    r"immer(?! noch| wieder| mehr| weniger| schneller| langsamer| größer)|niemals|nie(?! (?:gesehen|gehört|gewusst"
    r"|gedacht|passiert))"
    r"|auf keinen fall|unter keinen umständen|unbedingt|ab (?:jetzt|sofort)|in zukunft|künftig|grundsätzlich"
    r"|(?:bitte|hier) (?:\w+ )?(?:keine?n?|nicht)|keine?n? [a-zäöüß-]+(?: [a-zäöüß-]+)? (?:in|im|auf|ohne|für)"
    r"|(?:halte?|behalte?) [^?]{2,60}(?:unter|klein|kurz|getrennt)|, sonst |gilt für all|es gilt|(?:ist"
    r"|sind) (?:verboten|tabu|pflicht|nicht erlaubt)"
    r"|(?:müssen|muss|darf nicht|dürfen nicht|darf nur|dürfen nur)(?! ich)|denk(?:e)? (?:dran|daran)|merk dir|^wir"
    r" (?:schreiben|nutzen|verwenden|benutzen|benennen|committen|testen)|frage?"
    r" (?:mich|uns)|bevor du|vergiss nicht|hör auf"
    r"|(?:nutze?|verwende?|nimm|schreibe?) [^,;?]{2,60}(?:,| und| statt| anstatt| nicht)",
    # French: "il faut", "toujours", "ne … jamais", "ne … pas" with an order
    r"^pas d(?:e|')\s?[a-zéèêàç]+|il (?:ne )?faut(?! voir)|toujours(?! pas| en train| là| lent)|jamais|(?:ne"
    r"|n')\s?[a-zéèêàç-]+(?:\s[a-zéèêàç-]+)? (?:pas|plus|jamais)(?= (?:de|d'|le|la|les|sur|dans|à|en|du|des)\b)"
    r"|interdit|obligatoire|désormais|dorénavant|à partir de maintenant|n'oublie pas|arrête (?:de|d')|évite (?:de|d'"
    r"|les|le|la)"
    r"|^on (?:utilise|écrit|nomme)|on (?:doit|n'utilise|ne met|ne fait)|(?:doit|doivent) (?:être|passer|avoir"
    r"|toujours)|utilise [^,;?]{2,60}(?:,"
    r"| au lieu| plutôt| pas )",
    # Spanish: "siempre", "nunca", "hay que", "no uses", "debe"
    r"^(?:usamos|escribimos|nombramos)|siempre|nunca|jamás|hay que|no se (?:usa|usan|permite|hace|toca)n?|no"
    r" (?:guardes|uses|hagas|pongas|toques|borres"
    r"|cambies|olvides|escribas|subas|añadas|metas|ejecutes|edites|mezcles)"
    r"|(?:está|están|queda) prohibid[oa]s?|es obligatorio|(?:debe|deben|tiene que|tienen que)(?= \w)"
    r"|a partir de ahora|de ahora en adelante|deja de"
    r"|recuerda que|ten en cuenta|usa [^,;?]{2,60}(?:,| en vez| en lugar| no )|evita ",
)
CAUSE = (
    r"(?:die|der|das) (?:eigentliche )?(?:ursache|fehler|grund|problem)(?: dafür)? (?:war|lag)|lag (?:daran|an)"
    r"|la cause (?:était|venait)"
    r"|le problème (?:était|venait)|la causa (?:era|fue)|el problema (?:era|fue|estaba)|el error (?:era|fue|estaba)",
)
FIX = (
    r"(?:die lösung|behoben|gelöst) (?:war|durch|mit|indem)|la solution (?:était|est|a été)|(?:résolu|corrigé"
    r"|réglé) (?:en|avec|par)"
    r"|la solución (?:era|fue|es)|(?:se )?(?:arregl|solucion|resolv)(?:ó|í|é|amos|imos|ado|ido) (?:con|al|poniendo"
    r"|cambiando)",
)
DECISION = (
    r"(?:haben|hatten|wurde|habe) (?:uns )?[^,;.?]{0,60}(?:entschieden|beschlossen)|wir (?:entschieden|bleiben bei"
    r"|nehmen jetzt)"
    r"|on a (?:décidé|choisi|opté)|nous avons (?:décidé|choisi)|(?:hemos )?(?:decidi(?:mos|do)|elegi(?:mos|do)"
    r"|optamos)",
)
FOUND = (
    r"(?:es )?stellt(?:e)? sich heraus|hat sich herausgestellt|il s'avère|en fait c'était|resulta que|resultó que",
)
CORRECTION = (
    r"(?:das|es) (?:ist|war) (?:so )?(?:falsch|nicht richtig|verkehrt)|nicht so[,!.]|schon wieder|wie oft (?:noch"
    r"|soll)|ich hab(?:e)? (?:dir )?(?:doch )?(?:schon )?gesagt"
    r"|c'est (?:faux|incorrect)|pas comme ça|je t'ai déjà dit|encore une fois|está mal|eso no es|así no"
    r"|ya te (?:dije|he dicho)|otra vez no",
)
PRAISE = (
    r"(?:genau|perfekt|prima|super|klasse|sehr gut|gut gemacht|gute arbeit|passt)(?=[,.! ]|$)(?! (?:wenn|wie viel"
    r"|genommen))|genau so"
    r"|(?:parfait|super|très bien|bien joué|c'est exactement|excellent travail|impeccable|nickel)(?=[,.! ]|$)"
    r"|(?:perfecto|muy bien|bien hecho|buen trabajo|excelente|así sí|genial|exacto)(?=[,.! ]|$)",
)
KEEP = (
    r"(?:mach(?:e)? (?:so|genauso) weiter|weiter so|bleib(?:e)? (?:dabei|bei))|continue (?:comme ça|ainsi)"
    r"|garde (?:ça|ce style|cette)"
    r"|sig(?:ue|amos) (?:así|\w+ando|\w+iendo|con)|mantén (?:esto|este|así)",
)
ADVICE = (
    r"(?:achte|pass(?:e)?) (?:bitte )?(?:darauf|auf)|lieber [^,;?]{2,60} als|ich (?:würde )?bevorzuge|fais attention"
    r"|assure-toi|veille à|je préfère"
    r"|asegúrate|ten cuidado|prefiero",
)
CAVEAT = (
    r"(?:funktioniert|läuft|geht|baut) nur (?:mit|auf|unter|wenn|in)|braucht [^,;?]{2,60}(?:, sonst| installiert"
    r"| sonst)|ne (?:marche|fonctionne|tourne) qu(?:e|'|')"
    r"|solo funciona (?:con|en|si)|sólo funciona|necesita [^,;?]{2,60} (?:instalad|si no|o si no)\w*",
)
GUESS = (
    r"vielleicht|eventuell|vermutlich|wahrscheinlich|könnte(?:n)? (?:man|wir|das|es|ein)|scheint|ich glaube"
    r"|mal überlegen|evtl\.?"
    r"|peut-[eê]tre|sans doute|probablement|on (?:dirait|pourrait)|il semble|je pense que|à voir"
    r"|quiz[aá]s?|tal vez|a lo mejor|probablemente|parece que|podr[ií]amos|creo que",
)
CHANGE = (
    r"(?:sind|haben) [^,;.?]{0,40}(?:umgestiegen|gewechselt|ersetzt)|(?:on est|nous sommes) passés? (?:à|de)"
    r"|(?:hemos )?cambia(?:mos|do) (?:a|de)",
)
# Questions that do not always end with their mark, and what sounds like a rule.
QUESTION = (
    r"(?:(?:und|aber|also|oder),? )?(?:soll(?:en)? (?:ich|wir)|muss (?:ich|man|das)|darf (?:ich|man)|warum|wieso"
    r"|weshalb|wann|wer|wie (?:oft|kann|geht|soll)|kannst du|könntest du)\b"
    r"|est-ce\b|faut-il\b|pourquoi\b|comment\b|(?:peux|pourrais)-tu\b|¿|por qué\b|(?:puedes|podrías)\b"
)
FALSE = (
    r"\bimmer (?:noch|wieder)\b|\bfast immer\b|\bwie immer\b|\bnie mehr gesehen\b|\bpresque toujours\b"
    r"|\bcomme toujours\b|\bcasi siempre\b|\bcomo siempre\b"
    r"|\b(?:muss|müssen) (?:ich|wohl|gestern)\b|\bno importa\b|\bpas de (?:souci|problème)\b|\bne t'inquiète pas\b"
    r"|\bkeine (?:sorge|ahnung|eile)\b",
)
