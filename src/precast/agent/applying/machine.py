"""The machine that handlers work on: one object for each run, safe for its threads."""

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.futures.run_values import Fulfilment, RunValues
from precast.base.clock import Clock
from precast.catalog.futures import STANDING
from precast.resources import issues, registry
from precast.resources.contract import CommandResult, DesiredResource, Handler
from precast.resources.snapshots import Snapshots
from precast.types import catalogue
from precast.types.declaration import ConfigFileType

if TYPE_CHECKING:
    from precast.resources.bridge.bridge import Bridge

T = TypeVar("T")
Contents = Callable[[str], BinaryIO]


class Machine:
    """The machine of one run. The catalog's resources are declared to it once, before the run."""

    def __init__(
        self,
        root: str,
        state_directory: str,
        clock: Clock,
        contents: Contents | None = None,
        is_chroot: bool = False,
        memory: ResourceMemory | None = None,
        values: RunValues | None = None,
        *,
        is_noop: bool = False,
        trusts_code: bool = True,
        bridged_types: frozenset[str] = frozenset(),
    ) -> None:
        """`trusts_code` says whether Ruby code of modules may run; in no-op it only reads. `bridged_types` are applied by such code
        although Precast implements them, for comparisons.
        """
        self.root = root.rstrip("/")
        self.is_chroot = is_chroot
        self.state_directory = state_directory
        self.clock = clock
        self.snapshots = Snapshots()
        self._contents = contents
        self._memory = memory or ResourceMemory()
        self._values = values or RunValues()
        self._content: Mapping[str, str] = {}
        self._config_files: Mapping[str, ConfigFileType] = {}
        self._resources: dict[str, list[DesiredResource]] = {}
        self._unbound: dict[str, list[DesiredResource]] = {}
        self._bridge: Bridge | None = None
        self._is_noop = is_noop
        self.trusts_code = trusts_code
        self.bridged_types = bridged_types
        self._at_end: dict[Hashable, Callable[[], None]] = {}

    def declare_types(self, config_files: Mapping[str, ConfigFileType]) -> None:
        """Declare what the catalog says of its types."""
        self._config_files = config_files

    def find_handler(self, type_name: str) -> type[Handler] | None:
        """The handler class of a type of the catalog; None if Precast has none."""
        known = self._config_files.get(type_name)
        if known is None:
            return registry.find(type_name)
        from precast.resources.config_files.handler import handler_of

        return handler_of(type_name, known)

    def declare(
        self, resources: Iterable[DesiredResource], content: Mapping[str, str], unbound: Iterable[DesiredResource] = ()
    ) -> None:
        """Declare what the catalog has: resources, digests of sources, and resources with values that are not known yet."""
        self._content = content
        for resource in resources:
            self.add_resource(resource)
        for resource in unbound:
            self._unbound.setdefault(resource.type, []).append(resource)

    def add_resource(self, resource: DesiredResource) -> None:
        """Add a resource whose values are all known now."""
        self._resources.setdefault(resource.type, []).append(resource)

    def path(self, path: str) -> str:
        return self.root + path if self.root else path

    @property
    def bridge(self) -> "Bridge":
        """The bridge to Ruby types and providers; it starts nothing before it is asked."""
        if self._bridge is None:
            from precast.resources.bridge.bridge import Bridge  # most runs do not need it

            self._bridge = Bridge(f"{self.state_directory}/bridge", is_noop=self._is_noop, trusts_code=self.trusts_code)
            self._bridge.set_content(self._content, self.content)
        return self._bridge

    @property
    def has_bridge(self) -> bool:
        """Whether a resource of this run needs the bridge."""
        return self._bridge is not None

    def close(self) -> None:
        """End the bridge, if there is one."""
        if self._bridge is not None:
            self._bridge.close()

    def run(self, argv: Sequence[str], **options: Any) -> CommandResult:
        from precast.resources import commands  # a run with nothing but files starts no program

        return commands.run(argv, root=self.root, is_chroot=self.is_chroot, **options)

    def snapshot(self, kind: str, take: Callable[[], T], still: Callable[[T], bool] | None = None) -> T:
        return self.snapshots.get(kind, take, still)

    def at_end(self, key: Hashable, action: Callable[[], None]) -> None:
        self._at_end.setdefault(key, action)

    def finish(self) -> None:
        """Run the actions that handlers have registered for the end of the run."""
        while self._at_end:
            self._at_end.popitem()[1]()

    def resources(self, type_name: str) -> Sequence[DesiredResource]:
        return self._resources.get(type_name, ())

    @functools.cache  # noqa: B019 - lives as long as the run
    def names(self, type_name: str) -> Mapping[str, str]:
        declared = catalogue.find_any(type_name)
        refs: dict[str, str] = {}
        for resource in (*self.resources(type_name), *self._unbound.get(type_name, ())):
            name = resource.get(declared.namevar if declared else "name")
            if not isinstance(name, str):
                name = declared.title_to_namevar(resource.title) if declared else resource.title
            refs[name] = resource.ref
        return refs

    def pinned(self, source: str) -> str | None:
        return self._content.get(source)

    def pinned_below(self, source: str) -> Mapping[str, str]:
        start = source.rstrip("/") + "/"
        return {key.removeprefix(start): value for key, value in self._content.items() if key.startswith(start)}

    def content(self, digest: str) -> BinaryIO:
        if self._contents is None:
            raise issues.NO_CONTENT.error(digest=digest)
        return self._contents(digest)

    def unbound(self, type_name: str) -> Sequence[DesiredResource]:
        known = {resource.title for resource in self.resources(type_name)}
        return [resource for resource in self._unbound.get(type_name, ()) if resource.title not in known]

    def past_secrets(self, ref: str) -> frozenset[str]:
        return self._memory.past_secrets(ref)

    def has_promised(self, key: str, value: Any) -> bool:
        return self._values.has_promised(key, value)

    def promised(self, key: str, default: Any = None) -> Any:
        return self._values.last_promised(key, default)

    def promise(
        self, key: str, value: Any, *, scope: str = STANDING, ttl_s: float | None = None, is_secret: bool = False
    ) -> None:
        self._values.fulfil(Fulfilment(key, value, scope, ttl_s, is_secret))

    def backup(self, file: BinaryIO, path: str) -> str:
        from precast.resources.filebucket import Filebucket

        return Filebucket(f"{self.state_directory}/bucket").store(file, path)
