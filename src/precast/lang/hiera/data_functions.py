"""Functions that give data, named in hiera.yaml: those of Puppet, and those that modules write in Puppet's language."""

from typing import TYPE_CHECKING, Any

from precast.lang.hiera import issues
from precast.lang.hiera.config import Level
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import Key
from precast.lang.hiera.locations import Location

if TYPE_CHECKING:
    from precast.lang.hiera.layers import Layer


class DataFunctions:
    """Calls the functions of one layer's levels."""

    def __init__(self, layer: "Layer") -> None:
        self._layer = layer

    def value(self, level: Level, options: Any, place: Location | None, key: Key, invocation: Invocation) -> Any:
        """What the function gives for a key; MISSING if it has none."""
        raise issues.UNSUPPORTED_FUNCTION.error(path=self._layer.config.path, name=level.function)
