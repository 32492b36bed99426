"""What every Ruby value can be asked."""

from functools import cmp_to_key
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.rendering import Rendering
from precast.lang.ruby.erb.values import (
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
from precast.lang.ruby.methods.calls import METHODS, call_method, function, kind_of, method, shown
from precast.lang.values.regexps import compile_regexp


def compare(rendering: Rendering, left: Any, right: Any) -> int:
    """Ruby's `<=>`. Raises TypeError for what has no order."""
    if isinstance(left, list) and isinstance(right, list):
        for one, other in zip(left, right, strict=False):
            if (order := compare(rendering, one, other)) != 0:
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


def sort_key(rendering: Rendering) -> Any:
    return cmp_to_key(lambda left, right: compare(rendering, left, right))


@method("Object", "to_s")
def _to_s(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> Any:
    return to_s(this)


@method("Object", "inspect", "pretty_inspect")
def _inspect(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> str:
    return inspect(rendering.known(this))


@method("Object", "nil?")
def _is_nil(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> bool:
    return this is None


@method("Object", "is_a?", "kind_of?", "instance_of?")
def _is_a(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> bool:
    (wanted,) = args
    return isinstance(wanted, Constant) and is_a(this, wanted.name)


@method("Object", "class")
def _class(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> Constant:
    return Constant(class_name(this))


@method("Object", "==", "eql?", "equal?")
def _equal(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> bool:
    return equal(rendering.known(this), rendering.known(args[0]))


@method("Object", "===")
def _case_equal(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> bool:
    if isinstance(this, Constant):
        return is_a(args[0], this.name)
    if isinstance(this, Pattern):
        rendering.match = this.compiled.search(shown(rendering, args[0]))
        return rendering.match is not None
    if isinstance(this, Range):
        return any(equal(item, args[0]) for item in range_items(this))
    return equal(this, args[0])


@method("Object", "=~")
def _match(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> int | None:
    subject, pattern = (args[0], this) if isinstance(this, Pattern) else (this, args[0])
    if not isinstance(pattern, Pattern):
        raise TypeError("wrong argument type (expected Regexp)")
    rendering.match = pattern.compiled.search(shown(rendering, subject)) if isinstance(subject, str | Symbol) else None
    return None if rendering.match is None else int(rendering.match.start())


@method("Object", "<=>")
def _order(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> int | None:
    try:
        return compare(rendering, this, args[0])
    except TypeError:
        return None


def _declare_comparisons() -> None:
    tests = {
        "<": lambda order: order < 0,
        "<=": lambda order: order <= 0,
        ">": lambda order: order > 0,
        ">=": lambda order: order >= 0,
    }
    for name, is_so in tests.items():

        def run(rendering: Rendering, this: Any, args: list[Any], block: Proc | None, is_so: Any = is_so) -> bool:
            return bool(is_so(compare(rendering, this, args[0])))

        for kind in ("String", "Numeric", "Symbol"):
            METHODS.setdefault(kind, {})[name] = run


_declare_comparisons()


@method("Object", "dup", "clone", "freeze", "itself")
def _same(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> Any:
    return list(this) if isinstance(this, list) else dict(this) if isinstance(this, dict) else this


@method("Object", "frozen?")
def _frozen(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> bool:
    return False


@method("Object", "respond_to?")
def _responds(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> bool:
    name, kind = shown(rendering, args[0]), kind_of(this)
    return name in METHODS.get(kind, {}) or name in METHODS["Object"]


@method("Object", "send", "public_send", "__send__")
def _send(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> Any:
    return call_method(rendering, this, shown(rendering, args[0]), args[1:], block)


@method("Object", "tap")
def _tap(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> Any:
    rendering.yield_to(block, this)
    return this


@method("Object", "then", "yield_self")
def _then(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> Any:
    return rendering.yield_to(block, this)


@method("Object", "unwrap")
def _unwrap(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> Any:
    return this.unwrap() if hasattr(this, "unwrap") else this


@method("Nil", "to_a")
def _nil_list(rendering: Rendering, this: None, args: list[Any], block: Proc | None) -> list[Any]:
    return []


@method("Nil", "to_i")
def _nil_number(rendering: Rendering, this: None, args: list[Any], block: Proc | None) -> int:
    return 0


@method("Nil", "to_h")
def _nil_hash(rendering: Rendering, this: None, args: list[Any], block: Proc | None) -> dict[Any, Any]:
    return {}


@method("Boolean", "&")
def _both(rendering: Rendering, this: bool, args: list[Any], block: Proc | None) -> bool:
    return this and args[0] is not None and args[0] is not False


@method("Boolean", "|")
def _either(rendering: Rendering, this: bool, args: list[Any], block: Proc | None) -> bool:
    return this or (args[0] is not None and args[0] is not False)


@method("Proc", "call", "()", "yield", "[]")
def _call(rendering: Rendering, this: Proc, args: list[Any], block: Proc | None) -> Any:
    rendering.step()
    return this.call(*args)


@method("Symbol", "to_sym")
def _symbol(rendering: Rendering, this: Symbol, args: list[Any], block: Proc | None) -> Symbol:
    return this


@method("Regexp", "match", "match?")
def _find(rendering: Rendering, this: Pattern, args: list[Any], block: Proc | None) -> Any:
    rendering.match = None if args[0] is None else this.compiled.search(shown(rendering, args[0]))
    return rendering.match


@method("Regexp", "source")
def _source(rendering: Rendering, this: Pattern, args: list[Any], block: Proc | None) -> str:
    return this.text


def as_pattern(value: Any) -> Pattern:
    """A pattern, or a text that stands for itself."""
    if isinstance(value, Pattern):
        return value
    if isinstance(value, str):
        quoted = "".join(
            char if char.isalnum() or char.isspace() or char in "_'\"<>,;:@=%&~`!" else f"\\{char}" for char in value
        )
        return Pattern(value, compile_regexp(quoted))
    raise TypeError("wrong argument type (expected Regexp)")


@function("raise", "fail")
def _raise(rendering: Rendering, args: list[Any], block: Proc | None) -> Any:
    words = [shown(rendering, arg) for arg in args if not isinstance(arg, Constant)]
    raise issues.RAISED.error(message=words[0] if words else "unhandled exception")


@function("require", "require_relative", "load")
def _require(rendering: Rendering, args: list[Any], block: Proc | None) -> bool:
    return True  # what templates load is there, or is refused where it is used


@function("loop")
def _loop(rendering: Rendering, args: list[Any], block: Proc | None) -> Any:
    while True:
        rendering.yield_to(block)
