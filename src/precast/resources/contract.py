"""What a managed type is to the engine that applies a catalog.

One class for each type, one object of it (a handler) for each resource. The engine makes it, asks for the present state, has it
compared with what is wanted, and applies the changes one by one. Two promises hold everything up: making, reading and comparing
change nothing on the node, so that they may be done ahead, twice or in vain; and a change is applied whole or not at all, and again
without harm, so that a run killed anywhere is finished by the next. A handler is used by one thread at a time, several of them by
several; what they share is in `Node`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, NamedTuple, Protocol, TypeVar

from precast.base.clock import Clock

T = TypeVar("T")

# Present properties by name, as events show them: text, numbers, booleans or arrays of them. No `ensure` of absent: say it.
State = Mapping[str, Any]


class Wanted(NamedTuple):
    """A resource as the catalog wants it. Values are plain: text, numbers, booleans, bytes (Binary), lists, dicts; never undef.

    What was Sensitive is unwrapped, and its name is in `secrets`: it may be used, and never shown.
    """

    type: str  # in lower case
    title: str
    parameters: Mapping[str, Any]
    secrets: frozenset[str] = frozenset()
    metaparameters: Mapping[str, Any] = {}
    tags: tuple[str, ...] = ()
    file: str | None = None  # where it was declared
    line: int | None = None

    @property
    def ref(self) -> str:
        name = "::".join(part.capitalize() for part in self.type.split("::"))
        return f"{name}[{self.title}]"

    def get(self, name: str, default: Any = None) -> Any:
        return self.parameters.get(name, default)


class Change(NamedTuple):
    """One property that is not as wanted. `message` is what is said once it is done, in Puppet's words where Puppet has any."""

    property: str
    previous: Any
    desired: Any
    message: str
    diff: str | None = None  # shown with the change, also in no-op
    is_sensitive: bool = False  # then neither values nor diff are shown, and the message must not hold them


class Instance(NamedTuple):
    """One thing of a type that is there, for `precast resource` and for purging."""

    title: str
    properties: Mapping[str, Any]


class Completed(NamedTuple):
    """A command that has ended. Output and errors are one text, as a terminal would have them, unless they were kept apart."""

    exit_code: int
    output: str
    errors: str = ""

    @property
    def is_success(self) -> bool:
        return self.exit_code == 0


class Node(Protocol):
    """The machine, as far as handlers may reach it. Safe for several threads."""

    root: str  # what every managed path begins with; empty for the machine itself
    is_chroot: bool  # commands run inside `root`, so that every type may work under it
    state_directory: str  # the agent's own, root included; 0700
    clock: Clock

    def path(self, path: str) -> str:
        """Where a managed path is on this machine."""

    def run(
        self,
        argv: Sequence[str],
        *,
        deadline_s: float | None = 300.0,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        user: str | None = None,
        group: str | None = None,
        umask: int | None = None,
        stdin: bytes = b"",
        is_split: bool = False,
    ) -> Completed:
        """Run a program, found by its absolute path or on a fixed search path, in locale C, never through a shell.

        `environment` is added to a clean one. Raises UnavailableError RESOURCE-001 if it cannot be started, RESOURCE-002 after the
        deadline; then it and all its children are dead.
        """

    def snapshot(self, kind: str, take: Callable[[], T], still: Callable[[T], bool] | None = None) -> T:
        """What `take` gives, taken once and kept until a change may have made it stale, and longer if `still` says that it is true."""

    def at_end(self, key: Hashable, action: Callable[[], None]) -> None:
        """Do something once, when everything is applied and before the run is recorded; a second action of the same key is not needed."""

    def names(self, type_name: str) -> Mapping[str, str]:
        """The references of a type's resources in this catalog, by namevar: what purging and recursion leave alone."""

    def pinned(self, source: str) -> str | None:
        """The digest of a `puppet:///…` source in this catalog; None if it is not in it."""

    def pinned_below(self, source: str) -> Mapping[str, str]:
        """Digests of all that lies below a source that is a directory, by relative path."""

    def resources(self, type_name: str) -> Sequence["Wanted"]:
        """All resources of a type in this catalog, those whose values are known: what one that gathers others looks through."""

    def promised(self, key: str, default: Any = None) -> Any:
        """The value that this node has promised under a key."""

    def promise(self, key: str, value: Any) -> None:
        """Give a value to whoever waits for the future of this key."""

    def content(self, digest: str) -> BinaryIO:
        """The content of this sha256, to be read and closed. Raises NotFoundError RESOURCE-003 if nobody here has it."""

    def backup(self, file: BinaryIO, path: str) -> str:
        """Keep a former content in the bucket; its digest, sha256."""


class Handler:
    """One resource on this node. Making it checks the parameters and raises an InputError, which fails this resource alone."""

    # False: it reports changes but touches nothing, so that what was checked ahead stays true (notify, promise).
    touches_node: ClassVar[bool] = True
    # Whether it has something to do when notified.
    can_refresh: ClassVar[bool] = False
    # Whether `resources { purge => true }` may remove what no catalog names.
    can_be_purged: ClassVar[bool] = False
    # Held while a change is applied, e.g. ("apt",): with graph ordering others work beside it.
    locks: ClassVar[tuple[str, ...]] = ()
    # Kinds of snapshots that a change of it makes stale; None: all of them (a command or a file may mean anything).
    invalidates: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, wanted: Wanted, node: Node) -> None:
        self.wanted = wanted
        self.node = node
        self._said: list[tuple[str, str]] = []

    @property
    def runs_user_commands(self) -> bool:
        """Whether reading runs a command that a user wrote (guards): then it is read only when its turn has come."""
        return False

    @property
    def is_slow_to_read(self) -> bool:
        """Whether reading waits for something, such as a command, so that it pays to read ahead on another thread."""
        return False

    @property
    def is_fresh(self) -> bool:
        """Whether what was just applied makes a refresh needless: a service that was started reads its files anyway."""
        return False

    def read(self) -> State:
        """The present state. Changes nothing. Raises PrecastError or OSError, which fails this resource."""
        raise NotImplementedError

    def state_after(self) -> State:
        """The state after a change, to be remembered: read again, unless the handler knows what it has made. Raises as `read` does."""
        return self.read()

    def compare(self, state: State) -> Sequence[Change]:
        """What differs from what is wanted, in the order to apply it; nothing if it is in sync.

        If `ensure` differs it is the only change: applying it brings the other properties along.
        """
        raise NotImplementedError

    def apply(self, change: Change) -> str | None:
        """Make it so; what to say instead of the change's message, or None. Raises PrecastError or OSError; then nothing is half done."""
        raise NotImplementedError

    def refresh(self) -> None:
        """What is done when something it subscribes to has changed; only called if `can_refresh`. Raises as `apply` does."""

    def expand(self, state: State) -> Sequence["Handler"]:
        """Resources that follow from this one (recursion, purging), handled right after it; made when its turn has come.

        They are part of its check: one that is not in sync is a change in its place.
        """
        return ()

    def flush(self) -> None:
        """Called once after the changes of a resource were applied, for types that write everything at the end."""

    @classmethod
    def instances(cls, node: Node) -> Iterable[Instance]:
        """What there is of this type on the node. Raises InputError RESOURCE-004 for types that cannot be listed."""
        raise NotImplementedError

    def say(self, level: str, text: str) -> None:
        """Log for this resource (debug, info, notice, warning, err): it comes out in the resource's turn."""
        self._said.append((level, text))

    def said(self) -> list[tuple[str, str]]:
        """What was said since the last call; the engine asks."""
        said, self._said = self._said, []
        return said
