"""Variables in the strings of Hiera: `x`, `::x`, `a::b`, `facts.os.family`.

The whole path below a fact is one question, as in a manifest: `%{facts.os.family}` does not depend on the rest of `os`.
"""

from collections.abc import Mapping
from typing import Any, Final

from precast.lang.functions.host import Host
from precast.lang.hiera import issues
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import dig
from precast.lang.inputs import ABSENT, FactKeys
from precast.lang.scope import MISSING

# These variables are known in every scope; they are undef if nothing set them.
_ALWAYS: Final = frozenset(("module_name", "caller_module_name", "title", "name"))
# Code cannot change these, so they are read once in a compile.
FIXED_ROOTS: Final = frozenset(("facts", "trusted", "server_facts"))


def value_of(
    host: Host, invocation: Invocation, name: str, segments: tuple[str | int, ...], local: Mapping[str, Any]
) -> Any:
    """The value, or MISSING; `local` variables come first. Raises HIERA-032, and HIERA-037 if unknown variables are errors."""
    root, below = str(segments[0]), segments[1:]
    explainer = invocation.explainer
    if explainer is None:
        return _value(host, invocation, name, root, below, local)
    with explainer.within("Global Scope"):
        value = _value(host, invocation, name, root, below, local)
        if value is MISSING:
            explainer.not_found(name)
        else:
            explainer.found(name, value)
        return value


def _value(
    host: Host, invocation: Invocation, name: str, root: str, below: tuple[str | int, ...], local: Mapping[str, Any]
) -> Any:
    if root in local:
        return dig(name, below, local[root])
    if root in invocation.overrides:
        return dig(name, below, invocation.overrides[root])
    plain = root.removeprefix("::")
    if root.isdigit():
        return dig(name, below, invocation.scope.match_group(int(root[:9])))
    if below and "::" not in plain and host.is_fact(invocation.scope, plain, plain != root):
        value = _below_fact(host, plain, below, name)
        if value is not ABSENT:
            return value
    if host.has_variable(invocation.scope, root):
        return dig(name, below, host.variable(invocation.scope, root))
    if plain not in _ALWAYS:
        _complain(host, plain)
    return dig(name, below, invocation.defaults[root]) if root in invocation.defaults else MISSING


def _below_fact(host: Host, root: str, below: tuple[str | int, ...], name: str) -> Any:
    """The value below a fact; MISSING if the path does not exist, ABSENT if there is no such fact."""
    value = host.fact_value(root, below)
    if value is not ABSENT:
        return value
    for depth in range(len(below) - 1, -1, -1):
        path = below[:depth] if root == "facts" else (root, *below[:depth])
        if root != "trusted" and host.inputs.ask(FactKeys(path)) is not ABSENT:
            return MISSING
        value = host.fact_value(root, below[:depth], whole=True)
        if value is not ABSENT:
            return dig(name, below[depth:], value)
    return ABSENT


def _complain(host: Host, name: str) -> None:
    error = issues.UNDEFINED_VARIABLE.error(name=name)
    if host.settings.strict == "error":
        raise error
    if host.settings.strict == "warning":
        host.warn_once(f"undefined {name}", error.message)
