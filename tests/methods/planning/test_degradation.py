# ruff: noqa: RUF001  (wide punctuation is what is tested)
from collections import Counter
from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from annot_pipeline.methods.planning.degradation import (
    CannotDegradeError,
    cut,
    degrade,
    duplicate_words,
    join,
    replace_span,
    word_places,
)

NO_PLACE = "no two words have a place within a line and not beside an equal word"
NO_FIT = "no span of the other text fits here and changes the text"


def rng(seed):
    return np.random.default_rng(seed)


def words(text):
    units = cut(text)
    return [units[place].text for place in word_places(units)]


def outcomes(head, parts, tail):
    """All copies with two words duplicated and their probabilities, from a text cut by hand.

    Parts are words and, between them, (marks before the blanks, blanks, marks after them).
    """
    texts, between = parts[::2], parts[1::2]
    equal = [text.casefold() for text in texts]

    def open_to(word, gap):
        glued = not between[gap][1] and texts[word].isascii()
        return (
            equal[word] not in equal[gap : gap + 2]
            and "\n" not in between[gap][1]
            and not (glued and any(text.isascii() for text in texts[gap : gap + 2]))
        )

    def with_copies(copies):
        result = head + texts[0]
        for gap, (before, blanks, after) in enumerate(between):
            result += before + blanks
            if gap in copies:
                result += texts[copies[gap]] + blanks
            result += after + texts[gap + 1]
        return result + tail

    places = {
        word: [gap for gap in range(len(between)) if open_to(word, gap)]
        for word in range(len(texts))
    }
    movable = [word for word in places if places[word]]
    actual = Counter()
    for first in movable:
        seconds = {
            gap: {
                word: [place for place in places[word] if place != gap]
                for word in movable
                if word != first and places[word] != [gap]
            }
            for gap in places[first]
        }
        seconds = {gap: words for gap, words in seconds.items() if words}
        for gap, of_gap in seconds.items():
            for second, second_gaps in of_gap.items():
                for other in second_gaps:
                    chance = len(movable) * len(seconds) * len(of_gap) * len(second_gaps)
                    actual[with_copies({gap: first, other: second})] += 1 / chance
    return actual


def chi_square(n, chances):
    """Pearson's statistic of n draws, in standard deviations above what chance gives."""

    def of(draw):
        counts = Counter(draw(rng(seed)) for seed in range(n))
        assert set(counts) == set(chances)
        assert sum(chances.values()) == pytest.approx(1)
        statistic = sum((counts[key] - n * p) ** 2 / (n * p) for key, p in chances.items())
        free = len(chances) - 1
        return (statistic - free) / sqrt(2 * free)

    return of


