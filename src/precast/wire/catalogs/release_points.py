"""Where a rollback may go to: the number of a release, a commit or a version of the code, or a time."""

import re
from datetime import datetime
from typing import NamedTuple

from precast.wire import issues

_NUMBER = re.compile(r"[0-9]{1,12}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)


class ReleaseNumber(NamedTuple):
    """A release or rollback of the log."""

    number: int


class CodeBeginning(NamedTuple):
    """The first characters of a commit, or of a version of the code."""

    beginning: str


Point = ReleaseNumber | CodeBeginning | datetime


def parse_point(text: str) -> Point:
    """Parse a point. A number of up to twelve digits is a release. Raises InputError RELEASE-003."""
    if _NUMBER.fullmatch(text):
        return ReleaseNumber(int(text))
    if _COMMIT.fullmatch(text):
        return CodeBeginning(text.lower())
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise issues.BAD_RELEASE_POINT.error(text=text[:80])
    return at


def describe_point(point: Point) -> str:
    match point:
        case ReleaseNumber(number):
            return f"release {number}"
        case CodeBeginning(beginning):
            return f"commit {beginning[:12]}"
        case _:
            return f"{point:%Y-%m-%d %H:%M:%SZ}"
