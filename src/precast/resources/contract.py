"""The contract between a managed type and the engine that applies a catalog.

Each type has one class, and each resource one object of it, a handler. The engine creates the handler, reads the current state, compares it
with the desired state, and applies the changes one by one. The engine relies on two guarantees: creating, reading and comparing change
nothing on the node, so they may be done early, twice or in vain; and applying a change is atomic and idempotent, so the next run completes
a run that was killed anywhere. One thread at a time uses a handler, but several handlers run in parallel; they share only `ManagedNode`.
"""

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, NamedTuple, Protocol, TypeVar

from precast.base.clock import Clock
from precast.base.scrubbing import REDACTED

T = TypeVar("T")

# Current properties by name, as events show them: text, numbers, booleans or arrays of them. A missing resource has `ensure` absent.
State = Mapping[str, Any]


class DesiredResource(NamedTuple):
    """The desired state of a resource in the catalog. Values are plain: text, numbers, booleans, bytes (Binary), lists, dicts; never undef.

    Sensitive values are unwrapped, and their names are in `secrets`: handlers may use them, but never show them.
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
    """One property that is not in sync. `message` is the event's message once it is changed, in Puppet's words where Puppet has any."""

    property: str
    previous: Any
    desired: Any
    message: str
    diff: str | None = None  # shown with the change, also in no-op
    is_sensitive: bool = False  # then neither values nor diff are shown, and the message must not contain them
    # The values as messages show them, if they are not formatted as usual.
    previous_text: str | None = None
    desired_text: str | None = None


class Instance(NamedTuple):
    """One existing resource of a type on the node, for `precast resource` and for purging."""

    title: str
    properties: Mapping[str, Any]


class CommandResult(NamedTuple):
    """The result of a command. Output and errors are one text, as on a terminal, unless the caller asked for them separately."""

    exit_code: int
    output: str
    errors: str = ""

    @property
    def is_success(self) -> bool:
        return self.exit_code == 0


class ManagedNode(Protocol):
    """The machine as handlers access it. Safe for several threads."""

    root: str  # the prefix of every managed path; empty for the machine itself
    is_chroot: bool  # commands run inside `root`, so that every type works there
    state_directory: str  # of the agent, including the root; mode 0700
    clock: Clock

    def path(self, path: str) -> str:
        """The path on this machine of a managed path."""

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
    ) -> CommandResult:
        """Run a program, found by its absolute path or on a fixed search path, in locale C, never through a shell.

        `environment` is added to a clean environment. Raises UnavailableError RESOURCE-001 if the program cannot be started, RESOURCE-002
        after the deadline; then the program and all its children have been killed.
        """

    def snapshot(self, kind: str, take: Callable[[], T], still: Callable[[T], bool] | None = None) -> T:
        """The cached result of `take`, until a change may have made it stale; a stale result stays cached if `still` confirms it."""

    def find_handler(self, type_name: str) -> "type[Handler] | None":
        """The handler class of a type of this catalog, in lower case; None if Precast has none."""

    def at_end(self, key: Hashable, action: Callable[[], None]) -> None:
        """Run an action once, after everything is applied and before the run is recorded; later actions with the same key are ignored."""

    def names(self, type_name: str) -> Mapping[str, str]:
        """The references of a type's resources in this catalog, by namevar. Purging and recursion do not touch these."""

    def pinned(self, source: str) -> str | None:
        """The digest of a `puppet:///…` source in this catalog; None if the catalog does not have it."""

    def pinned_below(self, source: str) -> Mapping[str, str]:
        """The digests of all files below a source that is a directory, by relative path."""

    def resources(self, type_name: str) -> Sequence["DesiredResource"]:
        """All resources of a type in this catalog whose values are known, for handlers that collect other resources."""

    def unbound(self, type_name: str) -> Sequence["DesiredResource"]:
        """All resources of a type in this catalog that have a value which is not known: each with the parameters that are known."""

    def past_secrets(self, ref: str) -> frozenset[str]:
        """The names that were secret when a run last applied this resource: what is on the machine may still have those values."""

    def has_promised(self, key: str, value: Any) -> bool:
        """Whether this is the value that this node has promised last under a key."""

    def promised(self, key: str, default: Any = None) -> Any:
        """The value that this node has promised last under a key; the default if it was a secret."""

    def promise(
        self, key: str, value: Any, *, scope: str = "environment", ttl_s: float | None = None, is_secret: bool = False
    ) -> None:
        """Publish a value for the nodes that wait for the future of this key. Raises PrecastError; then nothing was published."""

    def content(self, digest: str) -> BinaryIO:
        """Open the content with this sha256; the caller closes it. Raises NotFoundError RESOURCE-003 if it is not on this machine."""

    def backup(self, file: BinaryIO, path: str) -> str:
        """Back up a former content in the filebucket; returns its sha256."""


