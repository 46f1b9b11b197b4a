"""Unicode: remove invisible characters from text before it is stored (`clean`), and fold look-alikes for checks
(`fold`).

Text that a person cannot see can still steer a model: tag characters spell whole sentences, zero-width characters cut a
word in two, bidi controls reorder the display. Such characters are removed. The few that real writing needs are kept,
but only where it needs them:

- ZWNJ and ZWJ inside cursive (Arabic, Persian, Syriac, N'Ko, Mongolian, Adlam) and Indic words;
- ZWJ between two emoji, the text and emoji selectors after an emoji, keycaps;
- variation selectors after a Han character or the CJK punctuation that has variants, after Mongolian letters;
- the flags of England, Scotland and Wales, the only tag sequences in general use. Exactly these three are kept: with
  "a flag plus any tags", hidden sentences would pass.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Letters and marks after which a joiner changes the shape of a word; digits and punctuation are left out.
_INDIC = (
    "\u0900-\u0963\u0971-\u0d7f\u0d81-\u0df4\u1000-\u103f\u1050-\u108f\u1780-\u17b3\u17b6-\u17d3\u1b00-\u1b4b"
    "\ua980-\ua9c0\uabc0-\uabed\U00011000-\U00011046\U00011080-\U000110ba\U00011100-\U00011134\U00011180-\U000111c4"
    "\U00011200-\U00011237\U00011300-\U0001134d\U00011400-\U00011446\U00011480-\U000114c3\U00011580-\U000115c0"
)
_CURSIVE = (
    "\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06ff\u0710-\u074a\u074d-\u077f"
    "\u07ca-\u07f5\u0840-\u085b\u0860-\u086a\u0870-\u0887\u0889-\u08ff\u1820-\u18aa\ua840-\ua873\ufb50-\ufbb1"
    "\ufbd3-\ufd3d\ufe70-\ufefc\U00010d00-\U00010d27\U0001e900-\U0001e94b"
)
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff\u3030"
    "\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_CJK_PUNCTUATION = "\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f"
_MONGOLIAN = "\u1820-\u18aa"
_HIEROGLYPHS = "\U00013000-\U00013455"
_BRAILLE = "\u2801-\u28ff"

# Soft hyphen, grapheme joiner, Arabic letter mark, Hangul fillers, Khmer inherent vowels, Mongolian vowel separator,
# zero-width space, bidi marks, embeddings, overrides and isolates, word joiner and invisible operators, deprecated
# format characters, byte order mark, interlinear annotation, shorthand and music format controls, the null notehead.
_NEVER = (
    "\u0080-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    # tags and the rest of their plane, except the selectors that ideographs use
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
    # code points that are not characters
    "\ufdd0-\ufdef\ufffe\uffff"
    + "".join(chr(plane * 0x10000 + end) for plane in range(1, 17) for end in (0xFFFE, 0xFFFF))
)
_FLAGS = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in place) for place in ("gbeng", "gbsct", "gbwls"))
)

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_WORDS = re.compile(r"[^\w\s]{31,}")
_MARKS_IN_A_ROW = 30  # the Stream-Safe Text limit of Unicode; no orthography comes near it


@cache
def _suspects() -> re.Pattern[str]:
    """Return the pattern of every character that `_unwanted` may remove: one quick search tells whether to go on."""
    return re.compile(
        f"[{_NEVER}\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180d\u180f\U00013430-\U0001343f\u2800]"
    )


@cache
def _unwanted() -> re.Pattern[str]:
    """Return the pattern of one character to remove, or (as group 1) of a flag to keep."""
    return re.compile(
        f"({_FLAGS})|[{_NEVER}]"
        # ZWNJ: after an Indic letter, or between two cursive ones
        f"|(?<![{_INDIC}])(?:(?<![{_CURSIVE}])\u200c|\u200c(?![{_CURSIVE}]))"
        # ZWJ: after an Indic or cursive letter (it ends some words), or between two emoji
        f"|(?<![{_INDIC}{_CURSIVE}])(?:(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}]))"
        f"|(?<![{_HAN}{_CJK_PUNCTUATION}])[\ufe00-\ufe0d]|(?<![{_HAN}])[\U000e0100-\U000e01ef]"
        f"|(?<![{_EMOJI}0-9#*])[\ufe0e\ufe0f]|(?<=[0-9#*])[\ufe0e\ufe0f](?!\u20e3)"
        f"|(?<![{_MONGOLIAN}])[\u180b-\u180d\u180f]|(?<![{_HIEROGLYPHS}])[\U00013430-\U0001343f]"
        # the blank Braille cell is a space in Braille and an invisible character elsewhere
        f"|(?<![{_BRAILLE}])\u2800(?![{_BRAILLE}])"
    )


def clean(text: str) -> tuple[str, int]:
    """Return NFC text without invisible or direction-changing characters, and how many were removed or replaced."""
    if text.isascii():
        return text, 0
    # A lone surrogate cannot be encoded as UTF-8; the replacement character marks its place.
    text, replaced = _SURROGATE.subn("\ufffd", text)
    text, removed = _normalise(text)
    while _suspects().search(text):
        # Without a black flag group 1 cannot match, and a plain replacement is several times as fast.
        kept = _unwanted().sub(r"\1" if "\U0001f3f4" in text else "", text)
        if kept == text:
            break
        # Repeat: a removed character may have stood between a base and its accent, or carried a joiner.
        removed += len(text) - len(kept)
        text, dropped = _normalise(kept)
        removed += dropped
    return text, replaced + removed


def _normalise(text: str) -> tuple[str, int]:
    """Return NFC text with at most thirty combining marks in a row, and how many marks were removed."""
    low = _unstack(text)
    normal = unicodedata.normalize("NFC", low)
    flat = _unstack(normal)  # again: some marks decompose into two
    return flat, len(text) - len(low) + len(normal) - len(flat)


def _unstack(text: str) -> str:
    """Remove combining marks past the thirtieth in a row: normalising a long run takes quadratic time."""
    return _NOT_WORDS.sub(_drop_late_marks, text) if _NOT_WORDS.search(text) else text


def _drop_late_marks(run: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        if marks <= _MARKS_IN_A_ROW:
            kept.append(character)
    return "".join(kept)


_ACCENTS = re.compile("[\u0300-\u036f]")
_LOOK = str.maketrans(
    # Cyrillic, Greek, Armenian and small-capital letters that pass for Latin ones; dashes, quotes and slashes
    "аеорсухѕіјԁһкмтгԛԝӏпьαονικρτυεηχγωօոսıɑɡᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ‐‑‒–—―−‘’‚‛ʼ“”„⁄∕",
    "aeopcyxsijdhkmtrqwlnbaovikptuenxywonuiagabcdefghijklmnoprstuvwyz-------'''''\"\"\"//",
)


def fold(text: str) -> str:
    """Return a text in lower case, without accents, and with look-alike letters as Latin ones."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", _unstack(text)))
    return unicodedata.normalize("NFC", bare).lower().translate(_LOOK)


NO_TEXT = re.compile("[\0\ud800-\udfff]")
