"""How a run is to be done."""

from typing import Literal, NamedTuple

Ordering = Literal["manifest", "graph"]


class Options(NamedTuple):
    """What whoever starts a run decides."""

    is_noop: bool = False
    is_serial: bool = False
    ordering: Ordering = "manifest"
    at_once: int = 8  # with graph ordering
    tags: frozenset[str] = frozenset()  # nothing: all
    skip_tags: frozenset[str] = frozenset()
    runs_guards: bool = True  # False: in no-op no user's command is run, and the verdict is unknown
    ignores_schedules: bool = False
