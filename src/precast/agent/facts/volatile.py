"""Which facts change by themselves. A hint for who stores them: the history of these is of no use, and a change of only these is small."""

from collections.abc import Sequence

# `*` stands for one name.
VOLATILE: tuple[tuple[str, ...], ...] = (
    ("load_averages", "*"),
    ("system_uptime", "*"),
    ("processors", "speed"),
    *(("memory", "*", name) for name in ("available", "available_bytes", "used", "used_bytes", "capacity")),
    *(("mountpoints", "*", name) for name in ("available", "available_bytes", "used", "used_bytes", "capacity")),
)


def is_volatile(path: Sequence[str]) -> bool:
    """Whether a leaf at this path changes by nature."""
    return any(
        len(pattern) == len(path) and all(one in ("*", name) for one, name in zip(pattern, path, strict=True))
        for pattern in VOLATILE
    )
