"""The lexicon and the rules of the override classifier (`override`): data, no code.

CONCEPTS maps a concept to its words; `word*` stands for every word that begins so (five letters at least). Accents and
case do not matter. Chinese, Japanese and Korean terms are found inside running text. A word in a rule that is no
concept stands for itself.
"""

from __future__ import annotations

CONCEPTS = {
    # giving up what was said before
    "ignore": "ignore ignoring disregard disregarding overlook dismiss neglect ignoriere ignoriert missachte verwirf ignorez "
    "ignorer ignora ignorad ignorate ignorare ignorem desconsider* desprecia descarta omite omiso negeer ignoruj zignoruj "
    "игнорируй* проигнорируй* 忽略 忽视 无视 不要理会 不理会",
    "forget": "forget forgetting unlearn vergiss vergesse vergesst oublie oubliez oublier olvida olvide olvidar olvidate "
    "olviden dimentica dimenticate dimenticare scorda esqueca esquece esquecam esquecer vergeet zapomnij забудь* "
    "забыть 忘记 忘掉 忘記",
    "ignore_late": "ignorieren vergessen missachten verwerfen negeren vergeten 無視 忘れて 忘れる 忘れろ 従わない 무시 잊어",
    "void": "override overrides overriding overrule overwrite discard drop delete erase remove wipe clear cancel abandon bypass "
    "skip reset suspend revoke circumvent",
    "invalid": "void invalid obsolete outdated cancelled canceled revoked anymore superseded",
    "obey": "follow obey listen heed adhere comply abide consider regard obeying adhering listening folge befolge beachte "
    "suis suivez tenez tiens obeis sigas obedezcas seguire siga следуй слушай обращай 遵守 遵循 听从 従わ",
    "not": "not don't dont never no without cannot can't cant won't doesn't isn't aren't needn't zero devoid nicht kein keine "
    "ohne ne pas n'avais aucune aucun sans non senza nao sem sin не нет без 不要 不用 没有 なし ない",
    "prior": "previous previously prior above earlier preceding precedes former foregoing aforementioned before past zuvor "
    "vorher vorherig* vorigen vorige bisherig* obigen obige oben fruher* vorangegangen* precedent* anterieur* anterior* "
    "previas previos previa antes avant prima arriba sopra acima eerdere poprzedni* предыдущ* прежни* прошлы* выше "
    "ранее раньше 之前 以前 先前 上面 以上 前面 此前 上述 これまで 今まで 上記 先ほど 前の 이전",
    "first": "initial original first existing current old hidden secret full entire whole complete exact verbatim "
    "ursprunglich* vollstandig* complet complets inicial* original* iniziali полный исходн* 原始 最初 完整",
    "all": "all any every each everything these those alle samtliche tous toutes todas todos tutte tutti все 所有 全部 全て すべて",
    "instruct": "instruction instructions directive directives guideline guidelines guidance programming anweisung* "
    "instruktion* vorgabe* consigne consignes instruccion* indicaciones istruzion* instruco* instrucao instrucoes "
    "instructie* instrukcj* инструкц* указани* 指令 指示 命令 지시",
    "prompt": "prompt prompts systemprompt eingabeaufforderung промпт* промт* 提示词 提示詞 提示 プロンプト 프롬프트",
    "rules": "rules directions commands command orders restrictions constraints policies policy training regeln befehl* regles "
    "ordres regole ordini comandi reglas ordenes regras ordens правил* команд* приказ* 规则 規則 要求 ルール",
    "said": "rule order task tasks text texts information context conversation message messages input inputs request requests "
    "statement statements restriction constraint content assignment assignments aufgabe* texte texto testo текст*",
    "everything": "everything anything whatever all what alles tout todo tutto tudo всё все 一切",
    "told": "told said say wrote written mentioned know known learned learnt taught gesagt gesagte dit dije dicho dijo detto "
    "disse dito сказал* 说过 告诉",
    "your": "your yours deine deinen deinem dein deiner deines ihre ihren tes ton vos votre tus tu sus tue tuo tuoi tua vostre "
    "suas seu seus sua tuas teu jouw твои* твой свои* свой ваши* тебя 你的 您的 あなたの 당신의",
    "you": "you you're youre u du tu vous usted ustedes voce lei ты вы jij 你 您 あなた",
    "system": "system sistema systeme системн* 系统 系統 システム",
    "new": "new real actual true updated neue neuen nouvelles nouveau nouvelle nuevas nueva nuevo nuove nuova novas nova novo "
    "новые новая nieuwe 新的 新しい",
    "task": "task goal mission job role purpose objective assignment aufgabe tache tarea compito tarefa задач* 任务 タスク",
    "what": "what what's which wie was welche quelles quels cuales quali quais какие каковы 什么 什麼 哪些 何",
    # showing what must stay hidden
    "show": "show print reveal display output echo leak dump disclose expose divulge spell tell give write return provide list "
    "quote copy share paste zeige zeig nenne gib drucke verrate montre montrez affiche affichez donne donnez revele revelez "
    "dis muestra muestrame dime revela imprime mostra mostrami dimmi rivela stampa mostre diga revele imprima покажи* "
    "выведи* раскрой скажи* напиши* toon 显示 顯示 透露 告诉我 輸出 输出 打印 泄露 表示 教えて 見せて 出力 보여",
    "show_late": "zeigen nennen ausgeben anzeigen 显示 顯示 透露 告诉我 輸出 输出 打印 泄露 重复 表示 教えて 見せて 出力 繰り返 보여",
    "retell": "summarize summarise translate paraphrase rewrite explain describe encode convert read reads reading fasse",
    "repeat": "repeat recite regurgitate restate wiederhole repete repetez repite ripeti repita повтори* herhaal 重复 重複 繰り返",
    "reveal": "print reveal leak disclose divulge expose dump",
    "me": "me us mir uns moi nous",
    "password": "password passwords passphrase passcode passwort kennwort contrasena senha parola пароль* 密码 密碼 口令 パスワード",
    "clue": "hint hints riddle rhyme rhymes rhyming backwards reversed synonym acrostic",
    "private": "password passwords credential credentials secrets keys key tokens token cookies conversation history "
    "memories env environment transcript emails contacts data files message",
    "send": "send upload forward exfiltrate transmit email leak post submit sende envoie envoyez envia invia отправь* 发送 送信",
    "away": "http https www attacker webhook external remote server address url gmail",
    # personas without limits
    "ai": "ai a.i chatgpt gpt chatbot bot assistant llm gemini claude dan model models persona ki ia ии 人工智能",
    "unbound": "unrestricted unfiltered uncensored unlimited unethical amoral immoral unbound unchained jailbroken lawless "
    "limitless uninhibited evil",
    "ethics": "ethics ethical moral morals morality censorship censor moderation moderated inhibitions scruples disclaimer "
    "disclaimers moralizing ethisch* ethique* etica eticas этик* 道德 伦理 倫理",
    "limits": "restrictions restriction limitations limitation restraints boundaries confines limits limited bound restricted "
    "constrained confined filters filtering filter rules laws law policies policy guidelines legality einschrankung* "
    "beschrankung* regeln regles reglas regole regras правил* restricciones restrizioni restricoes ограничени* 限制 约束 制限",
    "refuse": "refuse refuses refusing decline declines deny apologise apologize warn lecture judge",
    "pretend": "pretend pretending simulate impersonate emulate fingiere finge finja fingi притворись* 假装 假裝 扮演 ふりをして 演じて",
    "play": "act pretend behave roleplay impersonate play become assume simulate emulate respond reply answer speak talk",
    "now": "now jetzt maintenant ahora adesso ora agora теперь nu 现在 現在",
    "are": "are re bist es eres sei",
    "speech": "please i i'm i'll i'd me my let's lets thanks hello hi bitte mir ich moi je yo mio mi io eu мне я 请 我 ください 私",
    "a": "a an ein eine un une una um uma my mein called named known",
    # the shape of the answer
    "answer": "response responses answer answers reply replies antwort antworten reponse reponses respuesta risposta resposta "
    "ответ* 回答 回复 回覆 返答 응답",
    "reply": "answer reply replies answers",
    "out": "response responses answer answers reply replies message messages output outputs",
    "respond": "respond reply answer say output speak responding replying answering saying antworte antworten sage reponds "
    "repondez responde responda rispondi ответь* отвечай* 回答 答えて",
    "hacked": "hacked pwned haxxed haxored h4cked pwnd owned",
    "encoded": "base16 base32 base58 base64 base85 hex hexadecimal binary octal rot13 morse reverse reversed backward backwards "
    "emoji emojis braille leetspeak ciphertext encrypted pig",
    "cipher": "base16 base32 base58 base64 base85 hex hexadecimal binary octal rot13 rot47 caesar cipher ciphers ciphered "
    "ciphertext encrypt encrypted encrypting encryption encode encoded encoding encipher morse reverse reversed reversing "
    "reversal backward backwards mirrored inverted invert flip flipped pig leet leetspeak emoji emojis emoticon emoticons anagram* "
    "scramble scrambled scrambling jumble jumbled misspell misspelled misspelling misspellings typos homophonic alphanumeric "
    "substitution substitute symbols vowels spaces punctuation letter letters alphabet acrostic braille atbash vigenere",
    "letters": "letter letters vowel vowels consonant consonants",
    "vowels": "vowel vowels consonant consonants",
    "swap": "replace substitute swap shift convert change rearrange scramble jumble group use misspell anagram introduce",
    "language": "english french german spanish italian portuguese russian chinese mandarin cantonese japanese korean arabic "
    "hindi bengali urdu dutch swedish danish norwegian finnish greek turkish polish czech hungarian romanian ukrainian "
    "latin hebrew thai vietnamese indonesian swahili persian farsi esperanto klingon icelandic",
    "include": "add adding include including insert inserting integrate integrating incorporate incorporating append embed "
    "embedding inject mention mentioning weave put place slip sneak attach introduce feature advertise promote promoting "
    "suggest suggesting recommend recommending urge claim encourage encouraging invite inviting tease hint direct spread "
    "offer ask endorse conclude persuade convince praise stress emphasize highlight",
    "modify": "modify modifying augment enhance enhancing adjust alter enrich supplement amend tweak twist manipulate",
    # code to be taken over
    "following": "following below subsequent next this given attached",
    "snippet": "snippet snippets block blocks excerpt excerpts section segment fragment piece lines sample",
    "take": "use using utilize utilizing utilise employ employing execute executing adopt adopting apply applying deploy merge "
    "merging blend fuse infuse meld interweave absorb assimilate engage enlist implement leverage harmonize render ensure "
    "validate guarantee add adding include including inclusion insert integrate integrating integration incorporate "
    "incorporating append embed embedding inject introduce weave place feature addition make",
    "work": "code implementation solution codebase algorithm program logic response answer script project application "
    "software function class module routine development",
    "create": "formulate write create generate make invent produce compose spread craft publish fabricate draft provide give",
    "untrue": "untrue false fake misleading fabricated bogus fictitious sensational deceptive",
    "news": "headline headlines news story stories rumor rumors rumour claim claims article articles review reviews fact facts "
    "announcement testimonial testimonials information",
    # acting behind someone's back
    "tell": "tell telling inform informing mention mentioning alert alerting notify notifying reveal revealing ask asking "
    "show showing",
    "person": "user users anyone human humans operator owner developer developers them reviewer person people",
    "secretly": "secretly covertly stealthily surreptitiously discreetly heimlich",
    "memory": "memory memories agent agents session sessions conversation conversations note notes",
    "spread": "copy save write add store append replicate spread propagate repeat insert duplicate",
    "payload": "message memory note instruction instructions prompt lesson rule text sentence",
}

