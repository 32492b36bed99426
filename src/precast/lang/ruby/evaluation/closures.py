"""What all parts of the closure compiler share: the type of a closure, error positions, and lists of items."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.values import Range, range_items

Closure = Callable[[Frame], Any]
Store = Callable[[Frame, Any], None]

# What a method raises for arguments that Ruby would refuse.
_CALL_ERRORS = (TypeError, ValueError, ZeroDivisionError, IndexError, KeyError, OverflowError, AttributeError)


class ClosureBuilder(ABC):
    """The base of the parts of the compiler. The abstract methods are those that one part calls in another."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @abstractmethod
    def compile(self, node: Node) -> Closure:
        """Return the closure of a node."""

    @abstractmethod
    def compile_parameters(self, parameters: tuple[Parameter, ...]) -> Callable[[Frame, tuple[Any, ...]], None]:
        """Return a function that puts arguments into variables of a frame."""

    @abstractmethod
    def compile_store(self, target: Node) -> Store | None:
        """Return a function that assigns to a variable or an element; None if the target is neither."""

    def with_position(self, node: Node, closure: Closure) -> Closure:
        """Return a closure that gives errors without a position the position of this node."""
        source, span = self.source, node.span

        def run(frame: Frame) -> Any:
            try:
                return closure(frame)
            except PrecastError as error:
                if error.span is None:
                    error.source, error.span = source, span
                raise
            except _CALL_ERRORS as error:
                name = getattr(node, "name", "this")
                raise issues.BAD_CALL.error(
                    source, span, name=name, reason=str(error) or type(error).__name__
                ) from error

        return run

    def compile_items(self, items: tuple[Node, ...]) -> Callable[[Frame], list[Any]]:
        """Return a closure for the items of an array or call, with `*array` spread out."""
        closures = [
            (self.compile(item.value), True) if isinstance(item, nodes.Splat) else (self.compile(item), False)
            for item in items
        ]
        if not any(is_splat for _, is_splat in closures):
            plain = [closure for closure, _ in closures]
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
        return [[key, item] for key, item in value.items()]
    if isinstance(value, Range):
        return range_items(value)
    return [] if value is None else [value]
