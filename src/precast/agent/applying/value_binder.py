"""Binds values that are known only on the node, just before the resource that needs them is applied.

A Deferred is a function call, which is made now. A future is the value of the promise of its key; if there is none yet, the resource waits,
which is not a failure, and if there will be none, it fails. A reference to a secret is still there only if its value may not be used, or is
not on this node: then the resource fails.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from precast.agent.applying import catalog_values as values
from precast.agent.applying import issues
from precast.agent.applying.machine import Machine
from precast.agent.applying.plan import PlannedResource, make_resource
from precast.agent.futures import issues as future_issues
from precast.agent.futures.key_states import KeyState
from precast.agent.futures.resolution import Failed, Known, Unavailable
from precast.agent.futures.run_values import RunValues, find_fault
from precast.base.errors import PrecastError
from precast.catalog import sensitive, unknown
from precast.catalog.futures import Need, find_needs, read_need
from precast.catalog.secret_references import REFERENCE

# Calls a function of the language by name; arguments and result are data as in a catalog.
CallFunction = Callable[[str, list[Any]], Any]
NOT_HERE = "its value is not on this node"
_EVALUATED = frozenset(("Deferred", *unknown.FUTURES, REFERENCE, unknown.TEXT, unknown.HOLE))


class ValueUnavailable(Exception):
    """A value is not known yet."""


class ValueBinder:
    """Binds the values of one run."""

    def __init__(self, given: RunValues, call: CallFunction | None = None, no_secret: str = NOT_HERE) -> None:
        """`no_secret` is why a secret has no value in this run."""
        self._given = given
        self._call = call
        self._no_secret = no_secret

    def bind(self, planned: PlannedResource, machine: Machine) -> str | None:
        """Bind all values of a resource and make its handler. Returns what the resource waits for, if a value is not known yet.

        An error is stored as the problem of the resource.
        """
        try:
            known = self._resolve(planned)
            binding = _Binding(known, self._call, self._no_secret)
            parameters = {name: binding.bind(value) for name, value in planned.data.parameters.items()}
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
        if known:
            self._given.bind(planned.ref, known)
            planned.messages += [("notice", text) for text in describe_absent(known)]
        return None

    def _resolve(self, planned: PlannedResource) -> dict[Need, Known]:
        """The values of all needs of a resource. Raises ValueUnavailable, UnavailableError APPLY-009."""
        needs = list(dict.fromkeys(find_needs(planned.data.parameters)))
        if not needs:
            return {}
        known: dict[Need, Known] = {}
        for need, found in zip(needs, self._given.resolve(needs), strict=True):
            if isinstance(found, Failed):
                raise future_issues.NO_VALUE.error(reason=found.reason)
            if not isinstance(found, Known):
                reason = found.reason if isinstance(found, Unavailable) else f"it needs the future {need.key}"
                raise ValueUnavailable(reason)
            known[need] = found
        return known


def describe_absent(known: Mapping[Need, Known]) -> list[str]:
    """One line for each node whose value is missing among those of a key."""
    return [
        f"{need.key} has no value of {state.node}: {state.reason or 'its promise was not fulfilled'}"
        for need, found in known.items()
        for state in found.absent
    ]


class _Binding:
    """Binds the parameters of one resource, whose needs all have values."""

    def __init__(self, known: Mapping[Need, Known], call: CallFunction | None, no_secret: str) -> None:
        self._known = known
        self._call = call
        self._no_secret = no_secret

    def bind(self, data: Any) -> Any:
        """A value of a parameter. What was made of a secret is a Sensitive, whether or not the function that made it says so."""
        if isinstance(data, list):
            return [self.bind(item) for item in data]
        if not isinstance(data, dict):
            return data
        if data.get("__ptype") not in _EVALUATED:
            return {key: self.bind(item) for key, item in data.items()}
        value, is_secret = self._evaluate(data)
        is_open = is_secret and not sensitive.is_sensitive(value)
        return {"__ptype": sensitive.TYPE, "__pvalue": value} if is_open else value

    def _evaluate(self, data: Any) -> tuple[Any, bool]:
        """A value as a function gets it, which has unwrapped its secrets or not, and whether it was made of a secret."""
        if isinstance(data, list):
            items = [self._evaluate(item) for item in data]
            return [value for value, _ in items], any(is_secret for _, is_secret in items)
        if not isinstance(data, dict):
            return data, False
        kind = data.get("__ptype")
        if kind == "Deferred":
            return self._call_deferred(data["name"], data.get("arguments") or [])
        if kind in unknown.FUTURES:
            return _give(read_need(data), self._known[read_need(data)])
        if kind == REFERENCE:
            raise issues.NO_SECRET.error(ref=str(data.get("__pvalue"))[:12], reason=self._no_secret)
        if kind == unknown.TEXT:
            parts, is_secret = self._evaluate(data["__pvalue"])
            return "".join(_text(values.plain(part)) for part in parts), is_secret
        if kind == unknown.HOLE:
            raise ValueUnavailable(f"it needs the fact {'.'.join(map(str, data['__pvalue']))}")
        entries = {key: self._evaluate(item) for key, item in data.items()}
        is_secret = kind == sensitive.TYPE or any(is_secret for _, is_secret in entries.values())
        return {key: value for key, (value, _) in entries.items()}, is_secret

    def _call_deferred(self, name: str, arguments: list[Any]) -> tuple[Any, bool]:
        given, is_secret = self._evaluate(arguments)
        if self._call is None:
            raise ValueUnavailable(f"it needs the function {name}, which this run does not call")
        result, has_secret = self._evaluate(self._call(name, given))
        return result, is_secret or has_secret


def _give(need: Need, known: Known) -> tuple[Any, bool]:
    """The value of a need, and whether it contains a secret."""
    is_secret = any(state.is_sensitive for state in known.states)
    if not need.many:
        return _read(known.states[0]), is_secret
    return {state.node: _read(state) for state in known.states}, is_secret


def _read(state: KeyState) -> Any:
    """A value that another node has given. Raises UnavailableError APPLY-009 if it is not one that a node may give."""
    try:
        value = msgspec.json.decode(state.value)
    except (msgspec.DecodeError, RecursionError):
        raise future_issues.NO_VALUE.error(reason=f"the value of {state.key} of {state.node} is not JSON") from None
    if reason := find_fault(value):
        raise future_issues.NO_VALUE.error(reason=f"the value of {state.key} of {state.node} cannot be used: {reason}")
    return value


def _text(value: Any) -> str:
    """The text of a value in an interpolated string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)} => {_text(item)}' for key, item in value.items())}}}"
    return "" if value is None else str(value)
