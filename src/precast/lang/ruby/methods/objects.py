"""Methods of every object, and those of nil, booleans, procs and regular expressions."""

import copy
from functools import cmp_to_key
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.errors import descends
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, call_method, method, plain_text, responds_to, to_str
from precast.lang.ruby.objects import Constant, Proc, RubyObject
from precast.lang.ruby.values import (
    Instance,
    Pattern,
    Range,
    RubySet,
    Symbol,
    class_name,
    equal,
    inspect,
    is_a,
    is_truthy,
    to_ruby,
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
    if isinstance(left, Instance | RubyObject):
        order = call_method(execution, left, "<=>", [right], None)
        if isinstance(order, int):
            return order
        raise ValueError(f"comparison of {class_name(left)} with {inspect(right)[:40]} failed")
    is_numeric = isinstance(left, int | float) and isinstance(right, int | float)
    if (
        isinstance(left, bool)
        or isinstance(right, bool)
        or not (is_numeric or (isinstance(left, str) and isinstance(right, str)))
    ):
        if equal(left, right):
            return 0
        shown = inspect(right)[:40] if right is None or isinstance(right, int | float | bool) else class_name(right)
        raise ValueError(f"comparison of {class_name(left)} with {shown} failed")
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
    (wanted,) = args
    if isinstance(this, RubyObject):
        return descends(this.kind, wanted) or wanted.name in ("Object", "BasicObject", "Kernel")
    return isinstance(wanted, Constant) and is_a(this, wanted.name)


@method("Object", "class")
def _class(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    return this.kind if isinstance(this, RubyObject) else Constant(class_name(this))


@method("Object", "==", "eql?", "equal?")
def _equal(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    return equal(execution.resolve(this), execution.resolve(args[0]))


@method("Object", "!=")
def _differs(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    return not is_truthy(call_method(execution, this, "==", args, None))


@method("Object", "===")
def _case_equal(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    if isinstance(this, Pattern):
        subject = args[0]
        execution.match = (
            this.compiled.search(plain_text(execution, subject)) if isinstance(subject, str | Symbol) else None
        )
        return execution.match is not None
    if isinstance(this, Range):
        return covers(execution, this, args[0])
    if isinstance(this, Proc):
        return is_truthy(this.call(args[0]))
    return is_truthy(call_method(execution, this, "==", [args[0]], None))


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
    except (TypeError, ValueError):
        return None


def _clamp(execution: Execution, this: Any, args: list[Any]) -> Any:
    low, high = (args[0].first, args[0].last) if isinstance(args[0], Range) else args
    return low if compare(execution, this, low) < 0 else high if compare(execution, this, high) > 0 else this


def covers(execution: Execution, span: Range, value: Any) -> bool:
    """Return whether a value lies between the ends of a range."""
    try:
        if span.first is not None and compare(execution, span.first, value) > 0:
            return False
        if span.last is None:
            return True
        order = compare(execution, value, span.last)
    except (TypeError, ValueError):
        return False
    return order < 0 if span.is_exclusive else order <= 0


def _declare_comparisons() -> None:
    tests = {
        "<": lambda order: order < 0,
        "<=": lambda order: order <= 0,
        ">": lambda order: order > 0,
        ">=": lambda order: order >= 0,
    }
    METHODS.setdefault("Object", {})["between?"] = lambda execution, this, args, block: (
        compare(execution, this, args[0]) >= 0 and compare(execution, this, args[1]) <= 0
    )
    METHODS["Object"]["clamp"] = lambda execution, this, args, block: _clamp(execution, this, args)
    for name, test in tests.items():

        def run(execution: Execution, this: Any, args: list[Any], block: Proc | None, test: Any = test) -> bool:
            return bool(test(compare(execution, this, args[0])))

        for kind in ("String", "Numeric", "Symbol"):
            METHODS.setdefault(kind, {})[name] = run


_declare_comparisons()


@method("Object", "freeze", "itself")
def _itself(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    return this


@method("Object", "dup", "clone")
def _copy(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    if isinstance(this, RubyObject):
        made = copy.copy(this)
        made.ivars = dict(this.ivars)
        return made
    return copy.copy(this) if isinstance(this, list | dict | RubySet) else this


@method("Object", "!")
def _not(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    return not is_truthy(this)


@method("Object", "hash", "object_id", "__id__")
def _hash_number(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> int:
    raise issues.NOT_IN_SUBSET.error(construct="object_id and hash, which differ from run to run")


@method("Object", "display")
def _display(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> None:
    """Do nothing: Ruby would write to the terminal of the server."""


@method("Object", "frozen?")
def _frozen(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    return False


@method("Object", "respond_to?")
def _responds(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> bool:
    return responds_to(execution, this, plain_text(execution, args[0]))


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


@method("Sensitive", "unwrap")
def _unwrap(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    value = this.unwrap()
    note_unwrapped(value)
    return to_ruby(value)


@method("Nil", "to_a")
def _nil_list(execution: Execution, this: None, args: list[Any], block: Proc | None) -> list[Any]:
    return []


@method("Nil", "to_f")
def _nil_float(execution: Execution, this: None, args: list[Any], block: Proc | None) -> float:
    return 0.0


@method("Nil", "&")
def _nil_and(execution: Execution, this: None, args: list[Any], block: Proc | None) -> bool:
    return False


@method("Nil", "|")
def _nil_or(execution: Execution, this: None, args: list[Any], block: Proc | None) -> bool:
    return is_truthy(args[0])


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


@method("Boolean", "^")
def _either_not_both(execution: Execution, this: bool, args: list[Any], block: Proc | None) -> bool:
    return this != is_truthy(args[0])


@method("Proc", "call", "()", "yield", "[]", "===")
def _call(execution: Execution, this: Proc, args: list[Any], block: Proc | None) -> Any:
    execution.count_step()
    return this.call(*args)


@method("Proc", "to_proc")
def _proc(execution: Execution, this: Proc, args: list[Any], block: Proc | None) -> Proc:
    return this


@method("Proc", "arity")
def _arity(execution: Execution, this: Proc, args: list[Any], block: Proc | None) -> int:
    return this.arity


@method("Proc", "lambda?")
def _is_lambda(execution: Execution, this: Proc, args: list[Any], block: Proc | None) -> bool:
    return this.is_lambda


@method("Proc", "curry")
def _curry(execution: Execution, this: Proc, args: list[Any], block: Proc | None) -> Proc:
    count = int(args[0]) if args else abs(this.arity)

    def collect(given: tuple[Any, ...]) -> Any:
        return (
            this.call(*given)
            if len(given) >= count
            else Proc(1, lambda *more: collect((*given, *more)), is_lambda=True)
        )

    return Proc(1, lambda *given: collect(given), is_lambda=True)


@method("Symbol", "to_sym")
def _symbol(execution: Execution, this: Symbol, args: list[Any], block: Proc | None) -> Symbol:
    return this


@method("Regexp", "match")
def _find(execution: Execution, this: Pattern, args: list[Any], block: Proc | None) -> Any:
    execution.match = (
        None if args[0] is None else this.compiled.search(_subject(args[0]), int(args[1]) if len(args) > 1 else 0)
    )
    return execution.match


@method("Regexp", "match?")
def _matches(execution: Execution, this: Pattern, args: list[Any], block: Proc | None) -> bool:
    return args[0] is not None and this.compiled.search(_subject(args[0])) is not None


def _subject(value: Any) -> str:
    return value.name if isinstance(value, Symbol) else to_str(value)


@method("Regexp", "names")
def _names(execution: Execution, this: Pattern, args: list[Any], block: Proc | None) -> list[str]:
    return list(this.compiled.groupindex)


@method("Regexp", "options")
def _options(execution: Execution, this: Pattern, args: list[Any], block: Proc | None) -> int:
    return sum({"i": 1, "x": 2, "m": 4}[flag] for flag in this.flags)


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
