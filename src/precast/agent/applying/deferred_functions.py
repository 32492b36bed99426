"""Calls functions of the language for Deferred values. A module of its own, because most catalogs do not need the large language."""

from typing import Any

from precast.lang.compiler.compilation import Compilation
from precast.lang.compiler.serialization import parameter_data
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings
from precast.lang.values.catalog_data import value_of


class DeferredFunctions:
    """The functions of an environment, called with this node's facts."""

    def __init__(self, inputs: Inputs, settings: Settings) -> None:
        self._compilation = Compilation(inputs, settings)

    def call(self, name: str, arguments: list[Any]) -> Any:
        """Call a function; arguments and result are data as in a catalog. Raises what the function raises."""
        given = [value_of(argument) for argument in arguments]
        return parameter_data(self._compilation.call_function(self._compilation.top, name, given))
