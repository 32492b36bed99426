"""Closures of calls, blocks and method definitions."""

from collections.abc import Callable
from typing import Any

from precast.lang.ruby.evaluation.closures import Closure, ClosureBuilder
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.execution import Jump
from precast.lang.ruby.methods.dispatch import call_global, call_method
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.values import Proc, Symbol, join_pieces, to_s


class Calls(ClosureBuilder):
    """The part of the compiler for calls and for what can be called."""

    def _call(self, node: nodes.Call) -> Closure:
        args, name = self.compile_items(node.args), node.name
        block = None if node.block is None else self._block_argument(node.block)
        if node.receiver is None:
            return self.with_position(
                node, lambda frame: _call_with_block(frame, call_global, (name, args(frame)), block)
            )
        receiver, is_safe, store = self.compile(node.receiver), node.is_safe, self.compile_store(node.receiver)

        def run(frame: Frame) -> Any:
            value = receiver(frame)
            if is_safe and value is None:
                return None
            given = args(frame)
            if isinstance(value, str) and store is not None:  # strings do not change: the variable gets the result
                if name == "<<":
                    result = join_pieces([value, *map(to_s, given)])
                    store(frame, result)
                    return result
                if name.endswith("!") and name != "!":
                    result = _call_with_block(frame, call_method, (value, name[:-1], given), block)
                    store(frame, result)
                    return None if result == value else result
            return _call_with_block(frame, call_method, (value, name, given), block)

        return self.with_position(node, run)

    def _block_argument(self, node: Node) -> Closure:
        """Return the closure of a block, or of the value that `&` passes as one."""
        if isinstance(node, nodes.Block):
            return self._block(node)
        closure = self.compile(node)

        def run(frame: Frame) -> Any:
            value = closure(frame)
            if not isinstance(value, Symbol):
                return value
            execution = frame.execution
            return Proc(1, lambda item, *more: call_method(execution, item, value.name, list(more), None))

        return run

    def _block(self, node: nodes.Block) -> Closure:
        bind, body = self.compile_parameters(node.parameters), self.compile(node.body)
        arity = len(node.parameters)

        def make(frame: Frame) -> Proc:
            def call(*args: Any) -> Any:
                inner = Frame(frame.execution, frame)
                bind(inner, args)
                try:
                    return body(inner)
                except Jump as jump:
                    if jump.kind == "next":
                        return jump.value
                    raise

            return Proc(arity, call)

        return make

    def _method_definition(self, node: nodes.MethodDefinition) -> Closure:
        bind, body, name = self.compile_parameters(node.parameters), self.compile(node.body), node.name

        def make(frame: Frame) -> Symbol:
            execution = frame.execution

            def call(*args: Any) -> Any:
                inner = Frame(execution)
                bind(inner, args)
                try:
                    return body(inner)
                except Jump as jump:
                    if jump.kind == "return":
                        return jump.value
                    raise

            execution.methods[name] = Proc(len(node.parameters), call)
            return Symbol(name)

        return make

    def compile_parameters(self, parameters: tuple[Parameter, ...]) -> Callable[[Frame, tuple[Any, ...]], None]:
        """Return a function that binds arguments; a single array given to several parameters is spread over them."""
        defaults = {
            parameter.name: self.compile(parameter.default) for parameter in parameters if parameter.default is not None
        }
        inner = {
            at: self.compile_parameters(parameter.inner) for at, parameter in enumerate(parameters) if parameter.inner
        }
        has_many = len(parameters) > 1 or any(parameter.is_rest for parameter in parameters)

        def bind(frame: Frame, args: tuple[Any, ...]) -> None:
            given = list(args[0]) if has_many and len(args) == 1 and isinstance(args[0], list) else list(args)
            taken = 0
            for at, parameter in enumerate(parameters):
                if parameter.is_rest:
                    upto = max(taken, len(given) - (len(parameters) - at - 1))
                    frame.variables[parameter.name] = given[taken:upto]
                    taken = upto
                    continue
                value = given[taken] if taken < len(given) else None
                if at in inner:
                    inner[at](frame, (value if isinstance(value, list) else [value],))
                else:
                    is_missing = taken >= len(given) and parameter.name in defaults
                    frame.variables[parameter.name] = defaults[parameter.name](frame) if is_missing else value
                taken += 1

        return bind


def _call_with_block(frame: Frame, call: Callable[..., Any], words: tuple[Any, ...], block: Closure | None) -> Any:
    """Call with a block; `break` in the block ends the call."""
    if block is None:
        return call(frame.execution, *words, None)
    try:
        return call(frame.execution, *words, block(frame))
    except Jump as jump:
        if jump.kind == "break":
            return jump.value
        raise
