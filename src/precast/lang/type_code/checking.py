"""Says how each type of a module is applied, and what in its code the Ruby subset cannot run, before anything is compiled.

What cannot run is not checked when a catalog is compiled; the node that applies the resource runs it through its Puppet.
"""

from typing import Final, NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions.ruby.checking import CheckHost, FindFile, Finding, ReadFile, find_unknown, finding
from precast.lang.issues import functions as function_issues
from precast.lang.ruby.syntax import nodes
from precast.lang.type_code.running import load_type
from precast.types.application import NATIVE, NOT_THERE, how_applied
from precast.types.catalogue import find as find_builtin
from precast.types.declaration import ManagedType

# Methods that Puppet calls on the node, and calls whose blocks change its state.
_ON_NODE: Final = frozenset((
    "is_to_s", "should_to_s", "change_to_s", "insync?", "safe_insync?", "property_matches?", "retrieve", "sync", "set", "flush", "refresh",
    "exists?", "instances", "prefetch", "generate", "eval_generate", "self_refresh?", "pre_run_check", "finish", "commit", "need_to_run?",
))  # fmt: skip
_SETTERS: Final = frozenset(("newvalue", "newstate", "ensurable"))


class TypeStatus(NamedTuple):
    """How a type is applied: native, bridged or not there, with the places of code that is not run when a catalog is compiled."""

    name: str
    path: str
    how: str
    findings: tuple[Finding, ...] = ()


def check_type(name: str, path: str, declared: ManagedType | None, *, read: ReadFile, find: FindFile) -> TypeStatus:
    """Return the status of the type that a Ruby file of a module declares; `declared` is None if it declares another."""
    found = read(path)
    if declared is None or found is None:
        return TypeStatus(name, path, NOT_THERE, (Finding(path, 1, "the file does not declare it"),))
    digest, text = found
    how = how_applied(declared)
    host = CheckHost(read, find)
    try:
        code = load_type(host, None, name, path, digest, text)
    except PrecastError as error:
        # A file that asks for a fact while it is loaded runs in a compile, which has the facts of a node.
        is_known_later = error.code == function_issues.IMPURE.code
        return TypeStatus(name, path, how, () if is_known_later else (finding(path, error),))
    if code is None:
        return TypeStatus(name, path, how)
    return TypeStatus(name, path, how, tuple(find_unknown(Source(path, text), *code.required(), skips=_runs_on_node)))


def _runs_on_node(node: nodes.Node) -> bool:
    """Whether code runs only when the node reads or changes its state, or asks for a fact, which every compile has."""
    if isinstance(node, nodes.MethodDefinition):
        return node.name in _ON_NODE
    if not isinstance(node, nodes.Call):
        return False
    is_fact = isinstance(node.receiver, nodes.Const) and node.receiver.name == "Facter" and node.name == "value"
    return is_fact or (node.name in _SETTERS and node.block is not None)


def check_provider(type_name: str, path: str) -> Finding | None:
    """Return why a provider of a module does not run; None if the bridge runs it, or the type has none of Puppet's own."""
    declared = find_builtin(type_name)
    if declared is None or how_applied(declared) != NATIVE:
        return None
    return Finding(path, 1, f"Precast applies the type {type_name} itself, without providers of modules")
