"""Types that organise a catalog: they only affect other resources, and change nothing themselves."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources import issues, issues_engine, registry
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.properties import read_boolean


class OrganisingHandler(Handler):
    """schedule, filebucket and anchor: the engine and other types read their parameters."""

    touches_node: ClassVar[bool] = False

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()


class Resources(OrganisingHandler):
    """Purges resources that the catalog does not name. The engine lists them before the run; this handler reports if that is impossible."""

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._type = str(resource.get("name", resource.title)).lower()
        self._is_purging = read_boolean(resource, "purge")
        if self._is_purging and not self._kind.can_be_purged:
            raise issues_engine.NOT_PURGED.error(type=self._type)

    @property
    def _kind(self) -> type[Handler]:
        kind = self.node.find_handler(self._type)
        if kind is None:
            raise issues.NO_TYPE.error(type=self._type, types=", ".join(registry.names()))
        return kind

    @property
    def check_needs_trust(self) -> str:
        is_secret = self._is_purging and self._kind.has_secret_list
        return f"its check lists every {self._type} of the machine" if is_secret else ""

    def read(self) -> State:
        if self._is_purging:
            list(self._kind.instances(self.node))  # raises the error that prevented the listing
        return {}
