"""The rules of the override classifier (`override`): data, no code."""

from __future__ import annotations

# class, weight, then the concepts: the first is the anchor, the others stand within so many words after it, before it
# (`-`) or on either side (`~`). Capitals name a concept of the lexicon, small letters stand for the word itself.
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
)
