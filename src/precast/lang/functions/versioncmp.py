"""versioncmp: compares version strings as package managers do."""

import re
from typing import Final

from precast.lang.functions.registry import Function
from precast.lang.values.folding import fold

VERSIONCMP = Function(
    "versioncmp",
    "Returns -1, 0 or 1 if the first version is older than, the same as or newer than the second. If the third argument is "
    "true, zeros at the end do not count.",
)
_PIECE: Final = re.compile(r"[-.]|\d+|[^-.\d]+")
_ZEROS: Final = re.compile(r"([^a-z]*?)(\.0+)+$", re.IGNORECASE)


@VERSIONCMP.dispatch("String a, String b, Boolean ignore_trailing_zeroes?")
def versioncmp(a: str, b: str, ignore_zeros: bool = False) -> int:
    if ignore_zeros:
        a, b = _strip_zeros(a), _strip_zeros(b)
    left, right = _PIECE.findall(a), _PIECE.findall(b)
    for x, y in zip(left, right, strict=False):
        if x == y:
            continue
        order = _order(x, y)
        if order is not None:
            return order
    a, b = fold(a), fold(b)
    return (a > b) - (a < b)


def _order(x: str, y: str) -> int | None:
    """Return the order of two pieces that differ; None if the next pieces decide."""
    for sign in "-.":
        if x == sign:
            return -1
        if y == sign:
            return 1
    if x.isdigit() and y.isdigit():
        if x[0] == "0" or y[0] == "0":
            return _by_text(x, y)
        return _by_text(f"{len(x):09d}{x}", f"{len(y):09d}{y}") or None  # as numbers with any number of digits
    return _by_text(fold(x), fold(y)) or None


def _by_text(x: str, y: str) -> int:
    return (x > y) - (x < y)


def _strip_zeros(version: str) -> str:
    version, sign, rest = version.partition("-")
    return _ZEROS.sub(r"\1", version) + sign + rest
