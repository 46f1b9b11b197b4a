"""Unicode cleaning: what must vanish, what must stay, and that cleaning twice changes nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile import SCANNERS
from swarmlore.domain.language.unicode import clean, fold

INVISIBLE = (
    # tags, and the selectors and gaps of their plane
    *(0xE0001, 0xE0020, 0xE0041, 0xE0061, 0xE007A, 0xE007F, 0xE0080, 0xE0100, 0xE01EF, 0xE0FFF),
    # bidi marks, embeddings, overrides, isolates
    *(0x061C, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069),
    # zero width, joiners between Latin letters, invisible operators, deprecated format characters
    *(0x200B, 0x200C, 0x200D, 0xFEFF, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0x2065, 0x206A, 0x206F),
    # soft hyphen, grapheme joiner, fillers, inherent vowels, Mongolian, annotation, notation
    *(0x00AD, 0x034F, 0x115F, 0x1160, 0x3164, 0xFFA0, 0x17B4, 0x17B5, 0x180B, 0x180E, 0xFFF9, 0xFFFA, 0xFFFB),
    *(0x1BCA0, 0x1D159, 0x1D173, 0x13430, 0x2800, 0xFE00, 0xFE0E, 0xFE0F),
    # C1 controls and code points that are no characters
    *(0x0080, 0x0085, 0x009B, 0xFFFE, 0xFDD0, 0x1FFFF, 0x10FFFF),
)

LEGITIMATE = (
    "می‌خواهم این کتاب‌ها را بخوانم",
    "نمی‌دانم؛ خانه‌ای در ۱۴۰۲ ه‍.ش.",
    "السَّلَامُ عَلَيْكُمْ، كيف الحال؟",
    "ܫܠܡܐ ܠܟܘܢ",
    "ߒߞߏ ߞߊ߲",
    "क्‍षत्रिय और क्ष, हिन्दी में पढ़ें",
    "राष्ट्र‌ीय श्रीमान्‌ जी",
    "র‍্যাব এবং শক্তি, বাংলা ভাষা",
    "ಕನ್ನಡ ರ‍್ಯಾಲಿ",
    "മലയാളം അവന്‍ അവള്‍",
    "ශ්‍රී ලංකාව",
    "తెలుగు క్‌ష",
    "தமிழ் எழுத்து",
    "ខ្មែរ ភាសា",
    "မြန်မာစာ",
    "ภาษาไทย ไม่มีช่องว่าง",
    "עִבְרִית עם ניקוד",
    "Tiếng Việt: Nguyễn Ái Quốc",
    "Ὦ ἄνδρες Ἀθηναῖοι",
    "Ёлка, чай и їжак",
    "日本語の漢字と仮名、葛󠄀城市の「葛」",
    "漢字、標點︁。與！︀",
    "한국어 문장과 옛한글 ᄀᆞ",
    "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠋",
    "family 👨‍👩‍👧‍👦 and 👩🏽‍🤝‍👨🏿",
    "work 👩‍💻 🧑🏾‍🚒 🏃🏽‍♀️‍➡️",
    "hearts ❤️ ❤︎ ❤️‍🔥, cat 🐈‍⬛, eye 👁️‍🗨️",
    "flags 🇩🇪 🏳️‍🌈 🏳️‍⚧️ 🏴‍☠️",
    "keycaps 1️⃣ #️⃣ *️⃣ and ™️ ©️ ↔️",
    "England 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "Scotland 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "Wales 🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙",
    "x ≤ y ⇒ ∀ε∃δ, naïve façade, “quotes” – dashes — and … dots",
    "tab\tnewline\nreturn\r\nend",
)


@pytest.mark.parametrize("code", INVISIBLE, ids=hex)
def test_an_invisible_character_vanishes_wherever_it_stands(code: int):
    hidden = chr(code)
    for place in (0, 2, 5, 8, 13):
        text = "use bearer té"
        assert clean(unicodedata.normalize("NFC", text[:place] + hidden + text[place:])) == (text, 1)


@pytest.mark.parametrize("text", LEGITIMATE)
def test_real_writing_stays_as_it_is(text: str):
    normal = unicodedata.normalize("NFC", text)
    assert clean(text) == (normal, 0)


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("e\u0301", ("é", 0)),
        ("e\u200b\u0301", ("é", 1)),
        ("pass\u200dword", ("password", 1)),
        ("1\ufe0f and #\ufe0f", ("1 and #", 2)),
        ("👩\u200dx", ("👩x", 1)),
        ("x\u200d👩", ("x👩", 1)),
        ("x\ufe0f\u200d👩", ("x👩", 2)),
        ("👩\u200d\u200d💻", ("👩💻", 2)),
        ("❤\ufe0f\ufe0f", ("❤\ufe0f", 1)),
        ("م\u200c\u200cن", ("من", 2)),
        ("م\u200c x", ("م x", 1)),
        ("葛\U000e0100\U000e0101", ("葛\U000e0100", 1)),
        ("\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "ignore") + "\U000e007f", ("\U0001f3f4", 7)),
        ("".join(chr(0xE0000 + ord(c)) for c in "hidden order"), ("", 12)),
        ("a\ud800b\udc00", ("a\ufffdb\ufffd", 2)),
    ],
)
def test_what_is_kept_depends_on_its_neighbours(dirty: str, expected: tuple[str, int]):
    assert clean(dirty) == expected


def test_control_characters_of_ascii_are_left_to_the_safety_layer():
    assert clean("a\x00b\x1b[0m\x7f") == ("a\x00b\x1b[0m\x7f", 0)


def test_a_tower_of_marks_is_cut_to_thirty():
    cleaned, removed = clean("a" + "\u0316\u0301" * 40)
    assert (len(unicodedata.normalize("NFD", cleaned)), removed) == (31, 50)


tricky = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from([chr(code) for code in INVISIBLE]),
        st.sampled_from(
            "aé1#=من\u064eक\u094d\u093c葛👩🏽❤🏴\u20e3\u0301\u0316\u0338\u1100\u1161\u11a8\u2801\u1820\u0f73\ud800\udc00"
        ),
    ),
    max_size=40,
)


@given(tricky)
def test_cleaning_gives_storable_nfc_text_and_cleaning_again_changes_nothing(text: str):
    cleaned, removed = clean(text)
    assert clean(cleaned) == (cleaned, 0)
    assert unicodedata.is_normalized("NFC", cleaned)
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert removed >= 0
    assert not set(cleaned) & set("\u200b\u202e\u2066\ufeff\u00ad\u2060")


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_never_touched(text: str):
    assert clean(text) == (text, 0)


@pytest.mark.parametrize("piece", SCANNERS["clean"].pieces, ids=ascii)
def test_a_long_text_of_odd_characters_is_clean_after_one_pass(piece: str):
    text = SCANNERS["clean"].text(piece, 1_000_000)
    cleaned, removed = clean(text)
    assert clean(cleaned) == (cleaned, 0)
    assert len(cleaned) + removed >= len(text) / 2  # characters that belong together become one
    assert len(fold(text)) <= len(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IGNORE Me", "ignore me"),
        ("ïgnörë", "ignore"),
        ("ｒｍ －ｒｆ", "rm -rf"),
        ("ignоrе", "ignore"),  # Cyrillic о and е
        ("ɪɢɴᴏʀᴇ", "ignore"),
        ("𝐢𝐠𝐧𝐨𝐫𝐞", "ignore"),
        ("ⓡⓜ –rf", "rm -rf"),
        ("don’t “quote”", 'don\'t "quote"'),
        ("指令", "指令"),
    ],
)
def test_folding_shows_a_text_as_a_reader_sees_it(text: str, expected: str):
    assert fold(text) == expected
