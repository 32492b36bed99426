"""package: a package of the machine's package manager, or of the manager that the resource names."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from precast.resources import issues, issues_system, properties
from precast.resources.contract import Change, DesiredResource, Handler, Instance, ManagedNode, State
from precast.resources.package import managers
from precast.resources.package.manager import ABSENT, PURGED, InstallRequest, Manager
from precast.resources.package.ranges import is_range, is_within

_ABSENT_STATES = (ABSENT, PURGED)
_PRESENT_STATES = ("present", "installed", "held")
_HOLD, _NONE = "hold", "none"


class Package(Handler):
    can_refresh: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = ("package",)
    # A package may add users, services and files: all snapshots are stale afterwards.
    invalidates: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="package", root=node.root)
        self.name = str(resource.get("name", resource.title))
        self.ensure = str(resource.get("ensure", "present"))
        self.manager: Manager = managers.choose(resource, node)
        self._mark = properties.one_of(resource, "mark", (_HOLD, _NONE)) or (_HOLD if self.ensure == "held" else None)
        self._check()

    def _check(self) -> None:
        resource = self.resource
        properties.refuse_option(resource, self.name)
        if self._mark is not None and self.ensure in _ABSENT_STATES:
            raise properties.invalid_value(resource, "mark", self._mark, "the package is not to be there")
        if self._mark is not None and not self.manager.can_hold:
            raise properties.invalid_value(resource, "mark", self._mark, f"{self.manager.name} cannot hold packages")
        if self.ensure == PURGED and not self.manager.can_purge:
            raise properties.invalid_value(resource, "ensure", PURGED, f"{self.manager.name} cannot purge")
        if self.ensure == "disabled":
            raise properties.invalid_value(resource, "ensure", "disabled", f"{self.manager.name} has no modules")
        source = resource.get("source")
        if source is None and self.manager.needs_source and self.ensure not in _ABSENT_STATES:
            raise issues.MISSING_VALUE.error(name="source", reason=f"{self.manager.name} needs a file", type="package")
        for name in ("flavor", "package_settings", "adminfile", "enable_only"):
            if name in resource.parameters:
                self.log("info", f"{self.manager.name} has no {name}; not managed")

    @property
    def check_needs_trust(self) -> str:
        if "command" in self.resource.parameters:
            return "its check runs a program that the catalog names"
        is_asked = self.ensure == "latest" and "source" in self.resource.parameters
        return "its check opens the source that the catalog names" if is_asked else ""

    @property
    def is_slow_to_read(self) -> bool:
        return self.ensure == "latest"

    def read(self) -> State:
        package = self.manager.find(self.name)
        if package is None:
            return {"ensure": self.manager.missing}
        state: dict[str, Any] = {"ensure": package.version}
        if self.manager.can_hold:
            state["mark"] = _HOLD if package.is_held else _NONE
        return state

    def compare(self, state: State) -> Sequence[Change]:
        present = str(state["ensure"])
        change = self._ensure_change(present)
        if change is not None:
            return (change,)
        if self._mark is not None and state.get("mark", _NONE) != self._mark and present not in _ABSENT_STATES:
            return (properties.make_change("mark", state.get("mark", _NONE), self._mark),)
        return ()

    def _ensure_change(self, present: str) -> Change | None:
        if self.ensure in _ABSENT_STATES:
            is_done = present == PURGED or (
                present == ABSENT and (self.ensure == ABSENT or not self._leaves_configuration)
            )
            return None if is_done else Change("ensure", present, self.ensure, _REMOVAL_MESSAGES[self.ensure])
        if present in _ABSENT_STATES:
            return Change("ensure", present, "present" if self.ensure in _PRESENT_STATES else self.ensure, "created")
        if self.ensure in _PRESENT_STATES:
            return None
        version = self._version(present)
        if self.manager.is_version(present, version):
            return None
        return Change("ensure", present, version, f"ensure changed '{present}' to '{version}'")

    @property
    def _leaves_configuration(self) -> bool:
        return self.manager.missing == PURGED

    def _version(self, present: str) -> str:
        """The desired version. Raises NotFoundError RESOURCE-154 if no repository offers it."""
        if self.ensure == "latest":
            newest = self._newest_of_source() or self.manager.newest(self.name)
            return newest or present  # no repository offers it any more: the installed version is the newest
        if not is_range(self.ensure):
            return self.ensure
        order = self.manager.order()
        if present not in _ABSENT_STATES and is_within(present, self.ensure, order):
            return present
        versions = self.manager.versions(self.name)
        offered = [version for version in versions if is_within(version, self.ensure, order)]
        if not offered:
            raise issues_system.NOT_OFFERED.error(provider=self.manager.name, name=f"{self.name} {self.ensure}")
        best = offered[0]
        for version in offered[1:]:
            best = version if order(version, best) > 0 else best
        return best

    def _newest_of_source(self) -> str | None:
        source = self.resource.get("source")
        return None if source is None else self.manager.version_of(str(source))

    def apply(self, change: Change) -> None:
        if change.property == "mark":
            self.manager.hold(self.name, change.desired == _HOLD)
        elif change.desired == PURGED:
            self.manager.purge(self.name, self._options("uninstall_options"))
        elif change.desired == ABSENT:
            self.manager.remove(self.name, self._options("uninstall_options"))
        else:
            self._install(None if change.desired in ("present", "latest") else str(change.desired))

    def _install(self, version: str | None) -> None:
        present = self.manager.find(self.name)
        if version is not None and is_range(version):
            version = self._version(ABSENT)
        if present is not None and present.is_held:
            self.manager.hold(self.name, is_held=False)
        if (answers := self.resource.get("responsefile")) is not None:
            self.manager.prepare(str(answers))
        source = self.resource.get("source")
        self.manager.install(
            InstallRequest(
                self.name,
                None if source is not None or self.ensure == "latest" else version,
                None if source is None else str(source),
                self._options("install_options"),
                self.resource.get("configfiles") == "replace",
            )
        )
        if self._mark == _HOLD:
            self.manager.hold(self.name, is_held=True)

    def _options(self, name: str) -> list[str]:
        """Options as texts, or as hashes whose pairs are joined by an equals sign."""
        given = self.resource.get(name, [])
        options: list[str] = []
        for item in given if isinstance(given, list) else [given]:
            options += [f"{key}={value}" for key, value in item.items()] if isinstance(item, dict) else [str(item)]
        return options

    def refresh(self) -> None:
        """Install the package again, if reinstall_on_refresh is set."""
        if properties.read_boolean(self.resource, "reinstall_on_refresh") and self.ensure not in _ABSENT_STATES:
            self.manager.reinstall(self.name)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="package", root=node.root)
        manager = managers.default(node)
        for name, package in manager.installed().items():
            if ":" not in name:
                mark = {"mark": _HOLD if package.is_held else _NONE} if manager.can_hold else {}
                yield Instance(name, {"ensure": package.version, **mark, "provider": manager.name})


_REMOVAL_MESSAGES = {ABSENT: "removed", PURGED: "purged"}
