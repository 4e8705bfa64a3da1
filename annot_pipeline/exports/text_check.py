"""Tells files of text from others by their first bytes, before anything of them is shown."""

from __future__ import annotations

import codecs

BYTES_LOOKED_AT = 8192
CONTROL_BYTES = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1b"))
"""Bytes that text does not hold, in any encoding that ASCII is part of."""
LARGEST_SHARE = 1 / 128
"""Of control bytes in text; a stray one is the reader's business."""


def is_text(head: bytes) -> bool:
    """Return whether the first bytes of a file may be text: few control bytes, or UTF-16."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    looked_at = head[:BYTES_LOOKED_AT]
    n_control = len(looked_at) - len(looked_at.translate(None, CONTROL_BYTES))
    return n_control <= max(1, LARGEST_SHARE * len(looked_at))
