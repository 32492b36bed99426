"""Processes that others have started, as the kernel sees them."""

from pathlib import Path

# Of a process that goes while it is looked at.
GONE = (FileNotFoundError, ProcessLookupError)


def is_alive(pid: int) -> bool:
    """One that has ended may wait for somebody to notice; nobody may be there to bury it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except GONE:
        return False
