"""This machine as handlers reach it: one object for a run, safe for its threads."""

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, TypeVar

from precast.agent.applying.memory import Memory
from precast.base.clock import Clock
from precast.resources import issues
from precast.resources.contract import Completed, Wanted
from precast.resources.snapshots import Snapshots
from precast.types import catalogue

T = TypeVar("T")
Contents = Callable[[str], BinaryIO]


class Machine:
    """The node of one run. It is told once, before the run, what the catalog has."""

    def __init__(
        self,
        root: str,
        state_directory: str,
        clock: Clock,
        contents: Contents | None = None,
        is_chroot: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.root = root.rstrip("/")
        self.is_chroot = is_chroot
        self.state_directory = state_directory
        self.clock = clock
        self.snapshots = Snapshots()
        self._contents = contents
        self._memory = memory or Memory()
        self._content: Mapping[str, str] = {}
        self._resources: dict[str, list[Wanted]] = {}
        self._late: dict[str, list[Wanted]] = {}
        self._at_end: dict[Hashable, Callable[[], None]] = {}

    def tell(self, resources: Iterable[Wanted], content: Mapping[str, str], late: Iterable[Wanted] = ()) -> None:
        """Say what the catalog has: resources, digests of sources, and resources of which not every value is known yet."""
        self._content = content
        for wanted in resources:
            self.bound(wanted)
        for wanted in late:
            self._late.setdefault(wanted.type, []).append(wanted)

    def bound(self, wanted: Wanted) -> None:
        """All values of this resource are known now."""
        self._resources.setdefault(wanted.type, []).append(wanted)

    def path(self, path: str) -> str:
        return self.root + path if self.root else path

    def run(self, argv: Sequence[str], **options: Any) -> Completed:
        from precast.resources import commands  # a run that only looks at files starts no program

        return commands.run(argv, root=self.root, is_chroot=self.is_chroot, **options)

    def snapshot(self, kind: str, take: Callable[[], T], still: Callable[[T], bool] | None = None) -> T:
        return self.snapshots.get(kind, take, still)

    def at_end(self, key: Hashable, action: Callable[[], None]) -> None:
        self._at_end.setdefault(key, action)

    def finish(self) -> None:
        """Do what was left for the end."""
        while self._at_end:
            self._at_end.popitem()[1]()

    def resources(self, type_name: str) -> Sequence[Wanted]:
        return self._resources.get(type_name, ())

    @functools.cache  # noqa: B019 - lives as long as the run
    def names(self, type_name: str) -> Mapping[str, str]:
        declared = catalogue.find_any(type_name)
        found: dict[str, str] = {}
        for wanted in (*self.resources(type_name), *self._late.get(type_name, ())):
            name = wanted.get(declared.namevar) if declared else None
            if not isinstance(name, str):
                name = declared.title_to_namevar(wanted.title) if declared else wanted.title
            found[name] = wanted.ref
        return found

    def pinned(self, source: str) -> str | None:
        return self._content.get(source)

    def pinned_below(self, source: str) -> Mapping[str, str]:
        start = source.rstrip("/") + "/"
        return {key.removeprefix(start): value for key, value in self._content.items() if key.startswith(start)}

    def content(self, digest: str) -> BinaryIO:
        if self._contents is None:
            raise issues.NO_CONTENT.error(digest=digest)
        return self._contents(digest)

    def promised(self, key: str, default: Any = None) -> Any:
        return self._memory.promises.get(key, default)

    def promise(self, key: str, value: Any) -> None:
        self._memory.promise(key, value)

    def backup(self, file: BinaryIO, path: str) -> str:
        from precast.resources.bucket import Bucket

        return Bucket(f"{self.state_directory}/bucket").keep(file, path)