class Handler:
    """One resource on this node. The constructor checks the parameters and raises an InputError, which fails only this resource."""

    # False: it reports changes but does not change the node, so that earlier checks of other resources stay valid (notify, promise).
    touches_node: ClassVar[bool] = True
    # Whether it gives a value to other nodes (promise): `give` is called.
    gives_value: ClassVar[bool] = False
    # Whether it reacts to a refresh.
    can_refresh: ClassVar[bool] = False
    # Whether `resources { purge => true }` may remove resources of this type that the catalog does not name.
    can_be_purged: ClassVar[bool] = False
    # Whether a list of all resources of this type on the node tells what only root may know.
    has_secret_list: ClassVar[bool] = False
    # Locks that are held while a change is applied, e.g. ("apt",); other resources are applied in parallel.
    locks: ClassVar[tuple[str, ...]] = ()
    # Properties whose values are never shown, whatever the manifest says.
    always_secret: ClassVar[frozenset[str]] = frozenset()
    # Kinds of snapshots that a change makes stale; None: all of them (a command or a file may change anything).
    invalidates: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        self.resource = resource
        self.node = node
        self._logs: list[tuple[str, str]] = []

    @property
    def secret_properties(self) -> frozenset[str]:
        """The properties whose values are neither shown nor stored."""
        return self.resource.secrets | self.always_secret

    @functools.cached_property
    def hidden_properties(self) -> frozenset[str]:
        """The properties whose values and differences are not shown: also those that were secret in the catalog applied last."""
        return self.secret_properties | self.node.past_secrets(self.resource.ref)

    def redact(self, change: Change) -> Change:
        """The change as it is reported: a property that is secret shows no values, also if the handler did not think of that."""
        if change.is_sensitive or change.property not in self.hidden_properties:
            return change
        return Change(change.property, REDACTED, REDACTED, f"changed {REDACTED} to {REDACTED}", is_sensitive=True)

    @property
    def runs_user_commands(self) -> bool:
        """Whether reading runs a command that a user wrote (a guard): then it is read only in its place in the order, never early."""
        return False

    @property
    def check_needs_trust(self) -> str:
        """Why reading or comparing is unsafe if the catalog is not trusted; empty if it is safe.

        It is unsafe if the catalog gives a command to run, a server to ask, or a pattern by which it could learn a file's content.
        """
        return "its check runs a command of the catalog" if self.runs_user_commands else ""

    @property
    def is_slow_to_read(self) -> bool:
        """Whether reading waits, for example for a command, so that reading early on another thread saves time."""
        return False

    @property
    def applied_by(self) -> str:
        """The program that reads and changes the resource, if it is not Precast; the report names it."""
        return ""

    @property
    def reacts_to_refresh(self) -> bool:
        """Whether this resource reacts to a refresh; only asked if one is pending. Raises as `read` does."""
        return self.can_refresh

    @property
    def is_fresh(self) -> bool:
        """Whether the change just applied makes a refresh unnecessary: a service that was just started has read its files."""
        return False

    def read(self) -> State:
        """Read the current state without changing anything. Raises PrecastError or OSError, which fails this resource."""
        raise NotImplementedError

    def state_after(self) -> State:
        """The state after a change, to be stored: read again, unless the handler knows what it has written. Raises as `read` does."""
        return self.read()

    def compare(self, state: State) -> Sequence[Change]:
        """The changes that lead to the desired state, in the order to apply them; empty if the resource is in sync.

        If `ensure` differs it is the only change: applying it also sets the other properties.
        """
        raise NotImplementedError

    def apply(self, change: Change) -> str | None:
        """Apply a change; returns a message that replaces the change's message, or None. Raises PrecastError or OSError; it is atomic."""
        raise NotImplementedError

    def give(self) -> Change | None:
        """Give what this resource gives to other nodes; called in every enforcing run that reaches it, after its changes, if `gives_value`.

        Returns the change that this was, if it was one. Raises as `apply` does.
        """
        return None

    def refresh(self) -> None:
        """React to a change of a resource that this one subscribes to; only called if `can_refresh`. Raises as `apply` does."""

    def expand(self, state: State) -> Sequence["Handler"]:
        """Resources that this one generates (recursion, purging); they are created when it is applied, and applied right after it.

        They are part of its check: one that is not in sync counts as a change of this resource.
        """
        return ()

    def is_named(self, ref: str) -> bool:
        """Whether the catalog has the name of a resource that this one generates; otherwise it was found on the node."""
        return False

    def flush(self) -> None:
        """Called once after the changes of a resource were applied, for types that write everything at the end."""

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        """The existing resources of this type on the node. Raises InputError RESOURCE-004 for types that cannot be listed."""
        raise NotImplementedError

    def log(self, level: str, text: str) -> None:
        """Log for this resource (debug, info, notice, warning, err). The line appears with the resource in the report."""
        self._logs.append((level, text))

    def take_logs(self) -> list[tuple[str, str]]:
        """The log lines since the last call, for the engine."""
        logs, self._logs = self._logs, []
        return logs
