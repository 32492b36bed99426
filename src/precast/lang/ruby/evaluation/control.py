"""Closures of conditions, loops, jumps and rescues."""

from collections.abc import Callable
from typing import Any

from precast.base.errors import PrecastError
from precast.lang.ruby.errors import descends, exception_of
from precast.lang.ruby.evaluation.closures import Closure, ClosureBuilder, as_array
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.execution import Jump
from precast.lang.ruby.methods.dispatch import call_method
from precast.lang.ruby.objects import Constant, RubyClass, RubyError
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.values import is_truthy

_MAX_RETRIES = 1000


class Control(ClosureBuilder):
    """The part of the compiler for what decides which code runs."""

    def _sequence(self, node: nodes.Sequence) -> Closure:
        closures = [self.compile(statement) for statement in node.statements]
        if len(closures) == 1:
            return closures[0]
        if not closures:
            return lambda frame: None
        *first, last = closures

        def run(frame: Frame) -> Any:
            for closure in first:
                closure(frame)
            return last(frame)

        return run

    def _and(self, node: nodes.And) -> Closure:
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda frame: value if (value := left(frame)) is None or value is False else right(frame)

    def _or(self, node: nodes.Or) -> Closure:
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda frame: right(frame) if (value := left(frame)) is None or value is False else value

    def _not(self, node: nodes.Not) -> Closure:
        value = self.compile(node.value)
        return lambda frame: (result := value(frame)) is None or result is False

    def _if(self, node: nodes.If) -> Closure:
        condition, then = self.compile(node.condition), self.compile(node.then)
        otherwise = (lambda frame: None) if node.otherwise is None else self.compile(node.otherwise)
        return lambda frame: otherwise(frame) if (value := condition(frame)) is None or value is False else then(frame)

    def _loop_body(self, node: nodes.Node) -> Closure:
        in_loop, self.in_loop = self.in_loop, True
        body = self.compile(node)
        self.in_loop = in_loop
        return body

    def _while(self, node: nodes.While) -> Closure:
        condition, is_until, is_after = self.compile(node.condition), node.is_until, node.is_after
        body = self._loop_body(node.body)

        def run(frame: Frame) -> Any:
            is_first = is_after
            while is_first or is_truthy(condition(frame)) != is_until:
                is_first = False
                frame.execution.count_step()
                try:
                    body(frame)
                except Jump as jump:
                    if jump.tag is not frame or jump.kind == "return":
                        raise
                    if jump.kind == "break":
                        return jump.value
            return None

        return self.with_position(node, run)

    def _for(self, node: nodes.For) -> Closure:
        items, bind = self.compile(node.items), self.compile_parameters(node.parameters)
        body = self._loop_body(node.body)

        def run(frame: Frame) -> Any:
            given = items(frame)
            for item in as_array(given):
                frame.execution.count_step()
                bind(frame, (item,), None)
                try:
                    body(frame)
                except Jump as jump:
                    if jump.tag is not frame or jump.kind == "return":
                        raise
                    if jump.kind == "break":
                        return jump.value
            return given

        return self.with_position(node, run)

    def _case(self, node: nodes.Case) -> Closure:
        subject = None if node.subject is None else self.compile(node.subject)
        whens = [(self.compile_items(when.values), self.compile(when.body)) for when in node.whens]
        otherwise: Closure = (lambda frame: None) if node.otherwise is None else self.compile(node.otherwise)

        def run(frame: Frame) -> Any:
            value = None if subject is None else frame.execution.resolve(subject(frame))
            for values, body in whens:
                for option in values(frame):
                    if is_truthy(
                        option if subject is None else call_method(frame.execution, option, "===", [value], None)
                    ):
                        return body(frame)
            return otherwise(frame)

        return self.with_position(node, run)

    def _jump(self, node: nodes.Jump) -> Closure:
        value: Closure = (lambda frame: None) if node.value is None else self.compile(node.value)
        kind = node.kind
        is_of_loop = self.in_loop and kind in ("break", "next")

        def run(frame: Frame) -> Any:
            raise Jump(kind, value(frame), _target(frame, kind, is_of_loop), _innermost_lambda(frame, kind))

        return run

    def _begin(self, node: nodes.Begin) -> Closure:
        body = self.compile(node.body)
        handlers = [self._handler(rescue) for rescue in node.rescues]
        otherwise = None if node.otherwise is None else self.compile(node.otherwise)
        ensure = None if node.ensure is None else self.compile(node.ensure)

        def attempt(frame: Frame) -> Any:
            for _ in range(_MAX_RETRIES):
                try:
                    value = body(frame)
                except PrecastError as error:
                    is_done, value = _rescue(frame, error, handlers)
                    if not is_done:
                        continue
                    return value
                return value if otherwise is None else otherwise(frame)
            return None

        if ensure is None:
            return attempt

        def run(frame: Frame) -> Any:
            try:
                return attempt(frame)
            finally:
                ensure(frame)

        return run

    def _handler(self, rescue: nodes.Rescue) -> "Handler":
        classes = self.compile_items(rescue.classes) if rescue.classes else None
        store = None if rescue.target is None else self.compile_store(rescue.target)
        body = self.compile(rescue.body)

        def handle(frame: Frame, exception: RubyError) -> tuple[bool, Any]:
            if not _matches(None if classes is None else classes(frame), exception):
                return False, None
            if store is not None:
                store(frame, exception)
            before, frame.execution.exception = frame.execution.exception, exception
            try:
                return True, body(frame)
            finally:
                frame.execution.exception = before

        return handle


Handler = Callable[[Frame, RubyError], tuple[bool, Any]]


def _rescue(frame: Frame, error: PrecastError, handlers: list[Handler]) -> tuple[bool, Any]:
    """Return the value of the handler that takes an error; False if it asks for another attempt. Raises the error if none does."""
    exception = exception_of(error)
    if exception is not None:
        for handle in handlers:
            try:
                is_handled, value = handle(frame, exception)
            except Jump as jump:
                if jump.kind == "retry" and jump.tag is frame:
                    frame.execution.count_step()
                    return False, None
                raise
            if is_handled:
                return True, value
    raise error


def _matches(classes: list[Any] | None, exception: RubyError) -> bool:
    if classes is None:
        return descends(exception.kind, Constant("StandardError"))
    return any(isinstance(each, Constant | RubyClass) and descends(exception.kind, each) for each in classes)


def _target(frame: Frame, kind: str, is_of_loop: bool) -> Any:
    """Return what a jump ends: the call of a method, a loop in this frame, or a block."""
    if kind == "return":
        return frame.home
    return frame if is_of_loop or kind == "retry" else frame.proc


def _innermost_lambda(frame: Frame, kind: str) -> Any:
    """Return the lambda that a `return` ends, None outside of lambdas."""
    if kind not in ("return", "break"):
        return None
    each: Frame | None = frame
    while each is not None:
        if each.proc is not None and each.proc.is_lambda:
            return each.proc
        each = each.outer if kind == "return" else None
    return None
