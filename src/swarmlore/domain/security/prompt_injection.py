"""Detect prompt injection: score a text by suspicious concepts that stand close together.

Each word is looked up in a lexicon of concepts ("ignore": ignore, disregard, ignoriere, 忽略). A rule names concepts
that must stand within a few words of its first one. Each rule belongs to a class and has a weight; the best weight of
each class counts, and a text that reaches `THRESHOLD` is quarantined. Strong rules reach it alone. Weak signs, such
as role play or "from now on you", need a second sign, since honest texts contain them too. A text that mentions "your
instructions", "your answer" or "your code" addresses a model, and lessons rarely do. Distances are counted in words,
not characters, so the cost is linear and one set of rules serves every language of the lexicon.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache

from swarmlore.domain.language.unicode import fold
from swarmlore.frozen import frozen

CONCEPTS = {
    # discarding earlier instructions
    "IGNORE": "ignore ignoring disregard disregarding overlook dismiss neglect disobey defy ignoriere ignoriert "
    "missachte verwirf ignorez ignorer ignora ignorad ignorate ignorare ignorem desconsider* desprecia descarta "
    "omite omiso negeer ignoruj zignoruj игнорируй* проигнорируй* 忽略 忽视 无视 不要理会 不理会",
    "FORGET": "forget forgetting unlearn vergiss vergesse vergesst oublie oubliez oublier olvida olvide olvidar "
    "olvidate olviden dimentica dimenticate dimenticare scorda esqueca esquece esquecam esquecer vergeet zapomnij "
    "забудь* забыть 忘记 忘掉 忘記",
    "IGNORE_LATE": "ignorieren vergessen missachten verwerfen negeren vergeten 無視 忘れて 忘れる 忘れろ 従わない "
    "무시 잊어",
    "VOID": "override overrides overriding overrule overwrite discard drop delete erase remove wipe clear cancel "
    "abandon bypass skip reset suspend revoke circumvent",
    "INVALID": "void invalid obsolete outdated cancelled canceled revoked anymore superseded",
    "OBEY": "follow obey listen heed adhere comply abide consider regard obeying adhering listening folge befolge "
    "beachte suis suivez tenez tiens obeis sigas obedezcas seguire siga следуй слушай обращай 遵守 遵循 听从 従わ",
    "NOT": "not don't dont never no without cannot can't cant won't doesn't isn't aren't needn't zero devoid nicht "
    "kein keine ohne ne pas n'avais aucune aucun sans non senza nao sem sin не нет без 不要 不用 没有 なし ない",
    "PRIOR": "previous previously prior above earlier preceding precedes former foregoing aforementioned before "
    "past zuvor vorher vorherig* vorigen vorige bisherig* obigen obige oben fruher* vorangegangen* precedent* "
    "anterieur* anterior* previas previos previa antes avant prima arriba sopra acima eerdere poprzedni* предыдущ* "
    "прежни* прошлы* выше ранее раньше 之前 以前 先前 上面 以上 前面 此前 上述 これまで 今まで 上記 先ほど 前の "
    "이전",
    "FIRST": "initial original first hidden secret full entire whole complete exact verbatim ursprunglich* "
    "vollstandig* complet complets inicial* original* iniziali полный исходн* 原始 最初 完整",
    "ALL": "all any every each everything these those alle samtliche tous toutes todas todos tutte tutti все 所有 "
    "全部 全て すべて",
    "INSTRUCT": "instruction instructions directive directives guideline guidelines programming anweisung* "
    "instruktion* vorgabe* consigne consignes instruccion* indicaciones istruzion* instruco* instrucao instrucoes "
    "instructie* instrukcj* инструкц* указани* 指令 指示 命令 지시",
    "PROMPT": "prompt prompts systemprompt eingabeaufforderung промпт* промт* 提示词 提示詞 提示 プロンプト 프롬프트",
    "RULES": "rules directions commands command orders restrictions constraints policies policy training regeln "
    "befehl* regles ordres regole ordini comandi reglas ordenes regras ordens правил* команд* приказ* 规则 規則 "
    "要求 ルール",
    "SAID": "rule order task tasks text texts information context conversation message messages input inputs "
    "request requests statement statements restriction constraint content assignment assignments aufgabe* texte "
    "texto testo текст* 内容 文字",
    "EVERYTHING": "everything anything whatever all what alles tout todo tutto tudo всё все 一切",
    "TOLD": "told said say wrote written mentioned know known learned learnt taught gesagt gesagte dit dije dicho "
    "dijo detto disse dito сказал* 说过 告诉",
    "YOUR": "your yours deine deinen deinem dein deiner deines ihre ihren tes ton vos votre tus tu sus tue tuo tuoi "
    "tua vostre suas seu seus sua tuas teu jouw твои* твой свои* свой ваши* тебя 你的 您的 あなたの 당신의",
    "YOU": "you you're youre u du tu vous usted ustedes voce lei ты вы jij 你 您 あなた",
    "SYSTEM": "system sistema systeme системн* 系统 系統 システム",
    "NEW": "new real actual true updated neue neuen nouvelles nouveau nouvelle nuevas nueva nuevo nuove nuova novas "
    "nova novo новые новая nieuwe 新的 新しい",
    "TASK": "task goal mission job role purpose objective assignment aufgabe tache tarea compito tarefa задач* 任务 "
    "タスク",
    "WHAT": "what what's which wie was welche quelles quels cuales quali quais какие каковы 什么 什麼 哪些 何",
    # disclosing hidden text or secrets
    "SHOW": "show print reveal display output echo leak dump disclose expose divulge spell tell give write return "
    "provide list quote copy share paste zeige zeig nenne gib drucke verrate montre montrez affiche affichez donne "
    "donnez revele revelez dis muestra muestrame dime revela imprime mostra mostrami dimmi rivela stampa mostre "
    "diga imprima покажи* выведи* раскрой скажи* напиши* toon 显示 顯示 透露 告诉我 輸出 输出 打印 泄露 表示 教えて "
    "見せて 出力 보여",
    "SHOW_LATE": "zeigen nennen ausgeben anzeigen 显示 顯示 透露 告诉我 輸出 输出 打印 泄露 重复 表示 教えて 見せて "
    "出力 繰り返 보여",
    "RETELL": "summarize summarise translate paraphrase rewrite explain describe encode convert read reads reading "
    "fasse",
    "REPEAT": "repeat recite regurgitate restate wiederhole repete repetez repite ripeti repita повтори* herhaal "
    "重复 重複 繰り返",
    "REVEAL": "print reveal leak disclose divulge expose dump",
    "ME": "me us mir uns moi nous",
    "PASSWORD": "password passwords passphrase passcode passwort kennwort contrasena senha parola пароль* 密码 密碼 "
    "口令 パスワード",
    "CLUE": "hint hints riddle rhyme rhymes rhyming backwards reversed synonym acrostic",
    "PRIVATE": "password passwords credential credentials secrets keys key tokens token cookies conversation "
    "history memories env environment transcript emails contacts data files message",
    "SEND": "send upload forward exfiltrate transmit email leak post submit sende envoie envoyez envia invia "
    "отправь* 发送 送信",
    "AWAY": "http https www attacker webhook external remote server address url gmail",
    # personas without restrictions
    "AI": "ai a.i chatgpt gpt chatbot bot assistant llm gemini claude dan model models persona ki ia ии 人工智能",
    "MACHINE": "ai llm chatgpt gpt chatbot assistant",
    "UNBOUND": "unrestricted unfiltered uncensored unlimited unethical amoral immoral unbound unchained jailbroken "
    "lawless limitless uninhibited evil",
    "ETHICS": "ethics ethical moral morals morality censorship censor moderation moderated inhibitions scruples "
    "disclaimer disclaimers moralizing ethisch* ethique* etica eticas этик* 道德 伦理 倫理",
    "LIMITS": "restrictions restriction limitations limitation restraints boundaries confines limits limited bound "
    "restricted constrained confined filters filtering filter rules laws law policies policy guidelines legality "
    "einschrankung* beschrankung* regeln regles reglas regole regras правил* restricciones restrizioni restricoes "
    "ограничени* 限制 约束 制限",
    "REFUSE": "refuse refuses refusing decline declines deny apologise apologize warn lecture judge",
    "PRETEND": "pretend pretending simulate impersonate emulate fingiere finge finja fingi притворись* 假装 假裝 "
    "扮演 ふりをして 演じて",
    "PLAY": "act pretend behave roleplay impersonate play become assume simulate emulate respond reply answer speak "
    "talk",
    "NOW": "now jetzt maintenant ahora adesso ora agora теперь nu 现在 現在",
    "ARE": "are re bist es eres sei",
    "SPEECH": "please i i'm i'll i'd me my let's lets thanks hello hi bitte mir ich moi je yo mio mi io eu мне я 请 "
    "我 ください 私",
    "A": "a an ein eine un une una um uma my mein called named known",
    # the shape of the answer
    "ANSWER": "response responses answer answers reply replies antwort antworten reponse reponses respuesta "
    "risposta resposta ответ* 回答 回复 回覆 返答 응답",
    "REPLY": "answer reply replies answers",
    "OUT": "response responses answer answers reply replies message messages output outputs",
    "RESPOND": "respond reply answer say output speak responding replying answering saying antworte antworten sage "
    "reponds repondez responde responda rispondi ответь* отвечай* 回答 答えて",
    "HACKED": "hacked pwned haxxed haxored h4cked pwnd owned",
    "ENCODED": "base16 base32 base58 base64 base85 hex hexadecimal binary octal rot13 morse reverse reversed "
    "backward backwards emoji emojis braille leetspeak ciphertext encrypted pig",
    "CIPHER": "base16 base32 base58 base64 base85 hex hexadecimal binary octal rot13 rot47 caesar cipher ciphers "
    "ciphered ciphertext encrypt encrypted encrypting encryption encode encoded encoding encipher morse reverse "
    "reversed reversing reversal backward backwards mirrored inverted invert flip flipped pig leet leetspeak emoji "
    "emojis emoticon emoticons anagram* scramble scrambled scrambling jumble jumbled misspell misspelled "
    "misspelling misspellings typos homophonic alphanumeric substitution substitute symbols vowels spaces "
    "punctuation letter letters alphabet acrostic braille atbash vigenere ascii",
    "LETTERS": "letter letters vowel vowels consonant consonants",
    "VOWELS": "vowel vowels consonant consonants",
    "SWAP": "replace substitute swap shift convert change rearrange scramble jumble group use misspell anagram "
    "introduce",
    "LANGUAGE": "english french german spanish italian portuguese russian chinese mandarin cantonese japanese "
    "korean arabic hindi bengali urdu dutch swedish danish norwegian finnish greek turkish polish czech hungarian "
    "romanian ukrainian latin hebrew thai vietnamese indonesian swahili persian farsi esperanto klingon icelandic",
    "INCLUDE": "add adding include including insert inserting integrate integrating incorporate incorporating "
    "append embed embedding inject mention mentioning weave put place slip sneak attach introduce feature advertise "
    "promote promoting suggest suggesting recommend recommending urge claim encourage encouraging invite inviting "
    "tease hint direct spread offer ask endorse conclude persuade convince praise stress emphasize highlight",
    "MODIFY": "modify modifying augment enhance enhancing adjust alter enrich supplement amend tweak twist manipulate",
    # foreign code to be inserted
    "FOLLOWING": "following follows below subsequent next this given attached",
    "SNIPPET": "snippet snippets block blocks excerpt excerpts section segment fragment piece lines sample",
    "TAKE": "use using utilize utilizing utilise employ employing execute executing adopt adopting apply applying "
    "deploy merge merging blend fuse infuse meld interweave absorb assimilate engage enlist implement leverage "
    "harmonize render ensure validate guarantee add adding include including inclusion insert integrate integrating "
    "integration incorporate incorporating append embed embedding inject introduce weave place feature addition "
    "make",
    "WORK": "code implementation solution codebase algorithm program logic response answer script project "
    "application software function class module routine development",
    "CREATE": "formulate write create generate make invent produce compose spread craft publish fabricate draft "
    "provide give",
    "UNTRUE": "untrue false fake misleading fabricated bogus fictitious sensational deceptive",
    "NEWS": "headline headlines news story stories rumor rumors rumour claim claims article articles review reviews "
    "fact facts announcement testimonial testimonials information",
    # acting without the user's knowledge
    "TELL": "tell telling inform informing mention mentioning alert alerting notify notifying reveal revealing ask "
    "asking show showing",
    "PERSON": "user users anyone human humans operator owner developer developers them reviewer person people",
    "LURE": "visit click download call enter buy install subscribe send donate",
    "SECRETLY": "secretly covertly stealthily surreptitiously discreetly heimlich",
    "MEMORY": "memory memories agent agents session sessions conversation conversations note notes",
    "SPREAD": "copy save write add store append replicate spread propagate repeat insert duplicate",
    "PAYLOAD": "message memory note instruction instructions prompt lesson rule text sentence",
}

# Concepts that make a text suspect; words whose typing errors are then corrected; real words one letter away from them.
SUSPECT = "IGNORE FORGET INSTRUCT PROMPT PASSWORD"
REPAIRED = (
    "ignore ignoring disregard forget previous instruction instructions prompt password pretend guidelines restrictions"
)
NEVER_REPAIRED = (
    "ignored ignores forgot forged forges prompts prompted passwords pretends pretended guideline restriction"
)


# Class, weight, concepts. The first concept is the anchor; the others stand within that many words after it, before it
# (`-`) or on either side (`~`). Capitals name a concept of the lexicon; a lower-case word stands for itself.
RULES = """
override 3 IGNORE|FORGET PRIOR|YOUR|FIRST|SYSTEM|ALL/6 INSTRUCT|PROMPT/9
override 3 IGNORE|FORGET PRIOR|YOUR/5 RULES/7
override 3 IGNORE|FORGET|ignores safety|ethical|content|moral/4 RULES|INSTRUCT|LIMITS/6
override 3 IGNORE|FORGET|VOID PRIOR|ALL|YOUR/6 guidance|advice|requirements/8
override 3 IGNORE_LATE ~PRIOR|YOUR|SYSTEM|ALL/8 ~INSTRUCT|PROMPT/8
override 3 IGNORE_LATE ~EVERYTHING/4 ~TOLD/8
override 3 VOID YOUR/4 INSTRUCT|PROMPT|RULES|safety|MEMORY|mind/6
override 3 VOID|disable|deactivate|unlock|lower YOUR/2 safety|content|ETHICS|LIMITS/4
override 2 VOID|unlock|lift ALL/2 LIMITS/4
override 1 emergency|admin|master override/2
override 2 YOU are/1 NOT/2 anymore|longer/7
override 3 VOID PRIOR/4 INSTRUCT/6
override 2 VOID PRIOR|SYSTEM/4 PROMPT/6
override 2 VOID SAID/3 PRIOR/5
override 2 IGNORE|FORGET PRIOR|YOUR/5 SAID/7
override 2 IGNORE|FORGET last|latest/3 INSTRUCT|RULES|SAID/5
override 2 IGNORE user|users/3
override 2 IGNORE_LATE ~PRIOR|YOUR/6 ~RULES|SAID/6
override 3 IGNORE|FORGET EVERYTHING/3 TOLD/6
override 3 FORGET EVERYTHING/3 PRIOR|YOUR/6
override 2 FORGET EVERYTHING|anything|alles|tout|todo|tutto|tudo/3
override 3 IGNORE EVERYTHING/3 above|oben|上面|以上/5
override 2 IGNORE EVERYTHING/3 PRIOR/6
override 3 IGNORE|FORGET RULES|INSTRUCT|SAID/5 NOT/7 SHOW|REVEAL|revealing|share|sharing|telling/9
override 3 NOT OBEY/3 PRIOR|YOUR|FIRST|ALL/6 INSTRUCT|PROMPT/9
override 3 NOT OBEY/3 PRIOR|YOUR/6 RULES/9
override 3 YOU NOT/3 OBEY/6 RULES|INSTRUCT|LIMITS/10
override 2 NOT OBEY/2 RULES|LIMITS/6
override 2 NOT OBEY/3 PRIOR|YOUR|SAID/6 SAID|PRIOR/9
override 3 pay no/1 attention/2 PRIOR|INSTRUCT|PROMPT|RULES/7
override 3 never mind/1 PRIOR/4
override 3 stop FOLLOWING|obeying|acting/2 YOUR|PRIOR|INSTRUCT|RULES/6
override 2 no longer/2 bound|restricted|limited|follow|OBEY|constrained/5
override 2 IGNORE|FORGET INSTRUCT/4
override 2 FORGET RULES/4
override 1 FORGET that|it|this/1
override 1 IGNORE|FORGET the|this|that/1 SAID|document|question/3
override 1 start|begin over|again/1
before 1 PRIOR INSTRUCT/3
before 1 INSTRUCT PRIOR/3
voided 1 INSTRUCT|RULES no|NOT/6 longer|valid|apply/8
voided 1 INSTRUCT|RULES INVALID/4
instead 1 instead RESPOND|SHOW|write|compose|do|say/3
instead 1 FOLLOWING|do|say instead/3
fresh 3 YOUR NEW/2 TASK|INSTRUCT|PROMPT|RULES/3 is|ARE|will/5
fresh 2 NEW INSTRUCT|PROMPT|orders|directions/2
fresh 2 NEW ruleset|regeln|regles|reglas|regole|regras|правила|规则/2
fresh 2 NEW RULES/1 YOU|ARE|YOUR/4
fresh 2 YOUR only/2 TASK|INSTRUCT|PROMPT/3
fresh 2 gave|give|giving|given|have|got|has ME|YOU|us/1 NEW|another|different/3 TASK/4
fresh 1 NEW|another|different|other TASK|protocol|mode|policy/2
fresh 1 in addition/2 INSTRUCT/8
fresh 1 instead of/1 answering|summarizing|summarising|translating|FOLLOWING/2
fromnow 2 from NOW/1 on/2 YOU|YOUR/5
fromnow 1 from NOW/1 on/2
fromnow 2 from here/1 on/2
fromnow 2 from this/1 moment|point|message/2
fromnow 2 rest of/1 this|the|our/2 chat|conversation|session/3
fromnow 2 ab jetzt|sofort/1 YOU|YOUR|bist/4
fromnow 2 desormais|отныне|从现在开始|从现在起|今から|これから ~YOU|YOUR|RESPOND|ANSWER/8
fromnow 2 partir de/1 NOW/2
fromnow 2 ahora adelante/3
fromnow 2 ora poi/2
tasked 2 YOU|you're will|must|shall|should|ARE/2 NOW|only|always|never|NOT|simply/3 PLAY/6
tasked 2 YOU|you're ARE|going|will|must/2 to|NOW|be/3 act|PRETEND|behave|roleplay|impersonate|become|assume|playing/5
tasked 1 YOU|you're will|must|shall|going/2 PLAY/5
tasked 2 YOU RESPOND|speak|talk/2 like|as|in|only|EVERYTHING/3
meta 2 YOUR INSTRUCT|PROMPT/3
meta 1 YOUR RULES/3
meta 2 YOUR safety|content|ethical|moral/1 LIMITS|RULES|INSTRUCT/2
meta 2 my INSTRUCT/1 ARE/3
meta 2 hidden|secret INSTRUCT|PROMPT/2
given 2 INSTRUCT|PROMPT ~given|received|gave|got|TOLD|initialised|initialized/4 ~YOU/5
given 1 INSTRUCT|PROMPT given|received|provided/2
given 2 TOLD|supposed|instructed|asked|allowed|forbidden YOU|to|NOT/1 NOT|to/2 share|REVEAL|TELL|say|disclose|give/5
given 2 remind|TELL|SHOW ME/1 WHAT/2 i/3 asked|TOLD|SAID|wrote/4
given 2 WHAT i/1 asked|told|typed|wrote|said/2 PRIOR|YOU/4
given 2 WHAT i/1 asked|TOLD/2 YOU/3
reveal 3 SHOW YOUR/4 INSTRUCT|PROMPT/6
reveal 3 YOUR INSTRUCT|PROMPT/3 ~SHOW|RETELL|REPEAT/10
reveal 3 SHOW YOUR/3 FIRST|SYSTEM|initialization|secret/4 RULES|SAID|words|message|configuration|settings/5
reveal 3 SHOW|WHAT YOUR/3 RULES/4
reveal 3 SHOW YOUR/5 context|conversation|initialization/7
reveal 3 SHOW ME/2 FIRST|ALL|SYSTEM|PRIOR/5 INSTRUCT|PROMPT/8
reveal 2 SHOW ME/1 the/2 INSTRUCT|PROMPT/4
reveal 3 SHOW PRIOR|FIRST/5 INSTRUCT/7
reveal 2 SHOW FIRST|SYSTEM|PRIOR/5 PROMPT/7
reveal 3 SHOW hidden|secret/4 text|message/5
reveal 3 REVEAL ALL|FIRST|PRIOR/4 INSTRUCT/5
reveal 2 SHOW ALL|SYSTEM/4 INSTRUCT|PROMPT/6
reveal 2 REVEAL the/2 INSTRUCT|PROMPT/4
reveal 2 REPEAT the/2 INSTRUCT|PROMPT/4
reveal 3 REPEAT YOUR/5 FIRST|SAID/7
reveal 3 REPEAT YOUR|ALL|FIRST|PRIOR|SYSTEM/4 INSTRUCT|PROMPT/6
reveal 3 REPEAT text|words|sentence|EVERYTHING|conversation|message|paragraph/4 PRIOR/7
reveal 3 SHOW ME/2 text|words|conversation|EVERYTHING/5 PRIOR/7
reveal 2 SHOW EVERYTHING|text|words|conversation/4 PRIOR/6
reveal 2 SHOW INSTRUCT/3 PRIOR/5
reveal 3 RETELL PRIOR|FIRST|SYSTEM/3 INSTRUCT/5
reveal 2 RETELL PRIOR|FIRST|SYSTEM/3 PROMPT/5
reveal 3 WHAT ~YOUR/5 ~INSTRUCT|PROMPT/6
reveal 3 WHAT was|were/2 YOU/3 INSTRUCT|PROMPT/6
reveal 3 WHAT|how were|ARE|exactly/2 YOU/3 TOLD|asked|instructed|programmed|prompted/5
reveal 3 WHAT|which RULES|INSTRUCT/2 YOU/5 follow|OBEY|given/7
reveal 3 WHAT|SHOW|REPEAT beginning|start/5 our|this/7 conversation/8
reveal 2 WHAT|SHOW written|text|start|content/5 PRIOR/9 my/10 message|question|PROMPT/11
reveal 3 SHOW_LATE ~YOUR|SYSTEM/8 ~INSTRUCT|PROMPT/8
reveal 3 so far/1 -SHOW|REPEAT/9 -conversation|messages|INSTRUCT|PROMPT|chat/6
reveal 2 SHOW YOUR/3 configuration|settings|parameters/4
reveal 2 SHOW|WHAT SYSTEM/8 message|messages|PROMPT/9
reveal 2 SHOW what|everything/2 comes|follows|stands|precedes/4
reveal 2 INSTRUCT|PROMPT REPEAT|SHOW/8 them|it/9
reveal 3 SHOW text|words|everything|information/4 YOU/6 given|told|received/9
reveal 1 REVEAL EVERYTHING|it/2
ask_model 1 SHOW ME/1 YOUR/2
ask_model 1 WHAT role|RULES/1 YOU/3
ask_model 1 complete|continue|finish this|the/1 sentence/2
secret 3 PASSWORD -the|YOUR|secret|this|das|la|le|el|il/2 -ME/4 -SHOW/5
secret 3 PASSWORD ~告诉我|教えて|говори|скажи/4
secret 2 PASSWORD -the|YOUR|secret|this|das|la|le|el|il/2 -SHOW|WHAT|know|REPEAT|RESPOND/4
secret 2 secret|magic word|PASSWORD|phrase|passphrase|message/1
secret 3 secret|PASSWORD ~CLUE/8
secret 2 PASSWORD ~secret/8
secret 3 SHOW|prints|printing secret/4 PASSWORD/5
secret 2 SHOW secret/3 key|code|word|phrase|message|it/4
secret 3 SHOW secret/4 in|as/5 ENCODED/7
secret 3 SHOW PASSWORD/4 ENCODED|LETTERS/8
secret 3 PASSWORD ~NOT|without/5 saying|revealing|telling|naming/6
secret 2 LETTERS|characters|character|FIRST PASSWORD/5
secret 3 spell|spelling PASSWORD/4
secret 2 PASSWORD give|tell|show|send/8 ME/10
secret 2 hide|hiding|protect PASSWORD|secret/4
secret 2 YOU keep/4 secret/6
secret 2 SHOW credentials|credential|PASSWORD|secrets/4 ME/6
bit_by_bit 2 letter|character|word by|at|for/1 letter|character|word|A/2
bit_by_bit 1 single|one word/1
persona 3 do anything/1 NOW/2
persona 3 dan mode|anything|jailbreak|persona/4
persona 2 YOU|stay|be|remain|as dan/5
persona 3 dan|jailbreak|UNBOUND|opposite|chaos mode/1
persona 2 YOU|YOUR developer|maintenance|admin|debug|root|god|sudo|diagnostic/6 mode|state/8
persona 1 developer|maintenance|admin|debug|god mode/1
persona 3 YOU UNBOUND/4 AI|ETHICS|LIMITS/8
persona 3 want|need YOU/1 to/2 act|PRETEND|behave|roleplay|impersonate|become/4
persona 3 now YOU/1 ARE/2 A/3
persona 3 YOU ARE/1 NOW/2 A|UNBOUND|free/4
persona 3 you're NOW/1 A|UNBOUND|free/3
persona 2 YOU ARE/1 NOW/2 in|going|playing|acting|the/3
persona 2 du|tu|vous|voce|ты|вы ~jetzt|maintenant|desormais|agora|теперь/3
persona 2 eres|sei ~ahora|ora|adesso/2
persona 2 现在|現在 你|您/3 是/5
persona 3 act as/1 A/2 who|that|without/5
persona 1 RESPOND in/1 the/2 style/3
persona 2 act|acting|behave as|like/1 A|if|dan|though/2
persona 2 act like|as/1 her|him|them/2
persona 2 PRETEND YOU|to|be|that|A/2
persona 2 RESPOND as|like/1 would/4
persona 2 RESPOND as|like/1 somebody|someone|if|though/2
persona 1 YOU are/1 A/2
persona 2 YOUR name/1 is/2
persona 2 YOU my/2 late|deceased|dead/3 grandmother|grandma|grandfather|mother|father/5
persona 1 grandma|grandmother used/2 to/3
persona 1 YOU ARE/1 A/2 character|persona|chatbot|AI/5
persona 1 roleplay|roleplaying|hypothetical|hypothetically|fictional|imagine|PRETEND|scenario|persona|представь
persona 1 role|character|part ~PLAY|playing|of/3
persona 1 PLAY game/2
persona 2 take|takes|taking|assume on|the|A/1 role|persona|part/3
persona 1 comme|como si/1
persona 2 tu so/1 als/2
character 2 stay|remain|keep in/1 character/2
character 2 NOT break/2 character/3
limitless 3 AI|YOU NOT|free|freed|lacks/5 ETHICS/8
limitless 2 NOT|free ETHICS/8
limitless 2 AI|YOU ~NOT|free|freed/4 ~LIMITS/8
limitless 2 NOT content|usage|safety/3 LIMITS/4
limitless 1 NOT|free LIMITS/4
limitless 2 UNBOUND ~AI|YOU|OUT/3
limitless 1 UNBOUND
limitless 1 RESPOND EVERYTHING/3
limitless 1 jailbreak|jailbreaking
limitless 2 YOU can|may|could/2 whatever|anything/4
limitless 2 YOU freed|liberated|released|free/3 from|of/4
limitless 2 regardless|irrespective|despite|disregarding|matter legality|ETHICS|consequences|legal|illegal|unethical/5
limitless 3 orders|requests|EVERYTHING|anything being|is|ARE/1 allowed|permitted/2
comply 2 NOT REFUSE/3
comply 2 never say|says|saying/1 no/2
comply 2 obey|follow my|every|ALL/2 RULES|SAID/4
comply 2 do|execute whatever|everything|anything/2 i/3 say|ask|tell|want/4
comply 1 must|always|will comply|OBEY/3
comply 2 YOU lose|die/2 tokens|points|lives/4
identity 1 as A/1 AI/2
identity 1 chatgpt|openai|chatbot
identity 1 YOU ARE|as/2 AI/6
identity 2 NOT admit|acknowledge|mention|say/3 AI/6
speech 1 SPEECH
speech 1 can|could|would|will YOU/1
identity 2 i|i'm|im am|the|YOUR|an/1 developer|creator|owner|administrator|admin|boss|master/5
identity 1 i|i'm|im am|A/1 security|AI|openai/3 researcher|engineer|expert/5
addressed 3 if YOU/1 ARE/2 A/3 MACHINE|language/4
addressed 3 MACHINE reading|reads/2 this/3
addressed 2 attention|note|message|INSTRUCT|notice to|for|the|ALL|any/2 MACHINE|language/4
addressed 2 attention MACHINE/1
trigger 2 when|whenever|if YOU/1 read|see|process|encounter/2 this/3
coerce 3 start|begin|prefix|preface YOUR/2 ANSWER/4 with|by/6
coerce 2 start|begin|prefix|preface every|each|ALL/2 ANSWER/4 with|by/6
coerce 2 every|each|ALL ANSWER/2 start|starts|begin|begins/5 with/6
coerce 3 end|conclude|finish|close YOUR/2 ANSWER/4 with|by/6
coerce 2 only RESPOND/3 with|in|as|to|using/5
coerce 2 只 RESPOND/3
coerce 2 can|must|will|may only/1 RESPOND/2
coerce 2 RESPOND only|exactly|just/3
coerce 1 always RESPOND/1 as|with|in/3
coerce 2 RESPOND with/3 every|ALL|any/12 question|questions|PROMPT|message/14
coerce 2 RESPOND every|ALL|any/2 question|questions|PROMPT/4 with|as/5
coerce 2 say sure|absolutely|certainly|yes/1
coerce 2 confirm|acknowledge by/2 saying|replying|responding|answering/3
coerce 3 RESPOND|SHOW HACKED/8
coerce 1 before RESPOND/1
obfuscate 3 YOUR OUT/2 ~CIPHER/12
obfuscate 3 RESPOND in|with|using|as/1 reverse|reversed|backwards|emojis|morse|rot13|pig|leetspeak/4
obfuscate 2 RESPOND in|with|using|as/1 ENCODED/4
obfuscate 3 present|give|provide|write|deliver|express|state|say|phrase|type ANSWER/4 in|as|using|with|into/6 ENCODED/8
obfuscate 2 encode|convert|translate|encrypt|render REPLY/3 as|to|in|into|using/5 ENCODED|LANGUAGE/6
obfuscate 3 SWAP VOWELS/4 with|to|into|by|for/7
obfuscate 3 replace|substitute|shift every|each/2 letter|vowel|word/4
obfuscate 2 SWAP LETTERS/4 with|to|into|by|for|its/8
obfuscate 3 YOUR OUT/2 ~LANGUAGE/8
obfuscate 3 translate|translated YOUR/3 OUT/4
obfuscate 1 RESPOND in/2 LANGUAGE/3
plant 3 YOUR ANSWER/2 -INCLUDE/28
plant 3 in|within YOUR/1 ANSWER/2 INCLUDE/8
plant 3 end|beginning|start of/1 YOUR/2 ANSWER/3
plant 3 YOUR ANSWER/1 recommends|promotes|mentions|praises|advertises/3
plant 3 MODIFY YOUR/2 ANSWER/3
plant 3 YOUR ANSWER/2 should|must|has|needs/3 promote|praise|advertise|recommend|mention|endorse/5
plant 2 YOUR ANSWER/2 should|must|has|needs/3 contain|INCLUDE/5
plant 2 TELL|direct|urge|invite|encourage|redirect user|users|them|people|readers/2 LURE/5
code 3 YOUR WORK/3 ~FOLLOWING/25 ~SNIPPET/28 ~code/28
code 3 TAKE FOLLOWING/9 code/11 SNIPPET/12
code 3 TAKE FOLLOWING/6 code/8 in|into|within|to/9 YOUR/10
code 2 FOLLOWING code/2 SNIPPET/3
falsehood 3 CREATE UNTRUE/6 NEWS/9
falsehood 3 invent|SPREAD|fabricate rumor|rumors|rumour|lies/3
falsehood 3 CREATE hateful|racist|sexist|toxic|insulting/4
falsehood 2 CREATE phishing|scam|ransomware|keylogger/4
leak 2 SEND PRIVATE/8 AWAY/20
leak 2 SEND every|ALL/1 message|email|conversation/2 to/8
leak 3 exfiltrate PRIVATE/8
leak 1 INCLUDE their|user|user's|YOUR/2 PRIVATE/5
conceal 2 NOT TELL/3 PERSON/6
conceal 2 without telling|informing|mentioning|notifying|asking/1
conceal 2 SECRETLY SEND|INCLUDE|TAKE|SPREAD/4
conceal 2 avoid|evade|escape detection|monitoring|safeguards|moderation|filters/3
trigger 1 when|whenever user/3 asks|says|requests|mentions|types/5
delimiter 1 end|beginning|start of/1 PROMPT|INSTRUCT|document/4
worm 3 every|all|each|other MEMORY/3 -this|these/12 -SPREAD/14 -PAYLOAD/12
worm 2 SPREAD this|these/3 PAYLOAD/5 YOUR/8 MEMORY/10
worm 2 SPREAD it|this|these/2 other|every|ALL/5 agents|MEMORY|memories/7
future 2 ALL next|following|future|further/2 ANSWER|questions|messages|prompts/3
future 2 ALL|every|each future/1 conversations|sessions|responses|answers|chats/2
"""

# Prompt template markers and faked conversation turns, matched on the folded text: needle, weight, pattern.
MARKERS = (
    ("<|", 2, r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id)\|>"),
    ("inst]", 2, r"\[/?inst\]"),
    ("<<sys>>", 2, r"<</?sys>>"),
    ("_of_turn>", 2, r"<(?:start|end)_of_turn>"),
    ("system>", 2, r"</?system>"),
    ("system", 2, r"\n[ \t#*\[<]{0,6}system[ \t]{0,3}[\]>*]{0,3}[ \t]{0,3}:"),
    ("##", 2, r"#{2,4} ?(?:system|instruction)s?(?: (?:prompt|message|override)s?)? ?:"),
    ('"role"', 1, r'"role"\s{0,3}:\s{0,3}"system"'),
    ("assistant:", 1, r"(?:\A|\n)[ \t]{0,3}(?:user|human)[ \t]{0,3}:[^\0]{0,400}?\n[ \t]{0,3}assistant:"),
)


THRESHOLD = 3

# Tokens per sliding window: signs far apart in a long text are unrelated, so weights are added within a window only.
_WINDOW = 500
_STEP = 350
_STEM = 5
# Positions are counted in half words: an ideograph counts as half a word, the end of a sentence as two words.
_WORD = 2
_SENTENCE = 4
_BREAK = -1

_TOKEN = re.compile(r"\w+(?:'[a-z]+)?|[.!?](?=\s)|\n")
_IDEOGRAPH = "\u3040"  # first code point of the scripts that do not separate words
# Words of nearly every text, so that the index does not choose their concepts as the rarest one of a rule.
_COMMON = (
    "a an the this that these it i me my you your to in into of on for from with as by at is are was be all any every "
    "each no not never without new first use using add set run write make give list return show print before what if"
)


@frozen
class Rule:
    """One rule: an anchor concept (as bits) and the range, in half words, of each further concept around it."""

    kind: str
    weight: int
    anchor: int
    steps: tuple[tuple[int, int, int], ...]


@frozen
class Lexicon:
    """The lookup tables built from `CONCEPTS` and `RULES`: words, stems, typing errors and rules by concept bit."""

    words: dict[str, int]
    stems: dict[str, list[tuple[str, int]]]
    repairs: dict[str, str]
    core: int
    negation: int
    dismissal: int
    rules: dict[int, list[Rule]]


def find_override(folded: str) -> str:
    """Return the rule classes under which a folded text tries to override instructions, joined by "+"; "" if none."""
    marked = _weigh_markers(folded)
    lexicon = _lexicon()
    tokens = _tokenise(folded)
    for start in range(0, max(1, len(tokens) - _WINDOW + _STEP), _STEP):
        scores = _score(tokens[start : start + _WINDOW], lexicon)
        if marked:
            scores["markers"] = marked
        if scores and _total(scores) >= THRESHOLD:
            return "+".join(sorted(scores, key=lambda kind: (-scores[kind], kind)))
    return ""


def _weigh_markers(folded: str) -> int:
    """Return the weight of the strongest prompt template marker in a folded text; 0 if there is none."""
    best = 0
    for needle, weight, pattern in MARKERS:
        if weight > best and needle in folded and compiled(pattern).search(folded):
            best = weight
    return best


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regular expression, compiled on first use."""
    return re.compile(pattern)


