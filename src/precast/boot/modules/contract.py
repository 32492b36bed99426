"""Defines what a config module declares to the loop that runs it.

A module is a declaration and a function. The loop builds a Petri net from the declarations: a module (or each of its parts) is a
transition; capabilities, "user X exists" and locks are places. A module's function runs in a thread with a context of its own. After a
crash the function may run again from the start, so it must be idempotent. A module that cannot promise that, because it runs the user's
commands or has an effect outside of the machine, is not repeatable: once it has begun, it counts as run, like every module of cloud-init.

Order is declared in two forms. `after` names modules: every one of them that runs in this boot has ended before, successfully or not. A
part `waits_for` places: every part of this boot that `provides` such a place has ended before, successfully or not; if no part provides
it, nothing is waited for. Both decide when a module runs, never whether it runs: a password can be set for a user that existed before
this boot, and if a user could not be created, the program that sets the password reports the user as missing.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from precast.boot.capabilities import Capability
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import ValueSchema

Config = Mapping[str, Any]  # merged and cleaned: every value fits the schema that its module declares
ModuleFunction = Callable[[ModuleContext], ModuleOutcome]
ROOT_FILES_WRITTEN = (
    "files of root"  # the place for "write_files has written root's files"; other owners' files wait for their users
)


class Stage(enum.IntEnum):
    """The earliest stage of a boot in which a module may run; the stages run in this order."""

    LOCAL = 0
    NETWORK = 1
    CONFIG = 2
    FINAL = 3


class Frequency(enum.Enum):
    """How often a module runs: at every boot, once per instance id, or once in the life of the disk."""

    BOOT = "boot"
    INSTANCE = "instance"
    ONCE = "once"


class Predecessor(NamedTuple):
    """A module that runs earlier, and the reason, which `boot explain` shows."""

    module: str
    reason: str


class ModulePart(NamedTuple):
    """One transition of a module that is split: `users` has one part per user. A part's name is unique within its module."""

    name: str
    run: ModuleFunction
    waits_for: tuple[str, ...] = ()  # places, e.g. "user:alice exists"
    provides: tuple[str, ...] = ()
    keys: tuple[str, ...] | None = None  # the keys that request this part; None: all keys of its module


class Module(NamedTuple):
    """The declaration of a config module. `schema` maps each top-level key that the module reads to the schema of its value."""

    name: str
    run: ModuleFunction
    schema: Mapping[str, ValueSchema]
    needs: frozenset[Capability] = frozenset()  # if one of them is missing, the module does not run and reports that
    uses: frozenset[Capability] = frozenset()  # the module also runs without them
    after: tuple[Predecessor, ...] = ()
    locks: tuple[str, ...] = ()  # locks held while the module runs: "apt", "passwd"
    provides: tuple[str, ...] = ()  # like a part's, for a module without parts
    waits_for: tuple[str, ...] = ()
    frequency: Frequency = Frequency.INSTANCE
    is_repeatable: bool = True  # False: a run that was cut off counts as run and is not repeated
    stage: Stage = Stage.CONFIG
    # Decides whether the module has something to do, where the keys alone do not (a host name may come from the data source).
    has_work: Callable[[Config], bool] | None = None
    # Returns the parts that run instead of `run`, each as a transition; None: the module itself is the only transition.
    parts: Callable[[Config], Sequence[ModulePart]] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.schema)

    def applies_to(self, config: Config) -> bool:
        """Return whether this module has something to do for this configuration."""
        if self.has_work is not None:
            return self.has_work(config)
        return any(key in config for key in self.schema)

    def split(self, config: Config) -> Sequence[ModulePart]:
        """Return the module's transitions: its parts, or one part with the module's own name if it is not split."""
        if self.parts is not None:
            return self.parts(config)
        return (ModulePart(self.name, self.run, self.waits_for, self.provides),)
