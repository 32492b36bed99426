"""Closures of assignments: to variables, constants, attributes and elements of arrays and hashes."""

from typing import Any

from precast.lang.ruby.evaluation.closures import Closure, ClosureBuilder, Store, as_array
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.evaluation.literals import read_local
from precast.lang.ruby.methods.dispatch import call_method
from precast.lang.ruby.objects import RubyClass, RubyObject
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.values import is_truthy


class Assignments(ClosureBuilder):
    """The part of the compiler for assignments."""

    def compile_store(self, target: Node) -> Store:
        match target:
            case nodes.Name(name=name):
                return _store_local(self.scope.declare(name))
            case nodes.Ivar(name=name):
                return lambda frame, value: _set_ivar(frame, name, value)
            case nodes.Global(name=name):
                return lambda frame, value: frame.execution.globals.__setitem__(name, value)
            case nodes.Const(name=name):
                return lambda frame, value: _set_constant(frame, name, value)
            case nodes.Splat(value=inner):
                return self.compile_store(inner)
            case nodes.Targets(targets=targets):
                return self._spread(targets)
            case nodes.Call(receiver=receiver) if receiver is not None:
                args = self.compile_items(target.args)
                return self._store_by_call(self.compile(receiver), target.name, args)
        raise AssertionError("the parser accepts only targets that can be assigned to")

    @staticmethod
    def _store_by_call(receiver: Closure, name: str, args: Any) -> Store:
        def store(frame: Frame, value: Any) -> None:
            call_method(frame.execution, receiver(frame), f"{name}=", [*args(frame), value], None)

        return store

    def _assign(self, node: nodes.Assign) -> Closure:
        if node.operator:
            return self.with_position(node, self._update(node))
        if isinstance(node.target, nodes.Name):
            # The name is a variable from here on, also in its own value: `a = a` is nil.
            depth, at = self.scope.declare(node.target.name)
            value = self.compile(node.value)
            if depth == 0:

                def assign_local(frame: Frame) -> Any:
                    frame.slots[at] = result = value(frame)
                    return result

                return assign_local
        store, value = self.compile_store(node.target), self.compile(node.value)

        def assign(frame: Frame) -> Any:
            result = value(frame)
            store(frame, result)
            return result

        return self.with_position(node, assign)

    def _update(self, node: nodes.Assign) -> Closure:
        """Return the closure of `+=`, `||=` and the like. The receiver and the arguments of the target are evaluated once."""
        target, operator = node.target, node.operator
        if isinstance(target, nodes.Call) and target.receiver is not None:
            receiver, args = self.compile(target.receiver), self.compile_items(target.args)
            value, name = self.compile(node.value), target.name

            def update_part(frame: Frame) -> Any:
                holder, given = receiver(frame), args(frame)
                if holder is None and target.is_safe:
                    return None
                before = call_method(frame.execution, holder, name, given, None)
                result, is_new = _operate(frame, before, operator, value)
                if is_new:
                    call_method(frame.execution, holder, f"{name}=", [*given, result], None)
                return result

            return update_part
        store, read = self.compile_store(target), self._read(target)
        value = self.compile(node.value)

        def update(frame: Frame) -> Any:
            result, is_new = _operate(frame, read(frame), operator, value)
            if is_new:
                store(frame, result)
            return result

        return update

    def _read(self, target: Node) -> Closure:
        if isinstance(target, nodes.Name):
            return read_local(self.scope.declare(target.name))
        if isinstance(target, nodes.Const):
            name = target.name
            return lambda frame: frame.execution.constants.get(name)
        return self.compile(target)

    def _assign_many(self, node: nodes.AssignMany) -> Closure:
        spread, value = self._spread(node.targets), self.compile(node.value)

        def run(frame: Frame) -> Any:
            items = value(frame)
            spread(frame, items)
            return items

        return self.with_position(node, run)

    def _spread(self, targets: tuple[Node, ...]) -> Store:
        """Return a function that assigns the items of an array to targets, one of which may take the rest."""
        stores = [(self.compile_store(target), isinstance(target, nodes.Splat)) for target in targets]

        def spread(frame: Frame, value: Any) -> None:
            items = list(value) if isinstance(value, list) else as_array(value) if value is not None else []
            taken = 0
            for at, (store, is_rest) in enumerate(stores):
                if is_rest:
                    upto = max(taken, len(items) - (len(stores) - at - 1))
                    store(frame, items[taken:upto])
                    taken = upto
                else:
                    store(frame, items[taken] if taken < len(items) else None)
                    taken += 1

        return spread


def _operate(frame: Frame, before: Any, operator: str, value: Closure) -> tuple[Any, bool]:
    """Return the value of an update, and whether it must be stored."""
    if operator in ("||", "&&"):
        return (before, False) if is_truthy(before) == (operator == "||") else (value(frame), True)
    return call_method(frame.execution, before, operator, [value(frame)], None), True


def _store_local(place: tuple[int, int]) -> Store:
    depth, at = place

    def store(frame: Frame, value: Any) -> None:
        for _ in range(depth):
            frame = frame.outer  # type: ignore[assignment]
        frame.slots[at] = value

    return store


def _set_ivar(frame: Frame, name: str, value: Any) -> None:
    if isinstance(frame.this, RubyObject | RubyClass):
        frame.this.ivars[name] = value
    else:
        frame.execution.ivars[name] = value


def _set_constant(frame: Frame, name: str, value: Any) -> None:
    if frame.modules:
        frame.modules[-1].constants[name] = value
    else:
        frame.execution.constants[name] = value
    if isinstance(value, RubyClass) and not value.name:
        value.name = name
