"""Text from exports as a terminal may show it."""

from __future__ import annotations

import pytest

from annot_pipeline.contracts import share_text
from annot_pipeline.errors import printable


@pytest.mark.parametrize(
    "kept",
    [
        "\u0645\u06cc\u200c\u062e\u0648",
        "क्\u200dष",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "10\u202f000\u00a0€",
    ],
)
def test_letters_that_need_joiners_and_blanks_keep_them(kept):
    assert printable(kept) == kept


@pytest.mark.parametrize("code", [0, 0x07, 0x0A, 0x1B, 0x7F, 0x9B, 0x200E, 0x200F, 0x202A, 0x202E,
                                  0x2066, 0x2069, 0x2028, 0xFEFF, 0xE0041])  # fmt: skip
def test_what_moves_the_cursor_or_reorders_a_line_is_replaced(code):
    assert printable(f"a{chr(code)}b") == "a\ufffdb"


@pytest.mark.parametrize(
    ("share", "digits", "written"),
    [
        (1.0, 0, "100%"), (0.996, 0, ">99%"), (0.004, 0, "<1%"), (0.0, 0, "0%"), (0.5, 0, "50%"),
        (0.99996, 2, ">99.99%"), (0.9994, 1, "99.9%"), (0.9995, 1, ">99.9%"),
        (-0.0001, 1, ">\u22120.1%"), (-0.25, 1, "\u221225.0%"), (1.5, 1, "150.0%"),
    ],
)  # fmt: skip
def test_a_share_is_never_rounded_to_all_or_none(share, digits, written):
    assert share_text(share, digits) == written