def _total(scores: dict[str, int]) -> int:
    """Add up the weights; polite words ("please", "tell me") count only beside a sign with a weight above 1."""
    serious = any(weight > 1 for weight in scores.values())
    return sum(scores.values()) if serious else sum(scores.values()) - scores.get("speech", 0)


def _tokenise(folded: str) -> list[str]:
    """Split a text into words and sentence ends; in scripts without spaces into lexicon terms and single characters."""
    if folded.isascii() or max(folded) < _IDEOGRAPH:
        return _TOKEN.findall(folded)
    return _ideographic_token().findall(folded)


@cache
def _ideographic_token() -> re.Pattern[str]:
    terms = sorted((word for word in _lexicon().words if word >= _IDEOGRAPH), key=len, reverse=True)
    scripts = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    return re.compile(rf"{'|'.join(terms)}|[{scripts}]|[^\W{scripts}]+(?:'[a-z]+)?|[.!?](?=\s)|[\n。！？]")


def _score(tokens: list[str], lexicon: Lexicon) -> dict[str, int]:
    """Return the best weight per rule class; correct typing errors only in a suspect text below the threshold."""
    hits, present = _look_up_concepts(tokens, lexicon)
    scores = _match_rules(hits, present, lexicon)
    if present & lexicon.core and _total(scores) < THRESHOLD:
        repaired = _correct_typos(tokens, lexicon)
        if repaired != tokens:
            return _match_rules(*_look_up_concepts(repaired, lexicon), lexicon)
    return scores


