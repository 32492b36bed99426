"""The order of fragments: by their `order`, then by name.

Numeric: digits count as numbers, and numbers come before words (`2`, `10`, `10a`, `last`). Alphabetical: as text, `10` before `9`.
"""

import re
from collections.abc import Iterable

from precast.resources.contract import Wanted

_PARTS = re.compile(r"\d+|\D+")
_DEFAULT = "10"


def in_order(fragments: Iterable[Wanted], is_numeric: bool) -> list[Wanted]:
    if is_numeric:
        return sorted(fragments, key=lambda each: (_numbered(_order(each)), each.title))
    return sorted(fragments, key=lambda each: (_order(each), each.title))


def _order(fragment: Wanted) -> str:
    return str(fragment.get("order", _DEFAULT))


def _numbered(order: str) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _PARTS.findall(order))
