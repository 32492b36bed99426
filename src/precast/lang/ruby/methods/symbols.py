"""Methods of Symbol, most of which are those of its name."""

from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, call_method, method
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import Symbol


def _declare_for_symbols() -> None:
    """Declare the methods that a symbol shares with its name."""
    for name in (
        "length",
        "size",
        "upcase",
        "downcase",
        "capitalize",
        "empty?",
        "start_with?",
        "end_with?",
        "[]",
        "slice",
        "swapcase",
        "succ",
        "next",
        "match",
        "match?",
        "casecmp",
        "casecmp?",
    ):
        METHODS.setdefault("Symbol", {})[name] = _by_name(METHODS["String"][name])


def _by_name(string_method: Any) -> Any:
    return lambda execution, this, args, block: _as_symbol(string_method(execution, this.name, args, block))


def _as_symbol(value: Any) -> Any:
    return Symbol(value) if isinstance(value, str) else value


@method("Symbol", "to_proc")
def _to_proc(execution: Execution, this: Symbol, args: list[Any], block: Proc | None) -> Proc:
    return Proc(1, lambda item, *more: call_method(execution, item, this.name, list(more), None))


_declare_for_symbols()
