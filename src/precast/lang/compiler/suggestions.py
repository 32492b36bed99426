"""Suggests an existing name for a misspelt one."""

import difflib
from collections.abc import Sequence


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """` (did you mean …?)` with the closest known name, or an empty string."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f" (did you mean {close[0]}?)" if close else ""
