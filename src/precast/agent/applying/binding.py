"""Binds values that are known only on the node, just before the one resource that needs them.

A Deferred is a call of a function, made now. A future is what a promise of its key holds; if there is none yet the resource waits,
which is not a failure.
"""

from collections.abc import Callable
from typing import Any

from precast.agent.applying import values
from precast.agent.applying.machine import Machine
from precast.agent.applying.memory import Memory
from precast.agent.applying.planning import Planned, wanted_of
from precast.base.errors import PrecastError
from precast.catalog import unknown

# Calls a function of the language by name; arguments and result are data as catalogs hold them.
CallFunction = Callable[[str, list[Any]], Any]


class Waits(Exception):
    """A value is not there yet."""


class Binder:
    """Knows where the values of one run come from."""

    def __init__(self, memory: Memory, call: CallFunction | None = None) -> None:
        self._memory = memory
        self._call = call

    def bind(self, planned: Planned, machine: Machine) -> str | None:
        """Bind all values of a resource and make its handler; what it waits for, or None. What cannot be bound at all is its problem."""
        try:
            parameters = {name: self._bound(value) for name, value in planned.data.parameters.items()}
        except Waits as waits:
            return str(waits)
        except PrecastError as error:
            planned.problem = error
            return None
        place = (planned.wanted.file, planned.wanted.line)
        planned.wanted = wanted_of(planned.data, parameters, (place[0], place[1]) if place[0] and place[1] else None)
        planned.is_late = False
        machine.bound(planned.wanted)
        planned.make(machine)
        return None

    def _bound(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self._bound(item) for item in data]
        if not isinstance(data, dict):
            return data
        kind = data.get("__ptype")
        if kind == "Deferred":
            return self._called(data["name"], self._bound(data.get("arguments") or []))
        if kind in unknown.FUTURES:
            return self._promised(kind, data["__pvalue"])
        if kind == unknown.TEXT:
            return self._joined(data["__pvalue"])
        if kind == unknown.HOLE:
            raise Waits(f"it needs the fact {'.'.join(map(str, data['__pvalue']))}")
        return {key: self._bound(item) for key, item in data.items()}

    def _called(self, name: str, arguments: list[Any]) -> Any:
        if self._call is None:
            raise Waits(f"it needs the function {name}, and this run has none")
        return self._bound(self._call(name, arguments))

    def _promised(self, kind: str, key: str) -> Any:
        promised = self._memory.promises
        if kind == "Precast::Futures":
            return [promised[key]] if key in promised else []
        if key not in promised:
            raise Waits(f"it needs the future {key}")
        return promised[key]

    def _joined(self, parts: list[Any]) -> Any:
        bound = [self._bound(part) for part in parts]
        text = "".join(_text(values.plain(part)) for part in bound)
        return {"__ptype": "Sensitive", "__pvalue": text} if values.is_secret(bound) else text


def _text(value: Any) -> str:
    """A value as interpolation writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return "" if value is None else str(value)
