"""Ruby's character sets for String#count, squeeze and delete: `a-z`, `^0-9`, and a backslash before a literal character."""

import re
from collections.abc import Callable
from typing import Final

_RANGE: Final = re.compile(r"\\(.)|(.)-(.)|(.)", re.DOTALL)


def char_set(spec: str) -> Callable[[str], bool]:
    """Return the test whether a character belongs to a set. Raises ValueError for a range whose end comes before its start."""
    negated = len(spec) > 1 and spec.startswith("^")
    ranges: list[tuple[str, str]] = []
    for escaped, low, high, alone in _RANGE.findall(spec[negated:]):
        if low and low > high:
            raise ValueError(f'invalid range "{low}-{high}" in string transliteration')
        ranges.append((low, high) if low else (escaped or alone, escaped or alone))
    return lambda char: any(low <= char <= high for low, high in ranges) != negated
