"""What is known of the node and in scope: facts by their paths, addresses of interfaces, variables and defaults by name."""

import re
from typing import Any, Final

from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import declare, declare_older, wrong
from precast.lang.inputs import ABSENT
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import strict_integer
from precast.lang.values.core import Hash

_STEP: Final = re.compile(r'([^."]+)|"([^"]+)"')


@declare("fact", "String name", "A fact, or what lies below it at a path with dots: 'os.release.major'.", pure=False)
def _fact(call: Call, name: str) -> Any:
    steps = [plain or quoted for plain, quoted in _STEP.findall(name)]
    path: list[str | int] = []
    for at, step in enumerate(steps):
        around = None if at == 0 else _whole_fact(call, tuple(path)) if _is_doubtful(call, path, step) else Hash()
        if around is None and at > 0:
            return None
        if isinstance(around, tuple):
            index = strict_integer(step)
            if index is None:
                return _no_step(call, name, steps[:at], f"is an array; cannot index to '{step}'")
            path.append(index)
        elif around is None or isinstance(around, Hash):
            path.append(step)
        else:
            return _no_step(call, name, steps[:at], f"is not a collection; cannot walk to '{step}'")
    found = call.host.fact_value("facts", tuple(path), whole=not path)
    return None if found is ABSENT else found


def _is_doubtful(call: Call, path: list[str | int], step: str) -> bool:
    """Whether a step may not lead below a path: only then must the value there be looked at."""
    return call.host.fact_value("facts", (*path, step)) is ABSENT


def _whole_fact(call: Call, path: tuple[str | int, ...]) -> Any:
    found = call.host.fact_value("facts", path, whole=True)
    return None if found is ABSENT else found


def _no_step(call: Call, name: str, walked: list[str], reason: str) -> None:
    shown = ".".join(f'"{step}"' if "." in step else step for step in walked)
    call.host.log("warning", f"fact request for {name} returning nil: '{shown}' {reason}")


def _variable(call: Call, name: str) -> Any:
    """A variable by name, concrete; undef if nobody set it."""
    if not call.host.has_variable(call.scope, name):
        return None
    return call.host.concrete(call.host.variable(call.scope, name), call.span)


@declare_older(
    "has_interface_with",
    "Any kind, Any value?",
    "Whether the node has an interface of that name, or one with an ipaddress, network, netmask or macaddress.",
    pure=False,
)
def has_interface_with(call: Call, kind: Any, value: Any = None) -> bool:
    names = _variable(call, "interfaces")
    if not isinstance(names, str):
        return False
    interfaces = names.split(",")
    if value is None:
        return kind in interfaces
    facts = (ruby_text(kind), *(f"{ruby_text(kind)}_{each.lower()}" for each in interfaces))
    return any(_variable(call, name) == value for name in facts)


@declare_older("has_ip_address", "Any address", "Whether an interface of the node has an IP address.", pure=False)
def _has_ip_address(call: Call, address: Any) -> bool:
    return has_interface_with(call, "ipaddress", address)


@declare_older("has_ip_network", "Any network", "Whether an interface of the node is in a network.", pure=False)
def _has_ip_network(call: Call, network: Any) -> bool:
    return has_interface_with(call, "network", network)


@declare_older("ipaddresses", "Any *rest", "The addresses of the node's interfaces but lo.", module="ssh", pure=False)
def _ipaddresses(call: Call, *rest: Any) -> Any:
    names = _variable(call, "interfaces")
    if not isinstance(names, str):
        return False
    wanted = [name for name in names.split(",") if "lo" not in name]
    found = (_variable(call, f"{kind}_{name}") for name in wanted for kind in ("ipaddress", "ipaddress6"))
    return tuple(value for value in found if value is not None and value is not False)


@declare_older(
    "getvar_emptystring", "Any name", "A variable by name; empty text if it is not set.", module="redis", pure=False
)
def _getvar_emptystring(call: Call, name: Any) -> Any:
    value = _variable(call, ruby_text(name).removeprefix("::"))
    return "" if value is None else value


@declare_older(
    "scope_defaults",
    "String type, String attribute",
    "Whether resource defaults here set an attribute of a type.",
    module="staging",
    pure=False,
)
def _scope_defaults(call: Call, type_name: str, attribute: str) -> bool:
    return call.host.catalog.has_default(call.scope, type_name, attribute)


@declare_older(
    "dig44",
    "Any data, Any path, Any default?, Any *rest",
    "What lies below a path of keys; a default where nothing does.",
)
def dig44(data: Any, path: Any, default: Any = None, *rest: Any) -> Any:
    if not isinstance(data, Hash | tuple) or not isinstance(path, tuple):
        raise wrong("dig44", "takes a hash or array, and an array as path")
    value: Any = data
    for key in path:
        value = _inside(value, key)
        if value is None:
            return default
    return value


def _inside(value: Any, key: Any) -> Any:
    if isinstance(value, Hash):
        return value.lookup(key)
    index = strict_integer(key) if isinstance(value, tuple) else None
    return value[index] if index is not None and -len(value) <= index < len(value) else None


@declare_older(
    "try_get_value",
    "Any data, Any path?, Any default?, Any separator?",
    "What lies below a path with slashes; a default where nothing does.",
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
        raise wrong("try_get_value", "takes a path and a separator as texts")
    parts = path.split(separator) if separator else list(path)
    steps = (int(part) if part.isascii() and part.isdigit() and len(part) < 10 else part for part in parts)
    return dig44(data, tuple(steps), default)
