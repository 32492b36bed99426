"""Calls functions of the language for Deferred values. Apart, because the language is large and most catalogs need none of it."""

import base64
from typing import Any

from precast.lang.compiler.run import Run
from precast.lang.compiler.serial import parameter_data
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings
from precast.lang.values.core import DEFAULT, Binary, Hash, Regexp, Sensitive


class Functions:
    """The functions of an environment, with this node's facts."""

    def __init__(self, inputs: Inputs, settings: Settings) -> None:
        self._run = Run(inputs, settings)

    def call(self, name: str, arguments: list[Any]) -> Any:
        """What a function gives for arguments, both as catalogs hold data. Raises what the function raises."""
        given = [_value(argument) for argument in arguments]
        return parameter_data(self._run.call_function(self._run.top, name, given))


def _value(data: Any) -> Any:
    """A value of the language from a catalog's data."""
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