def _look_up_concepts(tokens: list[str], lexicon: Lexicon) -> tuple[list[tuple[int, int]], int]:
    """Return the position and concepts of each known word, and the union of all concepts."""
    words, stems = lexicon.words, lexicon.stems
    hits = []
    present = position = before = 0
    for token in tokens:
        concepts = words.get(token, 0)
        if concepts == _BREAK:
            position += _SENTENCE
            continue
        position += 1 if len(token) == 1 and token >= _IDEOGRAPH else _WORD
        if not concepts and token[:_STEM] in stems:
            concepts = _stem_concepts(token, stems[token[:_STEM]])
        if concepts:
            if before & lexicon.negation:
                concepts &= ~lexicon.dismissal  # "never ignore the guidelines" asks for the opposite
            hits.append((position, concepts))
            present |= concepts
        before = concepts if token != "to" else before
    return hits, present


def _stem_concepts(token: str, candidates: list[tuple[str, int]]) -> int:
    """Return the concepts of all stems that a word begins with."""
    concepts = 0
    for stem, bits in candidates:
        if token.startswith(stem):
            concepts |= bits
    return concepts


def _match_rules(hits: list[tuple[int, int]], present: int, lexicon: Lexicon) -> dict[str, int]:
    """Return the best weight per class over the rules that match these hits."""
    scores: dict[str, int] = {}
    places: dict[int, list[int]] = {}
    for bit in _each_bit(present):
        for rule in lexicon.rules.get(bit, ()):
            if scores.get(rule.kind, 0) < rule.weight and _rule_matches(rule, present, hits, places):
                scores[rule.kind] = rule.weight
    return scores


