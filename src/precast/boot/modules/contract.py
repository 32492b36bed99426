"""What a config module is to the loop that runs it.

A module is a declaration and a function. The loop makes a net of the declarations: a module (or each of its parts) is a transition;
capabilities, "user X exists" and locks are places. A module's function runs in a thread, with a context of its own. It may be run again
after a crash half-way, so whatever it does twice does no harm.

Order has two forms. `after` names modules: whatever of them runs in this boot has ended before, well or not. A part `waits` for places:
whoever of this boot `gives` one has ended before, well or not; if nobody gives it, there is nothing to wait for. Both say when, never
whether: a password is set for a user who is there already, and one whose creation failed is found missing by the program that is asked.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from precast.boot.capabilities import Capability
from precast.boot.modules.context import Context
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Shape

Config = Mapping[str, Any]  # merged and cleaned: every value has the shape that its module declares
Run = Callable[[Context], Outcome]
FILES_OF_ROOT = "files of root"  # the place that says that they are written; those of other owners wait for their users


class Stage(enum.IntEnum):
    """When a module may run at the earliest; stages are in this order."""

    LOCAL = 0
    NETWORK = 1
    CONFIG = 2
    FINAL = 3


class Frequency(enum.Enum):
    """How often a module runs: at every boot, once for each instance id, or once in the life of the disk."""

    BOOT = "boot"
    INSTANCE = "instance"
    ONCE = "once"


class After(NamedTuple):
    """A module that comes before, and why: `boot explain` shows it."""

    module: str
    reason: str


class Part(NamedTuple):
    """One transition of a module that splits: `users` has one for each user. Its name is unique within the module."""

    name: str
    run: Run
    waits: tuple[str, ...] = ()  # places, e.g. "user:alice exists"
    gives: tuple[str, ...] = ()
    keys: tuple[str, ...] | None = None  # those that ask for this part, if not all of its module do


class Module(NamedTuple):
    """The declaration. `schema` has the top-level keys it reads, each with its shape."""

    name: str
    run: Run
    schema: Mapping[str, Shape]
    needs: frozenset[Capability] = frozenset()  # without one of them it does not run, and says so
    uses: frozenset[Capability] = frozenset()  # it runs without them
    after: tuple[After, ...] = ()
    locks: tuple[str, ...] = ()  # places held while it runs: "apt", "passwd"
    gives: tuple[str, ...] = ()  # as a part's, if it has no parts
    waits: tuple[str, ...] = ()
    frequency: Frequency = Frequency.INSTANCE
    stage: Stage = Stage.CONFIG
    # Whether there is something to do, if keys alone do not say it (a host name comes from the source too).
    is_wanted: Callable[[Config], bool] | None = None
    # The transitions that take its place, each run instead of `run`; none: it is one itself.
    parts: Callable[[Config], Sequence[Part]] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.schema)

    def concerns(self, config: Config) -> bool:
        """Whether this module has something to do with this configuration."""
        if self.is_wanted is not None:
            return self.is_wanted(config)
        return any(key in config for key in self.schema)

    def split(self, config: Config) -> Sequence[Part]:
        """Its transitions; one of the module's own name unless it splits."""
        if self.parts is not None:
            return self.parts(config)
        return (Part(self.name, self.run, self.waits, self.gives),)
