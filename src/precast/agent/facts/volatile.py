"""Which facts are volatile: they change by themselves. The server keeps no history of them, and sends of only these are small."""

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
    """Whether the fact at this path is volatile."""
    return any(
        len(pattern) == len(path) and all(part in ("*", name) for part, name in zip(pattern, path, strict=True))
        for pattern in VOLATILE
    )
