"""Functions that read facts by their paths, addresses of interfaces, variables by name and resource defaults."""

import re
from typing import Any, Final

from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.inputs import ABSENT
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import strict_integer
from precast.lang.values.base import Hash

_STEP: Final = re.compile(r'([^."]+)|"([^"]+)"')


@declare(
    "fact", "String name", "Returns a fact, or the value below it at a dotted path: 'os.release.major'.", pure=False
)
def _fact(call: Call, name: str) -> Any:
    steps = [plain or quoted for plain, quoted in _STEP.findall(name)]
    path: list[str | int] = []
    for at, step in enumerate(steps):
        around = None if at == 0 else _whole_fact(call, tuple(path)) if _is_missing(call, path, step) else Hash()
        if around is None and at > 0:
            return None
        if isinstance(around, tuple):
            index = strict_integer(step)
            if index is None:
                return _log_bad_step(call, name, steps[:at], f"is an array; cannot index to '{step}'")
            path.append(index)
        elif around is None or isinstance(around, Hash):
            path.append(step)
        else:
            return _log_bad_step(call, name, steps[:at], f"is not a collection; cannot walk to '{step}'")
    value = call.host.fact_value("facts", tuple(path), whole=not path)
    return None if value is ABSENT else value


def _is_missing(call: Call, path: list[str | int], step: str) -> bool:
    """Return whether a path has no value below it for a step; only then the value at the path must be read as a whole."""
    return call.host.fact_value("facts", (*path, step)) is ABSENT


def _whole_fact(call: Call, path: tuple[str | int, ...]) -> Any:
    value = call.host.fact_value("facts", path, whole=True)
    return None if value is ABSENT else value


def _log_bad_step(call: Call, name: str, walked: list[str], reason: str) -> None:
    path = ".".join(f'"{step}"' if "." in step else step for step in walked)
    call.host.log("warning", f"fact request for {name} returning nil: '{path}' {reason}")


def _variable(call: Call, name: str) -> Any:
    """Return the concrete value of a variable by its name, undef if it is not set."""
    if not call.host.has_variable(call.scope, name):
        return None
    return call.host.concrete(call.host.variable(call.scope, name), call.span)


@declare_legacy(
    "has_interface_with",
    "Any kind, Any value?",
    "Returns whether the node has an interface of that name, or one with an ipaddress, network, netmask or macaddress.",
    pure=False,
)
def has_interface_with(call: Call, kind: Any, value: Any = None) -> bool:
    names = _variable(call, "interfaces")
    if not isinstance(names, str):
        return False
    interfaces = names.split(",")
    if value is None:
        return kind in interfaces
    facts = (ruby_text(kind), *(f"{ruby_text(kind)}_{interface.lower()}" for interface in interfaces))
    return any(_variable(call, name) == value for name in facts)


@declare_legacy(
    "has_ip_address", "Any address", "Returns whether an interface of the node has an IP address.", pure=False
)
def _has_ip_address(call: Call, address: Any) -> bool:
    return has_interface_with(call, "ipaddress", address)


@declare_legacy(
    "has_ip_network", "Any network", "Returns whether an interface of the node is in a network.", pure=False
)
def _has_ip_network(call: Call, network: Any) -> bool:
    return has_interface_with(call, "network", network)


@declare_legacy(
    "ipaddresses", "Any *rest", "Returns the addresses of the node's interfaces except lo.", module="ssh", pure=False
)
def _ipaddresses(call: Call, *rest: Any) -> Any:
    names = _variable(call, "interfaces")
    if not isinstance(names, str):
        return False
    interfaces = [name for name in names.split(",") if "lo" not in name]
    addresses = (_variable(call, f"{kind}_{name}") for name in interfaces for kind in ("ipaddress", "ipaddress6"))
    return tuple(value for value in addresses if value is not None and value is not False)


@declare_legacy(
    "getvar_emptystring",
    "Any name",
    "Returns a variable by its name, or an empty text if it is not set.",
    module="redis",
    pure=False,
)
def _getvar_emptystring(call: Call, name: Any) -> Any:
    value = _variable(call, ruby_text(name).removeprefix("::"))
    return "" if value is None else value


@declare_legacy(
    "scope_defaults",
    "String type, String attribute",
    "Returns whether resource defaults of the calling scope set an attribute of a type.",
    module="staging",
    pure=False,
)
def _scope_defaults(call: Call, type_name: str, attribute: str) -> bool:
    return call.host.catalog.has_default(call.scope, type_name, attribute)


@declare_legacy(
    "dig44",
    "Any data, Any path, Any default?, Any *rest",
    "Returns the value at a path of keys, or a default.",
)
def dig44(data: Any, path: Any, default: Any = None, *rest: Any) -> Any:
    if not isinstance(data, Hash | tuple) or not isinstance(path, tuple):
        raise argument_error("dig44", "expects a hash or array, and an array as path")
    value: Any = data
    for key in path:
        value = _element(value, key)
        if value is None:
            return default
    return value


def _element(value: Any, key: Any) -> Any:
    if isinstance(value, Hash):
        return value.lookup(key)
    index = strict_integer(key) if isinstance(value, tuple) else None
    return value[index] if index is not None and -len(value) <= index < len(value) else None


@declare_legacy(
    "try_get_value",
    "Any data, Any path?, Any default?, Any separator?",
    "Returns the value at a path with slashes, or a default.",
    pure=False,
)
def _try_get_value(call: Call, data: Any, path: Any = "", default: Any = None, separator: Any = "/") -> Any:
    call.host.log("warning", "try_get_value() DEPRECATED: this function is deprecated, please use dig() instead.")
    if not isinstance(data, Hash | tuple) or path == "":
        return data if default is None or default is False else default
    call.host.log(
        "warning",
        "dig() DEPRECATED: This function has been replaced in Puppet 4.5.0, please use dig44() for backwards compatibility or use"
        " the new version.",
    )
    if not isinstance(path, str) or not isinstance(separator, str):
        raise argument_error("try_get_value", "expects a path and a separator as texts")
    parts = path.split(separator) if separator else list(path)
    steps = (int(part) if part.isascii() and part.isdigit() and len(part) < 10 else part for part in parts)
    return dig44(data, tuple(steps), default)
