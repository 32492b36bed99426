"""Types that organise a catalog: they are applied by what they mean to others, and have nothing to do in their own turn."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources import issues, issues_engine, registry
from precast.resources.contract import Change, Handler, Node, State, Wanted
from precast.resources.properties import truth


class Organising(Handler):
    """schedule, filebucket: read by the engine and by other types."""

    touches_node: ClassVar[bool] = False

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()


class Resources(Organising):
    """What happens to things of a type that no catalog names. They were listed before the run; here it is said if that cannot be done."""

    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        self._type = str(wanted.get("name", wanted.title)).lower()
        self._is_purging = truth(wanted, "purge")
        if self._is_purging and not self._kind.can_be_purged:
            raise issues_engine.NOT_PURGED.error(type=self._type)

    @property
    def _kind(self) -> type[Handler]:
        kind = registry.find(self._type)
        if kind is None:
            raise issues.NO_TYPE.error(type=self._type, types=", ".join(registry.names()))
        return kind

    def read(self) -> State:
        if self._is_purging:
            list(self._kind.instances(self.node))  # raises what kept them from being listed
        return {}