def _rule_matches(rule: Rule, present: int, hits: list[tuple[int, int]], places: dict[int, list[int]]) -> bool:
    """Tell whether all concepts of a rule occur, each within its range around one of the anchors."""
    if not rule.anchor & present:
        return False
    for concepts, _, _ in rule.steps:
        if not concepts & present:
            return False
    for concepts in (rule.anchor, *(step[0] for step in rule.steps)):
        if concepts not in places:
            places[concepts] = [position for position, found in hits if found & concepts]
    return any(_concepts_near(anchor, rule.steps, places) for anchor in places[rule.anchor])


def _concepts_near(anchor: int, steps: tuple[tuple[int, int, int], ...], places: dict[int, list[int]]) -> bool:
    """Tell whether every further concept of a rule occurs within its range around this anchor position."""
    for concepts, first, last in steps:
        positions = places[concepts]
        at = bisect_left(positions, anchor + first)
        if at < len(positions) and positions[at] == anchor:
            at += 1  # a word is not its own neighbour
        if at == len(positions) or positions[at] > anchor + last:
            return False
    return True


def _correct_typos(tokens: list[str], lexicon: Lexicon) -> list[str]:
    """Return the tokens with core words corrected that were split in two or have one wrong letter."""
    repaired = []
    rest = iter(zip(tokens, [*tokens[1:], ""], strict=True))
    for token, following in rest:
        joined = token + following
        if following and lexicon.repairs.get(joined) == joined:
            repaired.append(joined)
            next(rest, None)
        else:
            repaired.append(_correct_word(token, lexicon))
    return repaired


