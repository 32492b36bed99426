"""Methods of every object, and those of nil, booleans, procs and regular expressions."""

from functools import cmp_to_key
from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, call_method, kind_of, method, plain_text
from precast.lang.ruby.values import (
    Constant,
    Pattern,
    Proc,
    Range,
    Symbol,
    class_name,
    equal,
    inspect,
    is_a,
    range_items,
    to_s,
)
from precast.lang.values.regexps import compile_regexp
from precast.lang.values.secret_texts import note_unwrapped


def compare(execution: Execution, left: Any, right: Any) -> int:
    """Return Ruby's `<=>` as a number. Raises TypeError for values that have no order."""
    if isinstance(left, list) and isinstance(right, list):
        for left_item, right_item in zip(left, right, strict=False):
            if (order := compare(execution, left_item, right_item)) != 0:
                return order
        return (len(left) > len(right)) - (len(left) < len(right))
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        left, right = left.name, right.name
    is_numeric = isinstance(left, int | float) and isinstance(right, int | float)
    if (
        isinstance(left, bool)
        or isinstance(right, bool)
        or not (is_numeric or (isinstance(left, str) and isinstance(right, str)))
    ):
        if equal(left, right):
            return 0
        raise TypeError(f"comparison of {class_name(left)} with {inspect(right)[:40]} failed")
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return bool(left > right) - bool(left < right)


def sort_key(execution: Execution) -> Any:
    return cmp_to_key(lambda left, right: compare(execution, left, right))


@method("Object", "to_s")
def _to_s(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    return to_s(this)


@method("Object", "inspect", "pretty_inspect")
def _inspect(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> str:
    return inspect(execution.resolve(this))


@method("Object", "nil?")
def _is_nil(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    return this is None


@method("Object", "is_a?", "kind_of?", "instance_of?")
def _is_a(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    (class_,) = args
    return isinstance(class_, Constant) and is_a(this, class_.name)


@method("Object", "class")
def _class(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Constant:
    return Constant(class_name(this))


@method("Object", "==", "eql?", "equal?")
def _equal(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    return equal(execution.resolve(this), execution.resolve(args[0]))


@method("Object", "===")
def _case_equal(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    if isinstance(this, Constant):
        return is_a(args[0], this.name)
    if isinstance(this, Pattern):
        execution.match = this.compiled.search(plain_text(execution, args[0]))
        return execution.match is not None
    if isinstance(this, Range):
        return any(equal(item, args[0]) for item in range_items(this))
    return equal(this, args[0])


@method("Object", "=~")
def _match(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> int | None:
    subject, pattern = (args[0], this) if isinstance(this, Pattern) else (this, args[0])
    if not isinstance(pattern, Pattern):
        raise TypeError("wrong argument type (expected Regexp)")
    execution.match = (
        pattern.compiled.search(plain_text(execution, subject)) if isinstance(subject, str | Symbol) else None
    )
    return None if execution.match is None else int(execution.match.start())


@method("Object", "<=>")
def _order(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> int | None:
    try:
        return compare(execution, this, args[0])
    except TypeError:
        return None


def _declare_comparisons() -> None:
    tests = {
        "<": lambda order: order < 0,
        "<=": lambda order: order <= 0,
        ">": lambda order: order > 0,
        ">=": lambda order: order >= 0,
    }
    for name, test in tests.items():

        def run(execution: Execution, this: Any, args: list[Any], block: Proc | None, test: Any = test) -> bool:
            return bool(test(compare(execution, this, args[0])))

        for kind in ("String", "Numeric", "Symbol"):
            METHODS.setdefault(kind, {})[name] = run


_declare_comparisons()


@method("Object", "dup", "clone", "freeze", "itself")
def _same(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    return list(this) if isinstance(this, list) else dict(this) if isinstance(this, dict) else this


@method("Object", "frozen?")
def _frozen(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    return False


@method("Object", "respond_to?")
def _responds(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    name, kind = plain_text(execution, args[0]), kind_of(this)
    return name in METHODS.get(kind, {}) or name in METHODS["Object"]


@method("Object", "send", "public_send", "__send__")
def _send(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    return call_method(execution, this, plain_text(execution, args[0]), args[1:], block)


@method("Object", "tap")
def _tap(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    execution.yield_to(block, this)
    return this


@method("Object", "then", "yield_self")
def _then(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    return execution.yield_to(block, this)


@method("Object", "unwrap")
def _unwrap(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    if not hasattr(this, "unwrap"):
        return this
    value = this.unwrap()
    note_unwrapped(value)
    return value


@method("Nil", "to_a")
def _nil_list(execution: Execution, this: None, args: list[Any], block: Proc | None) -> list[Any]:
    return []


@method("Nil", "to_i")
def _nil_number(execution: Execution, this: None, args: list[Any], block: Proc | None) -> int:
    return 0


@method("Nil", "to_h")
def _nil_hash(execution: Execution, this: None, args: list[Any], block: Proc | None) -> dict[Any, Any]:
    return {}


@method("Boolean", "&")
def _both(execution: Execution, this: bool, args: list[Any], block: Proc | None) -> bool:
    return this and args[0] is not None and args[0] is not False


@method("Boolean", "|")
def _either(execution: Execution, this: bool, args: list[Any], block: Proc | None) -> bool:
    return this or (args[0] is not None and args[0] is not False)


@method("Proc", "call", "()", "yield", "[]")
def _call(execution: Execution, this: Proc, args: list[Any], block: Proc | None) -> Any:
    execution.count_step()
    return this.call(*args)


@method("Symbol", "to_sym")
def _symbol(execution: Execution, this: Symbol, args: list[Any], block: Proc | None) -> Symbol:
    return this


@method("Regexp", "match", "match?")
def _find(execution: Execution, this: Pattern, args: list[Any], block: Proc | None) -> Any:
    execution.match = None if args[0] is None else this.compiled.search(plain_text(execution, args[0]))
    return execution.match


@method("Regexp", "source")
def _source(execution: Execution, this: Pattern, args: list[Any], block: Proc | None) -> str:
    return this.text


def as_pattern(value: Any) -> Pattern:
    """Return a pattern as it is, or the pattern that matches a string literally."""
    if isinstance(value, Pattern):
        return value
    if isinstance(value, str):
        quoted = "".join(
            char if char.isalnum() or char.isspace() or char in "_'\"<>,;:@=%&~`!" else f"\\{char}" for char in value
        )
        return Pattern(value, compile_regexp(quoted))
    raise TypeError("wrong argument type (expected Regexp)")
