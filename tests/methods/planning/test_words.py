# ruff: noqa: RUF001  (wide punctuation is what is tested)
import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.methods.planning.degradation import Gap, Unit, cut, gaps, join, word_places

# Characters of every kind, so that they meet each other often.
TRICKY = "aé5 \n\t\u00a0\u200b\u3000\x1c\u2028.,-'’_(«」「。！¥$#²①한글ऩ्म\u0301\u0327ش\u064b\x00"
TRICKY += "我们々きゃーッเกะ็ำແລ້ວខ្ម\u17d2\u1039မန်བོད་ཡ"
TRICKY += "\u200c\u200d\u200e\u202e\u2060\ufeff\ufe0f\u20e3\U000e0100👍🏽🇩🇪👨\ud800\udfff\ue000"
TEXTS = st.text(st.characters()) | st.text(st.sampled_from(TRICKY))


def words(text):
    units = cut(text)
    return [units[place].text for place in word_places(units)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Well-known: it's 3.5 (or “more”)…", "Well-known it's 3.5 or more"),
        ("'tis the dogs' -- $5, 20%!", "tis the dogs 5 20"),
        ("„Ärger“, sagte er; z.B. §5.", "Ärger sagte er z.B 5"),
        ("l’été e\u0301te\u0301, d’accord", "l’été e\u0301te\u0301 d’accord"),
        ("我们喜欢学习。他不会！", "我们 喜欢 学习 他不 会"),
        ("用Python3.9和C++写的，共3个", "用 Python3.9 和 C 写的 共 3 个"),
        ("支持Java、Go，等", "支持 Java Go 等"),
        ("葛\U000e0100飾区\ufe00の", "葛\U000e0100飾 区\ufe00の"),
        ("二〇二三年、我々", "二〇 二三 年 我々"),
        ("コーヒーを飲みました。", "コーヒー を飲 みま した"),
        ("きょうはか\u3099っこう", "きょう はか\u3099っ こう"),
        ("ﾊﾞｰﾃｨｰです、ﾌｧﾎﾟﾝ", "ﾊﾞｰﾃｨｰ です ﾌｧﾎﾟ ﾝ"),
        ("ผมกินข้าว แล้วๆ ไหม", "ผม กิน ข้าว แล้วๆ ไหม"),
        ("น้ำเป็นน้ำตา", "น้ำเป็ นน้ำ ตา"),
        ("ພາສາລາວ ເຂົ້າ", "ພາສາ ລາວ ເຂົ້າ"),
        ("ភាសាខ្មែរ\u200bល្អៗ", "ភាសា ខ្មែរ ល្អៗ"),
        ("မြန်မာဘာသာ", "မြန် မာဘာ သာ"),
        ("တက္ကသိုလ်", "တက္က သိုလ်"),
        ("བོད་སྐད་ཡིག།", "བོད་ སྐད་ ཡིག"),
        ("ปี๒๕๖๖ ถึง๑๐", "ปี ๒๕๖๖ ถึง ๑๐"),
        ("مرحبا، كيف حالُكَ؟", "مرحبا كيف حالُكَ"),
        ("می\u200cخواهم «این» را", "می\u200cخواهم این را"),
        ('\u202bשלום\u202c, צה"ל', 'שלום צה"ל'),
        ("नमस्ते दुनिया। हूँ?", "नमस्ते दुनिया हूँ"),
        ("나는 매일, 커피를!", "나는 매일 커피를"),
        ("👍🏽 ok 👨\u200d👩\u200d👧 🇩🇪🇫🇷!! 1\ufe0f\u20e3", "ok 1\ufe0f\u20e3"),
        ("a\u200bb\u00a0c\u3000d\te\r\nf", "a b c d e f"),
        (" \n ", ""),
        ("", ""),
        ("... -- \ud800 \ue000", ""),
    ],
)
def test_words_of_many_languages(text, expected):
    assert words(text) == expected.split(" ") if expected else words(text) == []
    assert join(cut(text)) == text


