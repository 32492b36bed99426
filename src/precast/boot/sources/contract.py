"""The contract of data sources, and of the access to the machine that they are given.

A source is a declaration (name, rank, capabilities, deadline) and a method that detects it. It accesses the machine only through
`MachineAccess`, so a test, a scratch root and a network namespace look the same to it. The trust rules decide whether to believe it: see
`boot/trust.py`.
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
    """How plausible the evidence makes a source, before it is asked."""

    RULED_OUT = 0
    POSSIBLE = 1
    CONFIRMED = 2


class Likelihood(NamedTuple):
    """A plausibility and the displayed reason."""

    plausibility: Plausibility
    reason: str


@dataclass(frozen=True)
class Evidence:
    """What is known without asking a service: firmware tables, kernel command line, disk labels, files."""

    dmi: Mapping[str, str] = field(default_factory=dict)  # by file name below sys/class/dmi/id
    command_line: str = ""
    labels: Mapping[str, Path] = field(default_factory=dict)  # label in lower case → device or image
    has_lxd: bool = False  # its socket exists
    # The map below `datasource` in the image's configuration, by cloud-init's names.
    image: Mapping[str, Any] = field(default_factory=dict)

    def dmi_value(self, name: str) -> str:
        return self.dmi.get(name, "")

    def of_image(self, name: str) -> Mapping[str, Any]:
        """Return the image's settings of a source; empty if they are not a map."""
        settings = self.image.get(name)
        return settings if isinstance(settings, Mapping) else {}


class HttpAnswer(NamedTuple):
    """The response of an HTTP server. Header names are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class InjectedFile(NamedTuple):
    """A file that a platform wants in the file system. The path is checked: absolute, without `..`."""

    path: str
    content: bytes


class RetryPolicy(NamedTuple):
    """The timeout of one HTTP request, and whether it is retried until the source's deadline.

    A platform that the evidence confirms will answer eventually; one that is only possible is asked once.
    """

    timeout_s: float = 2.0
    pause_s: float = 0.5
    is_retried: bool = False


class MachineAccess(Protocol):
    """A source's access to the machine. Every access is below `root`, and bounded in size and time."""

    @property
    def root(self) -> Path: ...

    @property
    def evidence(self) -> Evidence: ...

    @property
    def clock(self) -> Clock: ...

    def read(self, path: str, max_bytes: int = ...) -> bytes | None:
        """Return a file below the root; None if it does not exist. Links are resolved within the root. Raises InputError."""

    def mounted(self, device: Path, file_system: str = ...) -> AbstractAsyncContextManager["MachineAccess"]:
        """Give read-only access to the files of a disk or image for the duration of the context.

        A disk that is neither ISO 9660 nor FAT is mounted by the kernel's driver for `file_system`, and by no other.
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
        """Send an HTTP request, with retries if the policy says so. Raises UnavailableError without an answer, InputError if it is hostile.

        Redirects are refused. A status of 500 and above counts as no answer.
        """

    async def command(self, words: list[str], max_bytes: int = ...) -> bytes | None:
        """Return the output of a program of the machine; None if it does not exist or fails."""


class DetectedSource(Protocol):
    """A source that was detected on this machine."""

    @property
    def instance_id(self) -> str | None: ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities that it offers here; these may be fewer than it declares."""

    @property
    def origin(self) -> str:
        """Where it was detected, for display: a directory, a device, an address."""

    async def get(self, capability: Capability) -> Any:
        """Return the value, fetched now if necessary. Raises PrecastError if the fetch fails."""


class Source(Protocol):
    """A kind of data source."""

    @property
    def name(self) -> str: ...

    @property
    def rank(self) -> int:
        """The present source of the highest rank is the identity, unless the evidence confirms another."""

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    @property
    def deadline_s(self) -> float: ...

    @property
    def needs_network(self) -> bool: ...

    def likelihood(self, evidence: Evidence) -> Likelihood: ...

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        """Detect the source; None if this is another platform. Raises PrecastError if its data is invalid."""


LazyValue = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class SourceData:
    """The data of a detected source: values that are known, and lazy values that are fetched on demand."""

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
