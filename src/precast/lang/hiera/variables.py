"""Variables that a text of Hiera names: `x`, `::x`, `a::b`, `facts.os.family`.

Below a fact the whole path is one question, as in a manifest: `%{facts.os.family}` does not hang on the rest of `os`.
"""

from collections.abc import Mapping
from typing import Any, Final

from precast.lang.functions.host import Host
from precast.lang.hiera import issues
from precast.lang.hiera.invocation import Invocation
from precast.lang.hiera.keys import dig
from precast.lang.inputs import ABSENT, FactKeys
from precast.lang.scope import MISSING

# Known in every scope, undef where nothing set them.
_ALWAYS: Final = frozenset(("module_name", "caller_module_name", "title", "name"))
# What no code can change: asked for once in a compile.
FIXED_ROOTS: Final = frozenset(("facts", "trusted", "server_facts"))


def value_of(
    host: Host, invocation: Invocation, name: str, segments: tuple[str | int, ...], local: Mapping[str, Any]
) -> Any:
    """The value, or MISSING; `local` variables come first. Raises HIERA-032, and HIERA-037 where unknown variables are errors."""
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
        found = _below_fact(host, plain, below, name)
        if found is not ABSENT:
            return found
    if host.has_variable(invocation.scope, root):
        return dig(name, below, host.variable(invocation.scope, root))
    if plain not in _ALWAYS:
        _complain(host, plain)
    return dig(name, below, invocation.defaults[root]) if root in invocation.defaults else MISSING


def _below_fact(host: Host, root: str, below: tuple[str | int, ...], name: str) -> Any:
    """What lies below a fact; MISSING if the path ends before, ABSENT if there is no such fact."""
    found = host.fact_value(root, below)
    if found is not ABSENT:
        return found
    for depth in range(len(below) - 1, -1, -1):
        path = below[:depth] if root == "facts" else (root, *below[:depth])
        if root != "trusted" and host.inputs.ask(FactKeys(path)) is not ABSENT:
            return MISSING
        found = host.fact_value(root, below[:depth], whole=True)
        if found is not ABSENT:
            return dig(name, below[depth:], found)
    return ABSENT


def _complain(host: Host, name: str) -> None:
    error = issues.UNDEFINED_VARIABLE.error(name=name)
    if host.settings.strict == "error":
        raise error
    if host.settings.strict == "warning":
        host.warn_once(f"undefined {name}", error.message)
