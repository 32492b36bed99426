"""Where a rollback may go to: the number of a release, a commit or a version of the code, or a time."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

from precast.wire import issues

_NUMBER = re.compile(r"[0-9]{1,12}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)


class CodeBeginning(NamedTuple):
    """The first characters of a commit, or of a version of the code."""

    beginning: str


class ReleaseNumber(NamedTuple):
    """A release or rollback of the log; if there is none with this number, `commit` may be meant: some commits begin with digits only."""

    number: int
    commit: CodeBeginning | None = None


Point = ReleaseNumber | CodeBeginning | datetime


def parse_point(text: str) -> Point:
    """Parse a point. A number of up to twelve digits is first of all a release. A time is in UTC. Raises InputError RELEASE-003."""
    commit = CodeBeginning(text.lower()) if _COMMIT.fullmatch(text) else None
    if _NUMBER.fullmatch(text):
        return ReleaseNumber(int(text), commit)
    if commit is not None:
        return commit
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise issues.BAD_RELEASE_POINT.error(text=text[:80])


def describe_point(point: Point) -> str:
    match point:
        case ReleaseNumber(number, _):
            return f"release {number}"
        case CodeBeginning(beginning):
            return f"commit {beginning[:12]}"
        case _:
            return f"{point:%Y-%m-%d %H:%M:%SZ}"
