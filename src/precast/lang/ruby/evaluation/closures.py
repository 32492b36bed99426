"""What all parts of the closure compiler share: the type of a closure, error positions, local variables, and lists of items."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.frames import Frame, LocalScope
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.values import Range, plain_key, range_items

Closure = Callable[[Frame], Any]
Store = Callable[[Frame, Any], None]
Bind = Callable[[Frame, tuple[Any, ...], Any], None]

# What a method raises for arguments that Ruby would refuse.
CALL_ERRORS: Final = (
    TypeError, ValueError, ZeroDivisionError, IndexError, KeyError, OverflowError, AttributeError, StopIteration, re.error,
)  # fmt: skip


class ClosureBuilder(ABC):
    """The base of the parts of the compiler. The abstract methods are those that one part calls in another."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.scope = LocalScope()
        self.in_loop = False  # whether `break` and `next` belong to a loop of this frame

    @abstractmethod
    def compile(self, node: Node) -> Closure:
        """Return the closure of a node."""

    @abstractmethod
    def compile_parameters(self, parameters: tuple[Parameter, ...], is_method: bool = False) -> Bind:
        """Return a function that puts arguments into variables of a frame."""

    @abstractmethod
    def compile_store(self, target: Node) -> Store:
        """Return a function that assigns to a target."""

    def with_position(self, node: Node, closure: Closure) -> Closure:
        """Return a closure that gives errors without a position the position of this node."""

        def run(frame: Frame) -> Any:
            try:
                return closure(frame)
            except PrecastError as error:
                self.place(node, error)
                raise
            except CALL_ERRORS as error:
                raise self.bad_call(node, error) from error

        return run

    def place(self, node: Node, error: PrecastError) -> None:
        if error.span is None:
            error.source, error.span = self.source, node.span

    def bad_call(self, node: Node, error: BaseException) -> PrecastError:
        """Return the error LANG-903 for what a method raised."""
        name = getattr(node, "name", "this")
        reason = str(error.args[0]) if error.args else type(error).__name__
        return issues.BAD_CALL.error(self.source, node.span, name=name, reason=reason)

    def compile_items(self, items: tuple[Node, ...]) -> Callable[[Frame], list[Any]]:
        """Return a closure for the items of an array or call, with `*array` spread out."""
        closures = [
            (self.compile(item.value), True) if isinstance(item, nodes.Splat) else (self.compile(item), False)
            for item in items
        ]
        if not any(is_splat for _, is_splat in closures):
            plain = [closure for closure, _ in closures]
            if not plain:
                return lambda frame: []
            if len(plain) == 1:
                only = plain[0]
                return lambda frame: [only(frame)]
            return lambda frame: [closure(frame) for closure in plain]

        def run(frame: Frame) -> list[Any]:
            values: list[Any] = []
            for closure, is_splat in closures:
                value = closure(frame)
                values += as_array(value) if is_splat else [value]
            return values

        return run


def as_array(value: Any) -> list[Any]:
    """Return the items that Ruby's `*value` spreads out."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [[plain_key(key), item] for key, item in value.items()]
    if isinstance(value, Range):
        return range_items(value)
    return [] if value is None else [value]
