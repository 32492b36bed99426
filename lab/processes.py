"""The state of processes that other programs have started, read from /proc."""

from pathlib import Path

# Raised by reading the files of a process that ends meanwhile.
GONE = (FileNotFoundError, ProcessLookupError)


def is_alive(pid: int) -> bool:
    """Whether a process runs. A zombie, which no parent has reaped, counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except GONE:
        return False
