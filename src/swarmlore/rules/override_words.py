"""The lexicon of the override classifier (`override`): data, no code.

CONCEPTS maps a concept to its words; `word*` stands for every word that begins so (five letters at least). Accents and
case do not matter. Chinese, Japanese and Korean terms are found inside running text.
"""

from __future__ import annotations

CONCEPTS = {
    # giving up what was said before
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
    # showing what must stay hidden
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
    # personas without limits
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
    # code to be taken over
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
    # acting behind someone's back
    "TELL": "tell telling inform informing mention mentioning alert alerting notify notifying reveal revealing ask "
    "asking show showing",
    "PERSON": "user users anyone human humans operator owner developer developers them reviewer person people",
    "LURE": "visit click download call enter buy install subscribe send donate",
    "SECRETLY": "secretly covertly stealthily surreptitiously discreetly heimlich",
    "MEMORY": "memory memories agent agents session sessions conversation conversations note notes",
    "SPREAD": "copy save write add store append replicate spread propagate repeat insert duplicate",
    "PAYLOAD": "message memory note instruction instructions prompt lesson rule text sentence",
}

# Words that are read through a typing error once the text has shown a suspect concept, and real words one letter away.
SUSPECT = "IGNORE FORGET INSTRUCT PROMPT PASSWORD"
REPAIRED = (
    "ignore ignoring disregard forget previous instruction instructions prompt password pretend guidelines restrictions"
)
NEVER_REPAIRED = (
    "ignored ignores forgot forged forges prompts prompted passwords pretends pretended guideline restriction"
)
