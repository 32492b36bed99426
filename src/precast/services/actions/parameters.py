"""Typed parameters of a command, or of a task of a module. In a command a value replaces `{name}` within an argument, so it never makes two
arguments of one, nor reaches a shell. Without parameters the arguments stay as they are, braces included. A task gets the values as JSON.
"""

import re
from collections.abc import Mapping, Sequence

from precast.services.actions import issues
from precast.wire.actions.bodies import Parameter

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_PLACE = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_BOOLEANS = {"true": "true", "yes": "true", "1": "true", "false": "false", "no": "false", "0": "false"}


def fill_in(argv: Sequence[str], parameters: Mapping[str, Parameter]) -> list[str]:
    """The arguments with the values of the parameters. Raises InputError ACTION-006."""
    if not parameters:
        return list(argv)
    values = {name: _read_value(name, parameter) for name, parameter in parameters.items()}
    used = {name for argument in argv for name in _PLACE.findall(argument)}
    for name in sorted(used - values.keys()):
        raise issues.BAD_PARAMETER.error(name=name, reason="it has no value")
    for name in sorted(values.keys() - used):
        raise issues.BAD_PARAMETER.error(name=name, reason="no argument of the command uses it")
    return [_PLACE.sub(lambda place: values[place[1]], argument) for argument in argv]


def read_values(parameters: Mapping[str, Parameter]) -> dict[str, str | int | bool]:
    """The values of typed parameters, for a task that gets them as JSON. Raises InputError ACTION-006."""
    return {name: _to_json(parameter, _read_value(name, parameter)) for name, parameter in parameters.items()}


def _to_json(parameter: Parameter, text: str) -> str | int | bool:
    if parameter.type == "integer":
        return int(text)
    return text == "true" if parameter.type == "boolean" else text


def _read_value(name: str, parameter: Parameter) -> str:
    if not _NAME.fullmatch(name):
        reason = "a name consists of lower-case letters, digits and underscores, and begins with a letter"
        raise issues.BAD_PARAMETER.error(name=repr(name[:40]), reason=reason)
    text = parameter.value
    if parameter.type == "integer":
        if not _INTEGER.fullmatch(text):
            raise issues.BAD_PARAMETER.error(name=name, reason=f"{text[:40]!r} is not an integer")
        return str(int(text))
    if parameter.type == "boolean":
        if text.lower() not in _BOOLEANS:
            raise issues.BAD_PARAMETER.error(name=name, reason=f"{text[:40]!r} is neither true nor false")
        return _BOOLEANS[text.lower()]
    if parameter.type == "choice" and text not in parameter.choices:
        reason = f"{text[:40]!r} is none of {', '.join(parameter.choices)}"
        raise issues.BAD_PARAMETER.error(name=name, reason=reason)
    return text
