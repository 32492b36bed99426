"""Offsets of named time zones. The table is fixed: offsets that follow changing laws would make a catalog depend on the machine.

`current`, the zone of the evaluating process, is UTC for the same reason.
"""

import re
from typing import Final

from precast.lang.issues import types as issues

_HOURS: Final = {
    "current": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "met": 1, "mest": 2, "mez": 1, "mesz": 2,
    "eet": 2, "eest": 3, "msk": 3, "msd": 4, "sast": 2, "eat": 3, "jst": 9, "hkt": 8, "sgt": 8, "est": -5, "edt": -4, "cst": -6,
    "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "akst": -9, "akdt": -8, "hst": -10, "hast": -10, "hadt": -9,
    "ast": -4, "adt": -3, "brt": -3, "art": -3, "nzst": 12, "nzdt": 13, "nzt": 12,
}  # fmt: skip
_MILITARY: Final = {letter: hours for hours, letter in enumerate("abcdefghiklm", 1)} | {
    letter: -hours for hours, letter in enumerate("nopqrstuvwxy", 1)
}
_OFFSET: Final = re.compile(r"(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.IGNORECASE)
ZONE: Final = r"(?:(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?|[A-Za-z]+)"


def offset_seconds(zone: str) -> int:
    """Seconds east of Greenwich. Raises LANG-250 for an unknown zone."""
    offset = _OFFSET.fullmatch(zone)
    if offset is not None:
        seconds = int(offset[2]) * 3600 + int(offset[3] or 0) * 60 + int(offset[4] or 0)
        return -seconds if offset[1] == "-" else seconds
    hours = _HOURS.get(zone.lower(), _MILITARY.get(zone.lower()))
    if hours is None:
        raise issues.BAD_ZONE.error(zone=zone)
    return hours * 3600
