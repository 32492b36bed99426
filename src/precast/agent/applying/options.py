"""The options of a run."""

from typing import Literal, NamedTuple

Ordering = Literal["manifest", "graph"]


class RunOptions(NamedTuple):
    """What the caller decides about a run."""

    is_noop: bool = False
    is_serial: bool = False
    ordering: Ordering = "manifest"
    at_once: int = 8  # with graph ordering
    tags: frozenset[str] = frozenset()  # empty for all resources
    skip_tags: frozenset[str] = frozenset()
    runs_guards: bool = True  # False: a no-op run executes no command of the user, and resources that need one wait
    ignores_schedules: bool = False
    bridged_types: frozenset[str] = frozenset()  # applied by Ruby code of modules although Precast implements them
    is_look_only: bool = False  # a no-op run that does not trust its catalog; see `look_only`
