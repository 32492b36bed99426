"""Binds values that are known only on the node, just before the resource that needs them is applied.

A Deferred is a function call, which is made now. A future is the value of the promise of its key; if there is no such promise yet, the
resource waits, which is not a failure. A reference to a secret whose value is not here fails its resource: it is never used as a value.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from precast.agent.applying import catalog_values as values
from precast.agent.applying import issues
from precast.agent.applying.machine import Machine
from precast.agent.applying.plan import PlannedResource, make_resource
from precast.agent.applying.resource_memory import ResourceMemory
from precast.base.errors import PrecastError
from precast.catalog import sensitive, unknown
from precast.catalog.secret_references import REFERENCE

# Calls a function of the language by name; arguments and result are data as in a catalog.
CallFunction = Callable[[str, list[Any]], Any]


class ValueUnavailable(Exception):
    """A value is not known yet."""


class ValueBinder:
    """Binds the values of one run."""

    def __init__(self, memory: ResourceMemory, call: CallFunction | None = None) -> None:
        self._memory = memory
        self._call = call

    def bind(self, planned: PlannedResource, machine: Machine) -> str | None:
        """Bind all values of a resource and make its handler. Returns what the resource waits for, if a value is not known yet.

        An error is stored as the problem of the resource.
        """
        try:
            parameters = {name: self._bind(value) for name, value in planned.data.parameters.items()}
        except ValueUnavailable as unavailable:
            return str(unavailable)
        except PrecastError as error:
            planned.problem = error
            return None
        file, line = planned.resource.file, planned.resource.line
        planned.bound = msgspec.structs.replace(planned.data, parameters=parameters)
        planned.resource = make_resource(planned.data, parameters, (file, line) if file and line else None)
        planned.has_unknown_values = False
        machine.add_resource(planned.resource)
        planned.make_handler(machine)
        return None

    def _bind(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self._bind(item) for item in data]
        if not isinstance(data, dict):
            return data
        kind = data.get("__ptype")
        if kind == "Deferred":
            return self._call_deferred(data["name"], self._bind(data.get("arguments") or []))
        if kind in unknown.FUTURES:
            return self._read_promise(kind, data["__pvalue"])
        if kind == REFERENCE:
            raise issues.SECRET_MISSING.error(ref=data["__pvalue"])
        if kind == unknown.TEXT:
            return self._join(data["__pvalue"])
        if kind == unknown.HOLE:
            raise ValueUnavailable(f"it needs the fact {'.'.join(map(str, data['__pvalue']))}")
        return {key: self._bind(item) for key, item in data.items()}

    def _call_deferred(self, name: str, arguments: list[Any]) -> Any:
        if self._call is None:
            raise ValueUnavailable(f"it needs the function {name}, which this run does not call")
        result = self._bind(self._call(name, arguments))
        # What a function makes of a secret is secret, whether or not the function says so.
        is_plain = sensitive.is_sensitive(arguments) and not sensitive.is_sensitive(result)
        return {"__ptype": sensitive.TYPE, "__pvalue": result} if is_plain else result

    def _read_promise(self, kind: str, key: str) -> Any:
        promises = self._memory.promises
        if kind == "Precast::Futures":
            return [promises[key]] if key in promises else []
        if key not in promises:
            raise ValueUnavailable(f"it needs the future {key}")
        return promises[key]

    def _join(self, parts: list[Any]) -> Any:
        bound = [self._bind(part) for part in parts]
        text = "".join(_text(values.plain(part)) for part in bound)
        return {"__ptype": sensitive.TYPE, "__pvalue": text} if sensitive.is_sensitive(bound) else text


def _text(value: Any) -> str:
    """The text of a value in an interpolated string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return "" if value is None else str(value)