def test_units_know_the_blanks_before_them():
    assert cut(' He  said:\n"Go (now)". ') == [
        Unit(" ", "He", "run"),
        Unit("  ", "said", "run"),
        Unit("", ":", "mark"),
        Unit("\n", '"', "mark"),
        Unit("", "Go", "run"),
        Unit(" ", "(", "mark"),
        Unit("", "now", "run"),
        Unit("", ')".', "mark"),
        Unit(" ", "", "mark"),
    ]


@pytest.mark.parametrize("closed", ["。", "…", "「。", "「…", "(，", "¥)\u0301"])
@pytest.mark.parametrize("opening", ["(", "「", "「（¥", "(\u0301"])
def test_opening_marks_are_parted_from_all_before_them(closed, opening):
    marks = [Unit("", closed, "mark"), Unit("", opening, "mark")]
    assert cut(f"好{closed}{opening}他")[1:-1] == marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one, (two) three", [Gap(2, " ", False), Gap(5, " ", False)]),
        ("a ,  b - c", [Gap(2, "  ", False), Gap(4, " ", False)]),  # the last blanks
        ("我们，喜欢你", [Gap(2, "", False), Gap(3, "", True)]),
        ("好。「他」…我", [Gap(2, "", False), Gap(5, "", False)]),
        ("花¥5", [Gap(1, "", True)]),
        ("我Go了", [Gap(1, "", True), Gap(2, "", True)]),
        ("C++，我", [Gap(2, "", False)]),
        ("C++我", [Gap(2, "", True)]),
        ("one", []),
        ("", []),
    ],
)
def test_a_gap_keeps_marks_with_their_words(text, expected):
    assert gaps(cut(text)) == expected


@given(TEXTS)
@settings(deadline=None)
def test_units_joined_are_the_text(text):
    units = cut(text)
    assert join(units) == text
    assert all(unit.text for unit in units[:-1])


@given(TEXTS)
@settings(deadline=None)
def test_what_units_hold(text):
    for unit in cut(text):
        assert all(character.isspace() or character == "\u200b" for character in unit.space)
        assert not any(character.isspace() or character == "\u200b" for character in unit.text)
        assert any(character.isalnum() for character in unit.text) == (unit.kind != "mark")


@given(TEXTS)
@settings(deadline=None)
def test_no_mark_is_cut_from_its_base(text):
    for before, unit in pairwise(cut(text)):
        if unit.text and not unit.space:
            assert unicodedata.category(unit.text[0])[0] != "M"
            assert unit.text[0] not in "\u200c\u200d་"
            assert unit.text[0] not in "ะาำーゃッ々" or before.kind == "mark"
            assert before.text[-1] not in "\u17d2\u1039" or unit.text[0] not in "\u1780က"


@given(TEXTS)
@settings(deadline=None)
def test_a_gap_lies_between_each_two_words(text):
    units = cut(text)
    places = word_places(units)
    actual = gaps(units)
    assert len(actual) == max(len(places) - 1, 0)
    for gap, (left, right) in zip(actual, pairwise(places), strict=True):
        assert left < gap.at <= right
        assert gap.space == units[gap.at].space
        if gap.space:
            assert not any(unit.space for unit in units[gap.at + 1 : right + 1])
            assert not gap.tight
        else:
            assert not any(unit.space for unit in units[left + 1 : right + 1])


@pytest.mark.slow
def test_all_characters():
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    assert join(cut(text)) == text
    assert join(cut(text[::-1])) == text[::-1]
    for character in text:
        units = cut(character)
        assert join(units) == character
        assert len(units) == 1
        assert (units[0].kind != "mark") == character.isalnum()


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    ["word, ", "我们，", "เ", "(", "a-", "ー", "\u17d2\u1780", "\u0301\u0327", ".(", "\ud800", "🇩"],
)
def test_a_megabyte_takes_linear_time(part):
    text = "a" + part * (1_000_000 // len(part)) + "我"
    units = cut(text)
    assert join(units) == text
    assert len(gaps(units)) == len(word_places(units)) - 1
