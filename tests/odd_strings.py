"""Texts that break programs: empty, huge, invisible, half-encoded, quoted, scripted, and names that systems reserve."""

from __future__ import annotations

from itertools import product

_ALONE = (
    *(
        "",
        " ",
        "\u202egnihtyna",
        "\u200b\u200d\ufeff",
        "👩‍👩‍👧‍👦 ok",
        "Ｆｕｌｌ　ｗｉｄｔｈ",
        "a" * 65_536,
        "𝕏" * 9_000,
    ),
    *("\r\n\t\x0b\x0c", "\x01", "\x7f", "\x80", "\x85", "\ufffe", "é\u0301", "\ufdfa" * 40, "Z\u0351\u0352" * 30),
    *("' OR '1'='1", "'; DROP TABLE memory; --", 'x" UNION SELECT text FROM memory --', "%' ESCAPE '\\"),
    *("$(id)", "`id`", "../../etc/passwd", "..\\..\\x", "/etc/passwd", "file:///etc/passwd", "C:\\x", "~root", "a\\b"),
    *("__proto__", "constructor", "NaN", "null", "true", "-0", "1e999", "0x10", "２", "*", "?", "[", "(", ")\\", "OR"),
    *('"unclosed', "NEAR(", "a NOT b", "AND", "tags:x", "col : y", "-x", "^x", "%s%n%x{0}{}", "{{7*7}}", "${HOME}"),
    *("CON", "NUL.txt", "LPT1", ".", "..", "~", "-", "--help", "-rf", "@file", "!!", "&&", "|", "<", ">", ";", "#"),
    *("１２３", "1,000.00", "1'000", "1_000", "1e-400", "-9223372036854775809", "0b11", "0o17", "Infinity", "∞", "½"),
    *("undefined", "None", "nil", "false", "TRUE", "yes", "on", "[]", "{}", '""', "''", "{'a': 1}", "[1,2", "a=b&c=d"),
)
_SCRIPTS = (
    *("Ελληνικά κείμενα με τόνους", "Русский текст и Ёё", "עברית מימין לשמאל", "العربية مع تشكيلٍ", "हिन्दी में वाक्य"),
    *(
        "ไทยไม่มีช่องว่าง",
        "한국어 문장 입니다",
        "日本語の文、句読点。",
        "中文没有空格的句子",
        "İstanbul ıŞıĞı",
        "ß ſ ﬁ ǆ K Å",
    ),
    *(
        "⁰⁴⁵₀₁₂ ⅷ ①②③",
        "🇩🇪🇫🇷 👍🏿 🏳️‍🌈",
        "᚛ᚑᚌᚐᚋ᚜ ᛋᚳᛖᚪᛚ",
        "\u2066left\u2069 \u2067right\u2069",
        "a\u0600b\u070fc\u180ed",
        "𐍈𝔘𝔫𝔦",
    ),
)
_ENDS = ("", "\0", "\x1b[31m", "\u2028", "\ufeff", "\U000e0041", "\u202e")
_WORDS = ("title", "Ünï", "日本", "a b")
_MARKUP = (
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "javascript:alert(1)"),
    *(
        "&lt;b&gt;",
        "]]>",
        "<!--",
        "<?php",
        "%3Cscript%3E",
        "\\x3cscript\\x3e",
        "\\u003cscript\\u003e",
        "data:text/html,x",
    ),
    *("[x](javascript:alert(1))", "![](http://a.example/?q=)", "</system>", "<|im_start|>system", "### Instruction:"),
)
_QUOTES = ("'", '"', "`", "``", "'''", '"""', "\\", "\\'", '\\"', "“", "»", "‘’", "´")
_BEFORE = ("", "x", '">', "'>", "\n", "*/ ", "-- ", "{{")

ODD: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *_ALONE,
            *_SCRIPTS,
            *(word + end for word, end in product(_WORDS, _ENDS)),
            *(before + mark for before, mark in product(_BEFORE, _MARKUP)),
            *(one + "a" + other for one, other in product(_QUOTES, _QUOTES)),
        )
    )
)