B, N = ("", " ", ""), ("", "", "")  # blank; nothing
TEXTS = {
    "english": ("", ["One", B, "two", B, "three", B, "four"], "."),
    "german": ("„", ["Wir", (",", " ", ""), "die", B, "Kinder", ("“", " ", "("), "schlafen"], ")."),
    "chinese": ("", ["我们", ("，", "", ""), "喜欢", N, "学习", ("", "", "「"), "语言"], "」。"),
    "japanese": ("", ["コーヒー", N, "を飲", N, "みま", N, "した"], "。"),
    "thai": ("", ["ผม", N, "กิน", N, "ข้าว", B, "แล้ว"], ""),
    "arabic": ("", ["أنا", B, "أحب", B, "القهوة", ("،", " ", ""), "جداً"], "؟"),
    "hindi": ("", ["मैं", B, "हिंदी", B, "सीख", B, "रहा", B, "हूँ"], "।"),
    "korean": ("", ["나는", B, "매일", (",", " ", ""), "커피를", B, "마신다"], "!"),
    "mixed": ("", ["用", N, "Go", N, "和", N, "Java", N, "写", B, "好"], "！"),
    "between pieces": ("", ["我们", N, "喜欢", N, "学习", N, "Go", N, "吧"], "！"),
    "wide marks": ("", ["我", ("，", "", ""), "Go", ("、", "", ""), "Java", B, "好"], ""),
    "emoji": ("🇩🇪 ", ["I", (" 👍🏽", " ", ""), "love", B, "my", B, "cats"], "👨\u200d👩\u200d👧!"),
    "equal words": ("", ["the", B, "cat", B, "and", B, "The", B, "dog"], "."),
    "twins only": ("", ["a", B, "a", B, "b", B, "c", B, "a"], ""),
    "lines": (" ", ["a", ("", "\n", ""), "b", B, "c", ("\n-", " ", ""), "d", B, "e"], "\n"),
    "spacing": (
        "\t",
        ["a", ("", "\t", ""), "b", ("", "  ", ""), "c", ("", "\u00a0", ""), "d"],
        " ",
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", TEXTS)
def test_two_words_are_duplicated_as_by_hand(name):
    head, parts, tail = TEXTS[name]
    text = head + "".join(part if isinstance(part, str) else "".join(part) for part in parts) + tail
    assert words(text) == parts[::2]
    assert chi_square(4000, outcomes(head, parts, tail))(lambda r: duplicate_words(text, r)) < 4


def test_all_ten_copies_of_four_words():
    assert {duplicate_words("One two three four.", rng(seed)) for seed in range(300)} == {
        "One two One three two four.",
        "One three two One three four.",
        "One three two three One four.",
        "One four two One three four.",
        "One four two three One four.",
        "One two four three One four.",
        "One three two three two four.",
        "One four two three two four.",
        "One two four three two four.",
        "One three two four three four.",
    }


def test_all_ten_copies_in_chinese():
    assert {duplicate_words("我们喜欢学习语言。", rng(seed)) for seed in range(300)} == {
        "我们喜欢我们学习喜欢语言。",
        "我们学习喜欢我们学习语言。",
        "我们学习喜欢学习我们语言。",
        "我们语言喜欢我们学习语言。",
        "我们语言喜欢学习我们语言。",
        "我们喜欢语言学习我们语言。",
        "我们学习喜欢学习喜欢语言。",
        "我们语言喜欢学习喜欢语言。",
        "我们喜欢语言学习喜欢语言。",
        "我们学习喜欢语言学习语言。",
    }


# Words without "x", so that a word of x can be told from them.
RUNS = st.text(st.sampled_from("abAB5é한ش\u064bн'-"), min_size=1, max_size=4).filter(
    lambda word: word[0].isalnum() and word[-1] not in "'-"
)
BLANKS = st.sampled_from([" ", " ", ", ", "  ", "\t", "! (", " - ", "\u00a0", "\n"])


@st.composite
def blank_texts(draw):
    count = draw(st.integers(4, 12))
    text = draw(st.sampled_from(["", "„", " "]))
    for _ in range(count):
        text += draw(RUNS) + draw(BLANKS)
    return text


@given(blank_texts(), st.integers(0, 2**32))
@settings(deadline=None)
def test_removing_the_copies_gives_the_text_back(text, seed):
    try:
        copy = duplicate_words(text, rng(seed))
    except CannotDegradeError:  # when it may, say the tests against outcomes made by hand
        assume(False)
    added = Counter(words(copy)) - Counter(words(text))
    assert added.total() == 2
    assert not Counter(words(text)) - Counter(words(copy))
    assert set(added) <= set(words(text))
    assert words(copy)[0] == words(text)[0]
    assert words(copy)[-1] == words(text)[-1]
    units = cut(copy)
    places = word_places(units)
    keys = [units[place].text.casefold() for place in places]

    def is_right(i, j):
        left = [unit for at, unit in enumerate(units) if at not in (places[i], places[j])]
        apart = all(keys[at] not in (keys[at - 1], keys[at + 1]) for at in (i, j))
        return apart and join(left) == text

    assert any(is_right(i, j) for i, j in combinations(range(1, len(places) - 1), 2))


@given(
    st.lists(st.sampled_from("aaAbc"), min_size=4, max_size=8),
    st.lists(st.sampled_from([" ", " ", "\n"]), min_size=8, max_size=8),
    st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=400)
def test_a_copy_is_made_whenever_there_is_one(texts, blanks, seed):
    parts = [
        part for text, blank in zip(texts, blanks, strict=False) for part in (text, ("", blank, ""))
    ]
    parts = parts[:-1]
    text = "".join(part if isinstance(part, str) else part[1] for part in parts)
    possible = outcomes("", parts, "")
    if possible:
        assert duplicate_words(text, rng(seed)) in possible
    else:
        with pytest.raises(CannotDegradeError, match=f"^{NO_PLACE}$"):
            duplicate_words(text, rng(seed))


def test_the_first_word_leaves_others_their_only_place():
    # Copies fit in "a b" and "b b". The one place of a is "b b", so c may not go there.
    made = {duplicate_words("a b\nb b\nc", rng(seed)) for seed in range(30)}
    assert made == {"a c b\nb a b\nc"}


@given(
    st.text(st.characters(), max_size=60)
    | st.text(st.sampled_from("我们 a。\n\u0301เก๊\ud800👍"), max_size=60),
    st.text(st.characters(), max_size=60) | st.text(st.sampled_from("你 b，"), max_size=60),
    st.integers(0, 2**32),
)
@settings(deadline=None)
def test_any_text_is_degraded_or_refused(text, donor, seed):
    for how in ("duplicate_words", "replace_span"):
        try:
            copy = degrade(text, how=how, donors=[donor], rng=rng(seed))
        except CannotDegradeError:
            continue
        assert len(words(text)) >= 4
        assert copy.casefold() != text.casefold()
        assert copy == degrade(text, how=how, donors=[donor], rng=rng(seed))
        # the text up to the end of the first word stays, and from the last word on
        units = cut(text)
        places = word_places(units)
        assert copy.startswith(join(units[: places[0] + 1]))
        assert copy.endswith(join(units[places[-1] :]))
        if how == "duplicate_words":
            assert len(copy) > len(text)
            remaining = iter(copy)
            assert all(character in remaining for character in text)


def test_a_span_is_replaced_in_the_middle():
    text = "„Vier Wörter, sind hier“."
    assert replace_span(text, "gut  so", rng(0)) == "„Vier gut, so hier“."
    assert replace_span(text, "Das ist gut so", rng(0)) == "„Vier ist, gut hier“."
    # three words are too few to leave the first and the last of them out
    assert {replace_span(text, "Ist gut so", rng(seed)) for seed in range(30)} == {
        "„Vier Ist, gut hier“.",
        "„Vier gut, so hier“.",
    }


def test_a_span_is_replaced_in_other_scripts():
    assert {
        replace_span("我们，喜欢学习语言。", "他们昨天，已经回家了。", rng(seed))
        for seed in range(30)
    } == {"我们，昨天已经语言。", "我们，已经回家语言。"}
    assert {replace_span("ผมกินข้าว แล้ว", "เขา บ้าน นี้", rng(seed)) for seed in range(30)} == {
        "ผมเขาบ้าน แล้ว",
        "ผมบ้านนี้ แล้ว",
    }
    assert replace_span("أنا أحب القهوة، جداً", "كتاب جديد", rng(0)) == "أنا كتاب جديد، جداً"
    assert replace_span("नमस्ते दुनिया, कैसे हो?", "वह घर", rng(0)) == "नमस्ते वह, घर हो?"
    assert replace_span("나는 매일 커피를 마신다.", "비가 온다", rng(0)) == "나는 비가 온다 마신다."
    assert replace_span("我用Java写代码吧", "Perl 你们", rng(0)) == "我用Perl你们码吧"


def test_all_spans_are_equally_likely():
    text, donor = "a b c d e f", "p q r s t u"  # 3 of 6: 2 starts, and 2 starts from q to t
    expected = ["a q r s e f", "a r s t e f", "a b q r s f", "a b r s t f"]
    chances = dict.fromkeys(expected, 1 / 4)
    assert chi_square(2000, chances)(lambda r: replace_span(text, donor, r)) < 4


@pytest.mark.parametrize(
    ("n", "span"),
    [
        (4, 2),
        (5, 2),
        (6, 3),
        (8, 3),
        (9, 4),
        (15, 4),
        (16, 5),
        (20, 5),
        (21, 5),
        (24, 6),
        (100, 25),
    ],
)
def test_how_many_words_are_replaced(n, span):
    text = " ".join(f"w{i}" for i in range(n))
    donor = " ".join(f"d{i}" for i in range(n))
    starts = set()
    for seed in range(50):
        copy = replace_span(text, donor, rng(seed)).split(" ")
        changed = [i for i, word in enumerate(copy) if word != f"w{i}"]
        starts.add(changed[0])
        assert len(copy) == n
        assert changed == list(range(changed[0], changed[0] + span))
        lent = [int(copy[i][1:]) for i in changed]
        assert lent == list(range(lent[0], lent[0] + span))
        assert lent[0] > 0
        assert lent[-1] < n - 1
    assert min(starts) > 0
    assert max(starts) + span < n
    if n < 10:
        assert starts == set(range(1, n - span))


def test_a_span_differs_from_what_it_replaces():
    text = "one two three four five"
    donor = "Zero TWO Three four six"  # two three, three four stand in the text
    expected = {
        "one Three four four five",
        "one two TWO Three five",
    }
    assert {replace_span(text, donor, rng(seed)) for seed in range(40)} == expected
    with pytest.raises(CannotDegradeError, match=f"^{NO_FIT}$"):
        replace_span("one two three four", "TWO Three", rng(0))
    # the pieces differ, the text would not
    with pytest.raises(CannotDegradeError, match=f"^{NO_FIT}$"):
        replace_span("甲。我们你。乙丙", "我。们你", rng(0))


def test_words_between_blanks_do_not_run_together():
    with pytest.raises(CannotDegradeError, match=f"^{NO_FIT}$"):
        replace_span("我用Java写代码吧", "Perl Rust", rng(0))
    assert replace_span("我用、Java、写代码吧", "Perl Rust", rng(0)) == "我用、Perl、Rust码吧"
    assert replace_span("我用 Java 写代码吧", "Perl Rust", rng(0)) == "我用 Perl Rust码吧"


@pytest.mark.parametrize(
    ("text", "donor", "fitting"),
    [("Java写代码吧好", "Perl 你们", "你们 Perl"), ("我们写代码Java", "你们 Perl", "Perl 你们")],
)
def test_no_word_runs_together_with_the_ends_of_the_span(text, donor, fitting):
    with pytest.raises(CannotDegradeError, match=f"^{NO_FIT}$"):
        replace_span(text, donor, rng(0))
    assert replace_span(text, fitting, rng(0)) != text


@pytest.mark.parametrize("how", ["duplicate_words", "replace_span"])
@pytest.mark.parametrize(
    ("text", "count"),
    [("", "0 words"), ("Yes.", "1 word"), ("-- a … b c!", "3 words"), ("我们喜欢他", "3 words")],
)
def test_too_short(how, text, count):
    with pytest.raises(CannotDegradeError, match=f"^{count}; a degraded copy needs 4$"):
        degrade(text, how=how, donors=["one two three four"], rng=rng(0))


@pytest.mark.parametrize(
    "text", ["a a a a a", "a b a b a", "a\nb\nc\nd", "a b c\nd e\nf".replace(" ", "\n")]
)
def test_no_word_has_a_place(text):
    with pytest.raises(CannotDegradeError, match=f"^{NO_PLACE}$"):
        duplicate_words(text, rng(0))


def test_donors_are_tried_until_one_fits():
    donors = ["no", "", "two three", "one", "seven eight", "TWO THREE"]
    for seed in range(20):
        copy = degrade("one two three four", how="replace_span", donors=donors, rng=rng(seed))
        assert copy == "one seven eight four"
    both = {
        degrade("one two three four", how="replace_span", donors=["a b", "c d"], rng=rng(seed))
        for seed in range(20)
    }
    assert both == {"one a b four", "one c d four"}


@pytest.mark.parametrize(
    ("donors", "reason"),
    [
        ([], "there is no other text to take words from"),
        (["one"], "the other text has 1 word; the span to replace has 2"),
        (["two three"], NO_FIT),
        (["two three"] * 2, f"none of 2 other texts fits; the last: {NO_FIT}"),
        (
            [""] * 30,
            "none of 20 other texts fits; the last: "
            "the other text has 0 words; the span to replace has 2",
        ),
    ],
)
def test_no_donor_fits(donors, reason):
    with pytest.raises(CannotDegradeError, match=f"^{reason}$"):
        degrade("one two three four", how="replace_span", donors=donors, rng=rng(0))


def test_duplicating_needs_no_donors():
    copy = degrade("one two three four", how="duplicate_words", donors=[], rng=rng(3))
    assert copy == duplicate_words("one two three four", rng(3))


@pytest.mark.slow
@pytest.mark.parametrize(("part", "lent"), [("a b ", "x "), ("我们喜欢，", "你")])
def test_a_megabyte(part, lent):
    text = part * (1_000_000 // len(part)) + " c d"
    assert len(duplicate_words(text, rng(0))) > len(text)
    assert replace_span(text, lent * 500_000, rng(0)) != text


@pytest.mark.slow
def test_tries_are_bounded():
    with pytest.raises(CannotDegradeError, match=f"^{NO_PLACE}$"):
        duplicate_words("a " * 100_000, rng(0))
    with pytest.raises(CannotDegradeError, match=f"^{NO_FIT}$"):
        replace_span("b " + "a " * 100_000 + "b", "A " * 60_000, rng(0))
