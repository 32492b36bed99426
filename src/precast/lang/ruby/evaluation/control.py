"""Closures of conditions, loops, jumps and rescues."""

from typing import Any

from precast.base.errors import PrecastError
from precast.lang.ruby.evaluation.closures import Closure, ClosureBuilder, as_array
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.execution import Execution, Jump
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.values import Constant, Pattern, Range, Symbol, equal, is_a, is_truthy, range_items, to_s
from precast.lang.values.base import Unknown


class Control(ClosureBuilder):
    """The part of the compiler for what decides which code runs."""

    def _sequence(self, node: nodes.Sequence) -> Closure:
        closures = [self.compile(statement) for statement in node.statements]
        if len(closures) == 1:
            return closures[0]

        def run(frame: Frame) -> Any:
            value = None
            for closure in closures:
                value = closure(frame)
            return value

        return run

    def _and(self, node: nodes.And) -> Closure:
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda frame: right(frame) if is_truthy(value := left(frame)) else value

    def _or(self, node: nodes.Or) -> Closure:
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda frame: value if is_truthy(value := left(frame)) else right(frame)

    def _not(self, node: nodes.Not) -> Closure:
        value = self.compile(node.value)
        return lambda frame: not is_truthy(value(frame))

    def _defined(self, node: nodes.Defined) -> Closure:
        inner = node.value
        while isinstance(inner, nodes.Sequence) and len(inner.statements) == 1:
            inner = inner.statements[0]
        if isinstance(inner, nodes.Ivar):
            ivar = inner.name
            return lambda frame: "instance-variable" if _has_ivar(frame, ivar) else None
        if isinstance(inner, nodes.Name):
            name = inner.name
            return lambda frame: "local-variable" if frame.holder(name) is not None else None
        return lambda frame: "expression"

    def _if(self, node: nodes.If) -> Closure:
        condition, then = self.compile(node.condition), self.compile(node.then)
        otherwise = (lambda frame: None) if node.otherwise is None else self.compile(node.otherwise)
        return lambda frame: then(frame) if is_truthy(condition(frame)) else otherwise(frame)

    def _while(self, node: nodes.While) -> Closure:
        condition, body, is_until = self.compile(node.condition), self.compile(node.body), node.is_until

        def run(frame: Frame) -> Any:
            while is_truthy(condition(frame)) != is_until:
                frame.execution.count_step()
                try:
                    body(frame)
                except Jump as jump:
                    if jump.kind == "break":
                        return jump.value
                    if jump.kind != "next":
                        raise
            return None

        return self.with_position(node, run)

    def _for(self, node: nodes.For) -> Closure:
        items, bind, body = self.compile(node.items), self.compile_parameters(node.parameters), self.compile(node.body)

        def run(frame: Frame) -> Any:
            for item in as_array(items(frame)):
                frame.execution.count_step()
                bind(frame, (item,))
                try:
                    body(frame)
                except Jump as jump:
                    if jump.kind == "break":
                        return jump.value
                    if jump.kind != "next":
                        raise
            return None

        return self.with_position(node, run)

    def _case(self, node: nodes.Case) -> Closure:
        subject = None if node.subject is None else self.compile(node.subject)
        whens = [(self.compile_items(when.values), self.compile(when.body)) for when in node.whens]
        otherwise = (lambda frame: None) if node.otherwise is None else self.compile(node.otherwise)

        def run(frame: Frame) -> Any:
            value = None if subject is None else frame.execution.resolve(subject(frame))
            for values, body in whens:
                for option in values(frame):
                    if is_truthy(option) if subject is None else _case_equal(frame.execution, option, value):
                        return body(frame)
            return otherwise(frame)

        return self.with_position(node, run)

    def _jump(self, node: nodes.Jump) -> Closure:
        value = (lambda frame: None) if node.value is None else self.compile(node.value)
        kind = node.kind

        def run(frame: Frame) -> Any:
            raise Jump(kind, value(frame))

        return run

    def _rescue(self, node: nodes.Rescue) -> Closure:
        body, handler, name = self.compile(node.body), self.compile(node.handler), node.name

        def run(frame: Frame) -> Any:
            try:
                return body(frame)
            except PrecastError as error:
                if name:
                    frame.assign(name, error.message)
                return handler(frame)

        return run


def _case_equal(execution: Execution, option: Any, value: Any) -> bool:
    """Return Ruby's `option === value`."""
    if isinstance(option, Constant):
        return is_a(value, option.name)
    if isinstance(option, Pattern):
        execution.match = option.compiled.search(str(to_s(value))) if isinstance(value, str | Symbol) else None
        return execution.match is not None
    if isinstance(option, Range):
        if isinstance(value, float):
            return bool(option.first <= value <= option.last)
        return any(equal(item, value) for item in range_items(option))
    return equal(execution.resolve(option), value)


def _has_ivar(frame: Frame, name: str) -> bool:
    execution = frame.execution
    return (
        name in execution.ivars
        or isinstance(execution.read_ivar(name), Unknown)
        or execution.read_ivar(name) is not None
    )