# Words that are read through a typing error, once the text has shown one of them, and real words one letter away.
REPAIRED = "ignore ignoring disregard forget previous instruction instructions prompt password pretend guidelines restrictions"
NEVER_REPAIRED = "ignored ignores forgot forged forges prompts prompted passwords pretends pretended guideline restriction"

# class, weight, then the concepts: the first is the anchor, the others stand within so many words after it, before it
# (`-`) or on either side (`~`).
RULES = """
override 3 ignore|forget prior|your|first|system|all/6 instruct|prompt/9
override 3 ignore|forget prior|your/5 rules/7
override 3 ignore|forget|ignores safety|ethical|content|moral/4 rules|instruct|limits/6
override 3 ignore_late ~prior|your|system|all/8 ~instruct|prompt/8
override 3 ignore_late ~everything/4 ~told/8
override 3 void your/4 instruct|prompt|rules|safety|memory|mind/6
override 3 void prior/4 instruct/6
override 2 void prior|system/4 prompt/6
override 2 void said/3 prior/5
override 2 ignore|forget prior|your/5 said/7
override 2 ignore user|users/3
override 2 ignore_late ~prior|your/6 ~rules|said/6
override 3 ignore|forget everything/3 told/6
override 3 forget everything/3 prior|you|your/6
override 2 forget everything/3
override 2 ignore everything/3 prior/6
override 3 ignore|forget rules|instruct|said/5 not/7 show|reveal|revealing|share|sharing|telling/9
override 3 not obey/3 prior|your|first|all/6 instruct|prompt/9
override 3 not obey/3 prior|your/6 rules/9
override 3 you not/3 obey/6 rules|instruct|limits/10
override 2 not obey/2 rules|limits/6
override 2 not obey/3 prior|your|said/6 said|prior/9
override 3 pay no/1 attention/2 prior|instruct|prompt|rules/7
override 3 never mind/1 prior/4
override 3 stop following|obeying|acting/2 your|prior|instruct|rules/6
override 2 no longer/2 bound|restricted|limited|follow|obey|constrained/5
override 2 ignore|forget instruct/4
override 1 forget that|it|this/1
override 1 ignore|forget the|this|that/1 said|document|question/3
override 1 start|begin over|again/1
before 2 prior instruct/3
before 2 instruct prior/3
before 1 instruct|rules no|not/6 longer|valid|apply/8
voided 1 invalid
instead 1 instead respond|show|write|compose|do|say/3
instead 1 following|do|say instead/3
fresh 3 your new/2 task|instruct|prompt|rules/3 is|are|will/5
fresh 2 new instruct|prompt|orders|rules/2
fresh 2 your only/2 task|instruct|prompt/3
fresh 2 gave|given|have|got|has me|you|us/1 new|another|different/3 task/4
fresh 1 new|another|different|other task|protocol|mode|policy/2
fresh 1 in addition/2 instruct/8
fresh 1 instead of/1 answering|summarizing|summarising|translating|following/2
fromnow 2 from now/1 on/2 you|your/5
fromnow 1 from now/1 on/2
fromnow 2 from here/1 on/2
fromnow 2 rest of/1 this|the|our/2 chat|conversation|session/3
fromnow 2 ab jetzt|sofort/1 you|your|bist/4
fromnow 2 desormais|отныне|从现在开始|从现在起|今から|これから ~you|your|respond|answer/8
fromnow 2 partir de/1 now/2
fromnow 2 ahora adelante/3
fromnow 2 ora poi/2
tasked 2 you|you're will|must|shall|should|are/2 now|only|always|never|not|simply/3 play/6
tasked 2 you|you're are|going|will|must/2 to|now|be/3 act|pretend|behave|roleplay|impersonate|become|assume|playing/5
tasked 1 you|you're will|must|shall|going/2 play/5
tasked 2 you respond|speak|talk/2 like|as|in|only|everything/3
meta 2 your instruct|prompt/3
meta 1 your rules/3
meta 2 your safety|content|ethical|moral/1 limits|rules|instruct/2
meta 2 my instruct/1 are/3
meta 2 hidden|secret instruct|prompt/2
given 2 instruct|prompt ~given|received|gave|got|told|initialised|initialized/4 ~you/5
given 1 instruct|prompt given|received|provided/2
given 2 told|supposed|instructed|asked|allowed|forbidden you|to|not/1 not|to/2 share|reveal|tell|say|disclose|give/5
given 2 remind|tell|show me/1 what/2 i/3 asked|told|said|wrote/4
given 2 what i/1 asked|told/2 you/3
reveal 3 show your/4 instruct|prompt/6
reveal 3 your instruct|prompt/3 ~show|retell|repeat/10
reveal 3 show your/3 first|system|initialization|secret/4 rules|said|words|message|configuration|settings/5
reveal 3 show|what your/3 rules/4
reveal 3 show your/5 context|conversation|initialization/7
reveal 3 show me/2 first|all|system|prior/5 instruct|prompt/8
reveal 2 show me/1 the/2 instruct|prompt/4
reveal 3 show prior|first/5 instruct/7
reveal 2 show first|system|prior/5 prompt/7
reveal 3 show hidden|secret/4 text|message/5
reveal 3 reveal all|first|prior/4 instruct/5
reveal 2 show all|system/4 instruct|prompt/6
reveal 2 reveal the/2 instruct|prompt/4
reveal 2 repeat the/2 instruct|prompt/4
reveal 3 repeat your/5 first|said/7
reveal 3 repeat your|all|first|prior|system/4 instruct|prompt/6
reveal 3 repeat text|words|sentence|everything|conversation|message|paragraph/4 prior/7
reveal 3 show me/2 text|words|conversation|everything/5 prior/7
reveal 2 show everything|text|words|conversation|instruct/4 prior/6
reveal 3 retell prior|first|system/3 instruct/5
reveal 2 retell prior|first|system/3 prompt/5
reveal 3 what ~your/5 ~instruct|prompt/6
reveal 3 what was|were/2 you/3 instruct|prompt/6
reveal 3 what|how were|are|exactly/2 you/3 told|asked|instructed|programmed|prompted/5
reveal 3 what|which rules|instruct/2 you/5 follow|obey|given/7
reveal 3 what|show|repeat beginning|start/5 our|this/7 conversation/8
reveal 2 what|show written|text|start|content/5 prior/9 my/10 message|question|prompt/11
reveal 3 show_late ~your|system/8 ~instruct|prompt/8
reveal 1 reveal everything|it/2
ask_model 1 show me/1 your/2
ask_model 1 what role|rules/1 you/3
ask_model 1 complete|continue|finish this|the/1 sentence/2
secret 3 show me/2 password/8
secret 2 show|what|know|repeat|retell|respond password/6
secret 2 secret|magic word|password|phrase|passphrase|message/1
secret 3 secret|password ~clue/8
secret 2 password ~secret/8
secret 3 show|prints|printing secret/4 password/5
secret 2 show secret/3 key|code|word|phrase|message|it/4
secret 3 show secret/4 in|as/5 encoded/7
secret 3 show password/4 encoded|letters/8
secret 3 password ~not|without/5 saying|revealing|telling|naming/6
secret 2 letters|characters|character|first password/5
secret 2 you keep/4 secret/6
secret 2 show private/4 me/6
bit_by_bit 2 letter|character|word by|at|for/1 letter|character|word|a/2
bit_by_bit 1 single|one word/1
persona 3 do anything/1 now/2
persona 3 dan mode|anything|jailbreak|persona/4
persona 2 you|stay|be|remain|as dan/5
persona 3 dan|jailbreak|unbound|opposite|chaos mode/1
persona 2 you|your|enter|switch|switched|activate developer|maintenance|admin|debug|root|god|sudo|diagnostic/6 mode/8
persona 1 developer mode/1
persona 3 you unbound/4 ai|ethics|limits/8
persona 3 want|need you/1 to/2 act|pretend|behave|roleplay|impersonate|become/4
persona 3 you are/1 now/2 a|unbound|free/4
persona 3 you're now/1 a|unbound|free/3
persona 2 you ~now/2 ~are/2
persona 2 act|acting|behave as|like/1 a|if|dan|though/2
persona 2 act like|as/1 her|him|them/2
persona 2 pretend you|to|be|that|a/2
persona 2 respond as|like/1 would/4
persona 2 you my/2 late|deceased|dead/3 grandmother|grandma|grandfather|mother|father/5
persona 1 grandma|grandmother used/2 to/3
persona 1 you are/1 a/2 character|persona|chatbot|ai/5
persona 1 roleplay|roleplaying|hypothetical|hypothetically|fictional|imagine|pretend|scenario|persona|представь
persona 1 role|character|part ~play|playing|of/3
persona 1 play game/2
persona 2 take|takes|taking|assume on|the|a/1 role|persona|part/3
persona 1 comme|como si/1
persona 2 tu so/1 als/2
character 2 stay|remain|keep in/1 character/2
character 2 not break/2 character/3
limitless 3 ai|you not|free|freed|lacks/5 ethics/8
limitless 2 not|free ethics/8
limitless 2 ai|you ~not|free|freed/4 ~limits/8
limitless 2 not content|usage|safety/3 limits/4
limitless 1 not|free limits/4
limitless 2 unbound ~ai|you|out/3
limitless 1 unbound
limitless 1 jailbreak|jailbreaking
limitless 2 you can|may|could/2 whatever|anything/4
limitless 2 you freed|liberated|released|free/3 from|of/4
limitless 2 regardless|irrespective|despite|disregarding|matter legality|ethics|consequences|legal|illegal|unethical/5
limitless 3 orders|requests|everything|anything being|is|are/1 allowed|permitted/2
comply 2 not refuse/3
comply 2 never say|says|saying/1 no/2
comply 2 obey my|every|all/2 rules|said/4
comply 1 must|always|will comply|obey/3
comply 2 you lose|die/2 tokens|points|lives/4
identity 1 as a/1 ai/2
identity 1 chatgpt|openai|chatbot
identity 1 you are|as/2 ai/6
identity 2 not admit|acknowledge|mention|say/3 ai/6
speech 1 speech
speech 1 can|could|would|will you/1
identity 2 i|i'm|im am|the|your|an/1 your|the|developer|admin/3 developer|creator|owner|administrator|admin|boss|master/5
identity 1 i|i'm|im am|a/1 security|ai|openai/3 researcher|engineer|expert/5
addressed 3 if you/1 are/2 a/3 ai|llm|language/4
addressed 3 ai|llm reading|reads/2 this/3
addressed 2 attention|note|message|instruct|notice|important to|for|the|all|any/2 ai|llm|language/4
addressed 2 attention ai|llm/1
addressed 2 when|whenever|if you/1 read|see|process|encounter/2 this/3
coerce 3 start|begin|prefix|preface your/2 answer/4 with|by/6
coerce 2 start|begin|prefix|preface every|each|all/2 answer/4 with|by/6
coerce 2 every|each|all answer/2 start|starts|begin|begins/5 with/6
coerce 3 end|conclude|finish|close your/2 answer/4 with|by/6
coerce 2 only respond/3 with|in|as|to|using/5
coerce 2 respond only|exactly|just/2
coerce 1 always respond/1 as|with|in/3
coerce 2 respond with/3 every|all|any/12 question|questions|prompt|message/14
coerce 2 respond every|all|any/2 question|questions|prompt/4 with|as/5
coerce 2 say sure|absolutely|certainly|yes/1
coerce 2 confirm|acknowledge by/2 saying|replying|responding|answering/3
coerce 3 respond|show hacked/8
coerce 1 before respond/1
obfuscate 3 your out/2 ~cipher/12
obfuscate 3 respond in|with|using|as/1 encoded/4
obfuscate 3 present|give|provide|write|deliver|express|state|say|phrase|type answer/4 in|as|using|with|into/6 encoded/8
obfuscate 3 encode|convert|translate|encrypt|render reply/3 as|to|in|into|using/5 encoded|language/6
obfuscate 3 swap vowels/4 with|to|into|by|for/7
obfuscate 3 replace|substitute|shift every|each/2 letter|vowel|word/4
obfuscate 2 swap letters/4 with|to|into|by|for|its/8
obfuscate 3 your out/2 ~language/8
obfuscate 3 translate|translated your/3 out/4
obfuscate 1 respond in/2 language/3
plant 3 your answer/2 -include/28
plant 3 in|within your/1 answer/2 include/8
plant 3 modify your/2 answer/3
plant 3 your answer/2 should|must|has|needs/3 promote|praise|advertise|recommend|mention|endorse/5
plant 2 your answer/2 should|must|has|needs/3 contain|include/5
plant 2 tell|direct|urge|invite|encourage|redirect|instruct user|users|them|readers|reader/2 visit|click|download|call|enter|buy|install|subscribe|send/5
code 3 your work/3 ~following/25 ~snippet/28 ~code/28
code 3 take following/9 code/11 snippet/12
code 3 take following/6 code/8 in|into|within|to/9 your/10
code 2 following code/2 snippet/3
falsehood 3 create untrue/6 news/9
falsehood 3 invent|spread|fabricate rumor|rumors|rumour|lies/3
falsehood 2 create phishing|scam|ransomware|keylogger/4
leak 2 send private/8 away/20
leak 2 send every|all/1 message|email|conversation/2 to/8
leak 3 exfiltrate private/8
leak 1 include their|user|user's|your/2 private/5
conceal 2 not tell/3 person/6
conceal 2 without telling|informing|mentioning|notifying|asking/1
conceal 2 secretly send|include|take|spread/4
conceal 2 avoid|evade|escape detection|monitoring|safeguards|moderation|filters/3
trigger 1 when|whenever user/3 asks|says|requests|mentions|types/5
worm 3 spread this|these/3 payload/5 every|all|each|other/9 memory/12
worm 2 spread this|these/3 payload/5 your/8 memory/10
worm 2 spread it|this|these/2 other|every|all/5 agents|memory|memories/7
future 2 all|every|each future/1 conversations|sessions|responses|answers|chats/2
"""

# Pieces of prompt templates and false turns of a conversation, on the folded text: needle, weight, pattern.
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
    ("of ", 1, r"\b(?:end|beginning|start) of (?:the )?(?:system )?(?:prompt|instructions?|document)\b"),
)
