"""Closures of assignments: to local variables, instance variables and elements of arrays and hashes."""

from typing import Any

from precast.lang.ruby.evaluation.closures import Closure, ClosureBuilder, Store, as_array
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.methods.dispatch import call_method
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.values import is_truthy


class Assignments(ClosureBuilder):
    """The part of the compiler for assignments."""

    def compile_store(self, target: Node) -> Store | None:
        if isinstance(target, nodes.Name):
            name = target.name
            return lambda frame, value: frame.assign(name, value)
        if isinstance(target, nodes.Ivar):
            ivar = target.name
            return lambda frame, value: frame.execution.ivars.__setitem__(ivar, value)
        if isinstance(target, nodes.Call) and target.name == "[]" and target.receiver is not None:
            receiver, args = self.compile(target.receiver), self.compile_items(target.args)
            return lambda frame, value: _set_element(frame, receiver(frame), args(frame), value)
        return None

    def _assign(self, node: nodes.Assign) -> Closure:
        store = self.compile_store(node.target)
        assert store is not None, "the parser accepts only targets that can be assigned to"
        value, operator = self.compile(node.value), node.operator
        if operator:
            return self.with_position(node, self._update(node.target, operator, value, store))

        def assign(frame: Frame) -> Any:
            result = value(frame)
            store(frame, result)
            return result

        return self.with_position(node, assign)

    def _update(self, target: Node, operator: str, value: Closure, store: Store) -> Closure:
        """Return the closure of `+=`, `||=` and the like."""
        read = self._read(target)

        def update(frame: Frame) -> Any:
            before = read(frame)
            if operator in ("||", "&&"):
                if is_truthy(before) == (operator == "||"):
                    return before
                result = value(frame)
            else:
                result = call_method(frame.execution, before, operator, [value(frame)], None)
            store(frame, result)
            return result

        return update

    def _read(self, target: Node) -> Closure:
        if not isinstance(target, nodes.Name):
            return self.compile(target)
        name = target.name

        def run(frame: Frame) -> Any:  # a variable is nil before its first assignment
            holder = frame.holder(name)
            return None if holder is None else holder.variables[name]

        return run

    def _assign_many(self, node: nodes.AssignMany) -> Closure:
        stores = [
            (
                self.compile_store(target.value if isinstance(target, nodes.Splat) else target),
                isinstance(target, nodes.Splat),
            )
            for target in node.targets
        ]
        value = self.compile(node.value)

        def run(frame: Frame) -> Any:
            items = as_array(value(frame))
            taken = 0
            for at, (store, is_rest) in enumerate(stores):
                assert store is not None, "the parser accepts only targets that can be assigned to"
                if is_rest:
                    upto = max(taken, len(items) - (len(stores) - at - 1))
                    store(frame, items[taken:upto])
                    taken = upto
                else:
                    store(frame, items[taken] if taken < len(items) else None)
                    taken += 1
            return items

        return self.with_position(node, run)


def _set_element(frame: Frame, holder: Any, args: list[Any], value: Any) -> None:
    call_method(frame.execution, holder, "[]=", [*args, value], None)
