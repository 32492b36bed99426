"""Calls functions of the language for Deferred values. A module of its own, because most catalogs do not need the large language."""

import base64
from typing import Any

from precast.lang.compiler.compilation import Compilation
from precast.lang.compiler.serialization import parameter_data
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings
from precast.lang.values.base import DEFAULT, Binary, Hash, Regexp, Sensitive


class DeferredFunctions:
    """The functions of an environment, called with this node's facts."""

    def __init__(self, inputs: Inputs, settings: Settings) -> None:
        self._compilation = Compilation(inputs, settings)

    def call(self, name: str, arguments: list[Any]) -> Any:
        """Call a function; arguments and result are data as in a catalog. Raises what the function raises."""
        given = [_value(argument) for argument in arguments]
        return parameter_data(self._compilation.call_function(self._compilation.top, name, given))


def _value(data: Any) -> Any:
    """Convert a catalog's data to a value of the language."""
    if isinstance(data, list):
        return tuple(map(_value, data))
    if not isinstance(data, dict):
        return data
    kind, value = data.get("__ptype"), data.get("__pvalue")
    if kind is None:
        return Hash.of((key, _value(item)) for key, item in data.items())
    if kind == "Sensitive":
        return Sensitive(_value(value))
    if kind == "Binary":
        return Binary(base64.b64decode(str(value)))
    if kind == "Regexp":
        return Regexp(str(value))
    if kind == "Default":
        return DEFAULT
    if kind == "Hash" and isinstance(value, list):
        return Hash.of(zip(map(_value, value[::2]), map(_value, value[1::2]), strict=True))
    return _value(value)