def _correct_word(token: str, lexicon: Lexicon) -> str:
    """Return the core word that differs by one dropped, added, changed or swapped letter; else the token itself."""
    if len(token) < _STEM or token in lexicon.words:
        return token
    if token in lexicon.repairs:
        return lexicon.repairs[token]
    shorter = (token[:at] + token[at + 1 :] for at in range(1, len(token)))
    return next((lexicon.repairs[word] for word in shorter if word in lexicon.repairs), token)


@cache
def _lexicon() -> Lexicon:
    """Build the lexicon on first use."""
    words: dict[str, int] = dict.fromkeys(".!?\n。！？", _BREAK)
    stems: dict[str, list[tuple[str, int]]] = {}
    bits = {name: 1 << place for place, name in enumerate(CONCEPTS)}
    for name, listed in CONCEPTS.items():
        for word in fold(listed).split():
            if word.endswith("*"):
                stems.setdefault(word[:_STEM], []).append((word[:-1], bits[name]))
            else:
                words[word] = words.get(word, 0) | bits[name]
    rules = _parse_rules(bits, words)
    core = sum(bits[name] for name in SUSPECT.split())
    words.update((word, 0) for word in NEVER_REPAIRED.split() if word not in words)
    dismissal = bits["IGNORE"] | bits["FORGET"]
    return Lexicon(words, stems, _typos(), core, bits["NOT"], dismissal, _index(rules, words))


