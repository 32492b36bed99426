"""Versions: how Debian and RPM order them, and ranges as Puppet writes them (`>=1.2 <2`)."""

import re
from collections.abc import Callable
from itertools import zip_longest

# Negative, zero or positive, as the first version is before, equal to or after the second.
Order = Callable[[str, str], int]

_COMPARISONS: dict[str, Callable[[int], bool]] = {
    ">=": lambda sign: sign >= 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    "<": lambda sign: sign < 0,
    "=": lambda sign: sign == 0,
}
_PART = re.compile(r"(>=|<=|>|<|=)\s*(\S+)")
_RANGE = re.compile(r"\s*((>=|<=|>|<|=)\s*\S+\s*)+")


def is_range(text: str) -> bool:
    return _RANGE.fullmatch(text) is not None


def is_within(version: str, range_text: str, order: Order) -> bool:
    """Whether a version satisfies every part of a range."""
    return all(_COMPARISONS[sign](order(version, bound)) for sign, bound in _PART.findall(range_text))


def debian_order(left: str, right: str) -> int:
    """Compare as `dpkg --compare-versions`: epoch, version, revision; a tilde sorts before everything, even the end."""
    for left_part, right_part in zip(_debian_parts(left), _debian_parts(right), strict=True):
        if (sign := _compare_debian(left_part, right_part)) != 0:
            return sign
    return 0


def _debian_parts(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, dash, revision = rest.rpartition("-")
    return (epoch, upstream, revision) if dash else (epoch, rest, "")


def _compare_debian(left: str, right: str) -> int:
    """Compare alternating text and numbers: text character by character, letters before other characters, numbers as numbers."""
    pairs = zip_longest(re.findall(r"(\D*)(\d*)", left), re.findall(r"(\D*)(\d*)", right), fillvalue=("", ""))
    for (text, digits), (other_text, other_digits) in pairs:
        for char, other_char in zip_longest(text, other_text, fillvalue=""):
            if (sign := _weight(char) - _weight(other_char)) != 0:
                return sign
        if (sign := int(digits or 0) - int(other_digits or 0)) != 0:
            return sign
    return 0


def _weight(char: str) -> int:
    if char == "~":
        return -1
    if not char:
        return 0
    return ord(char) if char.isalpha() else ord(char) + 256


def rpm_order(left: str, right: str) -> int:
    """Compare as RPM: epoch, version, release. The release is compared only if both versions have one."""
    (epoch, version, release), (other_epoch, other_version, other_release) = _rpm_parts(left), _rpm_parts(right)
    sign = _compare_rpm(epoch, other_epoch) or _compare_rpm(version, other_version)
    if sign or not release or not other_release:
        return sign
    return _compare_rpm(release, other_release)


def _rpm_parts(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, _, release = rest.partition("-")
    return epoch, upstream, release


_RPM_SEGMENT = re.compile(r"\d+|[A-Za-z]+|~|\^")


def _compare_rpm(left: str, right: str) -> int:
    """Compare segment by segment: a tilde sorts before the end, a caret after it, a number after a word."""
    for segment, other in zip_longest(_RPM_SEGMENT.findall(left), _RPM_SEGMENT.findall(right), fillvalue=""):
        if segment == other:
            continue
        if (sign := _rank(segment) - _rank(other)) != 0:
            return sign
        if segment.isdecimal():
            if (sign := int(segment) - int(other)) != 0:
                return sign
        else:
            return -1 if segment < other else 1
    return 0


def _rank(segment: str) -> int:
    if segment in ("~", "", "^"):
        return {"~": 0, "": 1, "^": 2}[segment]
    return 4 if segment.isdecimal() else 3
