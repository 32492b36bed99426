"""datacat_collector and datacat_fragment: they change nothing themselves. The plan fills in the collector's target before the run."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources import issues
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State


class DatacatCollector(Handler):
    touches_node: ClassVar[bool] = False

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        for name in ("target_resource", "target_field"):
            if resource.get(name) is None:
                reason = "the collected data goes there"
                raise issues.MISSING_VALUE.error(name=name, reason=reason, type="datacat_collector")

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()


class DatacatFragment(Handler):
    touches_node: ClassVar[bool] = False

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()
