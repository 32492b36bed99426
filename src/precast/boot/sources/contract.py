"""What a data source is, and what it is given to look with.

A source is a declaration (name, rank, capabilities, deadline) and one question: are you here? It looks only through its `Reach`, so that a
test, a scratch root and a network namespace are all the same to it. It never decides whether it is believed: see `boot/trust.py`.
"""

import enum
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from precast.base.clock import Clock
from precast.boot.capabilities import Capability


class Plausibility(enum.IntEnum):
    """What the evidence says about a source before it is asked."""

    RULED_OUT = 0
    POSSIBLE = 1
    CONFIRMED = 2


class Likelihood(NamedTuple):
    """A plausibility and the reason, as a person reads it."""

    plausibility: Plausibility
    reason: str


@dataclass(frozen=True)
class Evidence:
    """What can be known without asking anybody: firmware tables, kernel command line, labels of disks, what lies in the file system."""

    dmi: Mapping[str, str] = field(default_factory=dict)  # by file name below sys/class/dmi/id
    command_line: str = ""
    labels: Mapping[str, Path] = field(default_factory=dict)  # label in small letters → device or image
    has_lxd: bool = False  # its socket is there
    # What its configuration has below `datasource`, by cloud-init's names.
    image: Mapping[str, Any] = field(default_factory=dict)

    def dmi_value(self, name: str) -> str:
        return self.dmi.get(name, "")

    def of_image(self, name: str) -> Mapping[str, Any]:
        """What the image says about a source; nothing if that is no map."""
        found = self.image.get(name)
        return found if isinstance(found, Mapping) else {}


class HttpAnswer(NamedTuple):
    """What an HTTP server said. Header names are in small letters."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class InjectedFile(NamedTuple):
    """A file that a platform wants in the file system. The path is checked: absolute, without `..`."""

    path: str
    content: bytes


class RetryPolicy(NamedTuple):
    """How an HTTP question is asked: how long for one answer, and whether to ask again until the source's deadline.

    A platform that the evidence confirms will answer sooner or later; one that is only possible is asked once.
    """

    timeout_s: float = 2.0
    pause_s: float = 0.5
    is_retried: bool = False


class MachineAccess(Protocol):
    """How a source looks at the world. Everything is below `root`, bounded in size, and comes within a deadline."""

    @property
    def root(self) -> Path: ...

    @property
    def evidence(self) -> Evidence: ...

    @property
    def clock(self) -> Clock: ...

    def read(self, path: str, max_bytes: int = ...) -> bytes | None:
        """A file below the root; None if it is not there. A link that leads out of the root is refused. Raises InputError."""

    def mounted(self, device: Path, file_system: str = ...) -> AbstractAsyncContextManager["MachineAccess"]:
        """The files of a disk or image as the root of another reach, read-only, as long as the context lasts.

        What is neither ISO 9660 nor FAT is given to the kernel's driver for `file_system`, and to no other.
        """

    async def ask(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        body: bytes = b"",
        retry_policy: RetryPolicy = ...,
        max_bytes: int = ...,
    ) -> HttpAnswer:
        """Ask an HTTP server once or, with patience, again. Raises UnavailableError if nobody answers, InputError if it is hostile.

        Redirects are refused. A status of 500 and above counts as no answer.
        """

    async def command(self, words: list[str], max_bytes: int = ...) -> bytes | None:
        """The output of a program of the machine; None if there is no such program or it fails."""


class DetectedSource(Protocol):
    """A source that is there."""

    @property
    def instance_id(self) -> str | None: ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it really offers here; may be less than it declares."""

    @property
    def origin(self) -> str:
        """Where exactly it was found, for people: a directory, a device, an address."""

    async def get(self, capability: Capability) -> Any:
        """The value, fetched now if need be. Raises PrecastError if it cannot be had after all."""


class Source(Protocol):
    """A kind of place that may know the machine."""

    @property
    def name(self) -> str: ...

    @property
    def rank(self) -> int:
        """Of two that are present the one of higher rank is the identity, unless the platform's evidence confirms the other."""

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    @property
    def deadline_s(self) -> float: ...

    @property
    def needs_network(self) -> bool: ...

    def likelihood(self, evidence: Evidence) -> Likelihood: ...

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        """What is there; None if this is another platform. Raises PrecastError if it is there and cannot be believed."""


LazyValue = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class SourceData:
    """What a source found: values known at once, and those to be fetched when somebody asks."""

    origin: str
    values: Mapping[Capability, Any]
    later: Mapping[Capability, LazyValue] = field(default_factory=dict)

    @property
    def instance_id(self) -> str | None:
        return self.values.get(Capability.INSTANCE_ID)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset(self.values) | frozenset(self.later)

    async def get(self, capability: Capability) -> Any:
        if capability in self.values:
            return self.values[capability]
        return await self.later[capability]()
