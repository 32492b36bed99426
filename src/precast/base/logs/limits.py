"""Limits how many lines of one kind are logged: a node or a stranger that causes one with each request must not fill the disk."""

import logging
import time
from collections.abc import Callable

# Lines of one kind in a minute. A deployment that enrols thousands of machines stays below it.
MAX_PER_MINUTE = 600
WINDOW_S = 60.0
# More kinds than the program has; the texts of libraries may vary.
MAX_KINDS = 1000


class KindLimit(logging.Filter):
    """Lets the first lines of each kind in a minute pass. The first line after that says how many were left out.

    The kind is the message before its values are filled in, or the attribute `kind` of a record.
    """

    def __init__(self, most: int = MAX_PER_MINUTE, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most, self._monotonic_s = most, monotonic_s
        # By kind: when its minute began, and how many lines it has had since.
        self._counts: dict[object, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now_s, kind = self._monotonic_s(), getattr(record, "kind", (record.name, record.msg))
        began_s, count = self._counts.get(kind, (now_s, 0))
        if now_s - began_s >= WINDOW_S:
            if count > self._most:
                record.msg = f"{record.getMessage()} ({count - self._most} more lines like this were left out)"
                record.args = ()
            began_s, count = now_s, 0
        if kind not in self._counts and len(self._counts) >= MAX_KINDS:
            self._counts.clear()
        self._counts[kind] = (began_s, count + 1)
        return count < self._most
