"""Ruby's sets of characters as String#count, squeeze and delete take them: `a-z`, `^0-9`, a backslash before what is meant as it is."""

import re
from collections.abc import Callable
from typing import Final

_RANGE: Final = re.compile(r"\\(.)|(.)-(.)|(.)", re.DOTALL)


def char_set(spec: str) -> Callable[[str], bool]:
    """Whether a character belongs to a set. Raises ValueError for a range that runs backwards."""
    negated = len(spec) > 1 and spec.startswith("^")
    wanted: list[tuple[str, str]] = []
    for escaped, low, high, alone in _RANGE.findall(spec[negated:]):
        if low and low > high:
            raise ValueError(f'invalid range "{low}-{high}" in string transliteration')
        wanted.append((low, high) if low else (escaped or alone, escaped or alone))
    return lambda char: any(low <= char <= high for low, high in wanted) != negated
