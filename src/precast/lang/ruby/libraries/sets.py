"""Set: most of its methods are those of an array of its items."""

from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, method, of_class
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.values import Range, RubySet, equal, hash_key, is_truthy, range_items

Args = list[Any]


def _items(value: Any) -> list[Any]:
    if isinstance(value, RubySet):
        return value.items()
    return range_items(value) if isinstance(value, Range) else value or []


@of_class("Set", "new")
def _new(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubySet:
    items = _items(args[0]) if args else []
    return RubySet(items if block is None else [execution.yield_to(block, item) for item in items])


@of_class("Set", "[]")
def _of(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubySet:
    return RubySet(args)


@method("Array", "to_set")
def _to_set(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> RubySet:
    return RubySet(this)


@method("Set", "to_set", "dup")
def _itself(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    return RubySet(this.items())


@method("Set", "to_a")
def _to_a(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> list[Any]:
    return this.items()


@method("Set", "add", "<<")
def _add(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    this.keys[hash_key(args[0])] = None
    return this


@method("Set", "add?")
def _add_new(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet | None:
    if hash_key(args[0]) in this.keys:
        return None
    this.keys[hash_key(args[0])] = None
    return this


@method("Set", "delete")
def _delete(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    this.keys.pop(hash_key(args[0]), None)
    return this


@method("Set", "merge")
def _merge(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    for arg in args:
        this.keys.update(RubySet(_items(arg)).keys)
    return this


@method("Set", "include?", "member?", "===", "contain?")
def _include(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> bool:
    return hash_key(args[0]) in this.keys


@method("Set", "length", "size", "count")
def _size(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> int:
    if block is not None:
        return sum(1 for item in this.items() if is_truthy(execution.yield_to(block, item)))
    return len(this.keys)


@method("Set", "|", "union", "+")
def _union(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    return RubySet([*this.items(), *_items(args[0])])


@method("Set", "&", "intersection")
def _intersection(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    other = RubySet(_items(args[0]))
    return RubySet([item for item in this.items() if hash_key(item) in other.keys])


@method("Set", "-", "difference")
def _difference(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    other = RubySet(_items(args[0]))
    return RubySet([item for item in this.items() if hash_key(item) not in other.keys])


@method("Set", "^")
def _exclusive(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    other = RubySet(_items(args[0]))
    mine = [item for item in this.items() if hash_key(item) not in other.keys]
    return RubySet([*[item for item in other.items() if hash_key(item) not in this.keys], *mine])


@method("Set", "subset?", "<=")
def _is_subset(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> bool:
    return bool(this.keys.keys() <= args[0].keys.keys())


@method("Set", "superset?", ">=")
def _is_superset(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> bool:
    return bool(this.keys.keys() >= args[0].keys.keys())


@method("Set", "proper_subset?", "<")
def _is_proper_subset(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> bool:
    return bool(this.keys.keys() < args[0].keys.keys())


@method("Set", "disjoint?")
def _is_disjoint(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> bool:
    return not this.keys.keys() & args[0].keys.keys()


@method("Set", "intersect?")
def _intersects(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> bool:
    return bool(this.keys.keys() & args[0].keys.keys())


@method("Set", "==")
def _equal(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> bool:
    return equal(this, args[0])


@method("Set", "empty?")
def _is_empty(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> bool:
    return not this.keys


@method("Set", "each")
def _each(execution: Execution, this: RubySet, args: Args, block: Proc | None) -> RubySet:
    for item in this.items():
        execution.yield_to(block, item)
    return this


def _declare_filters() -> None:
    for names, keeps in ((("select", "filter"), True), (("reject",), False)):
        for name in names:

            def run(
                execution: Execution, this: RubySet, args: Args, block: Proc | None, keeps: bool = keeps
            ) -> RubySet:
                return RubySet([item for item in this.items() if is_truthy(execution.yield_to(block, item)) == keeps])

            METHODS["Set"][name] = run


_declare_filters()