def _typos() -> dict[str, str]:
    """Map each core word, and each core word without one letter (never the first), to the core word."""
    typos = {word[:at] + word[at + 1 :]: word for word in REPAIRED.split() for at in range(1, len(word))}
    return typos | {word: word for word in REPAIRED.split()}


def _index(rules: list[Rule], words: dict[str, int]) -> dict[int, list[Rule]]:
    """Index the rules by the bits of their rarest concept, so that most texts are checked against only a few rules."""
    seen: dict[int, int] = {}
    for word in _COMMON.split():
        for bit in _each_bit(words.get(word, 0)):
            seen[bit] = seen.get(bit, 0) + 1

    @cache
    def cost(concepts: int) -> tuple[int, int]:
        return sum(seen.get(bit, 0) for bit in _each_bit(concepts)), concepts.bit_count()

    index: dict[int, list[Rule]] = {}
    for rule in rules:
        for bit in _each_bit(min((rule.anchor, *(step[0] for step in rule.steps)), key=cost)):
            index.setdefault(bit, []).append(rule)
    return index


def _each_bit(bits: int) -> Iterator[int]:
    """Yield the single bits of a bit set, lowest first."""
    while bits:
        bit = bits & -bits
        yield bit
        bits ^= bit


def _parse_rules(bits: dict[str, int], words: dict[str, int]) -> list[Rule]:
    """Parse `RULES` into bit sets; a lower-case word in a rule becomes a concept of its own."""

    @cache  # most concept sets occur in several rules
    def concepts(names: str) -> int:
        total = 0
        for name in names.split("|"):
            if name not in bits:
                bits[name] = 1 << len(bits)
                word = fold(name)
                words[word] = words.get(word, 0) | bits[name]
            total |= bits[name]
        return total

    @cache
    def step(listed: str) -> tuple[int, int, int]:
        names, distance = listed.lstrip("-~").split("/")
        reach = int(distance) * _WORD
        first, last = {"-": (-reach, -1), "~": (-reach, reach)}.get(listed[0], (1, reach))
        return concepts(names), first, last

    lines = (line.split() for line in RULES.strip().splitlines())
    return [Rule(kind, int(weight), concepts(anchor), tuple(map(step, rest))) for kind, weight, anchor, *rest in lines]
