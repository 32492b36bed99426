"""The order of fragments: by their `order`, then by name.

Numeric: digits count as numbers, and numbers come before words (`2`, `10`, `10a`, `last`). Alphabetical: as text, `10` before `9`.
"""

import re
from collections.abc import Iterable

from precast.resources.contract import DesiredResource

_PARTS = re.compile(r"\d+|\D+")
_DEFAULT = "10"


def sort_fragments(fragments: Iterable[DesiredResource], is_numeric: bool) -> list[DesiredResource]:
    if is_numeric:
        return sorted(fragments, key=lambda fragment: (_numeric_key(_order(fragment)), fragment.title))
    return sorted(fragments, key=lambda fragment: (_order(fragment), fragment.title))


def _order(fragment: DesiredResource) -> str:
    return str(fragment.get("order", _DEFAULT))


def _numeric_key(order: str) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _PARTS.findall(order))
