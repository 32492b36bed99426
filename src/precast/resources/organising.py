"""Types that organise a catalog: they are applied by what they mean to others, and have nothing to do in their own turn."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources.contract import Change, Handler, State


class Organising(Handler):
    """schedule, resources, filebucket: read by the engine and by other types."""

    touches_node: ClassVar[bool] = False

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()
