"""Evaluates code whose value the text alone determines: literals, collections of them, and a few calls that rearrange them.

Everything that depends on more than the text raises `NotStatic`, so that a reader never takes a guess for a value.
"""

from collections.abc import Callable, Mapping
from typing import Any

from precast.base.errors import PrecastError
from precast.lang.ruby.declarations.static_methods import STATIC_METHODS, NotStatic, static_text
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.values import Pattern, Symbol
from precast.lang.values.regexps import compile_regexp

# Calls a method: of the constant with this name, or of the same file if the name is empty.
CallMethod = Callable[[str, str, tuple[Any, ...]], Any]
_MAX_CALL_DEPTH = 20


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Lambda:
    """A block or lambda as a value."""

    def __init__(self, block: nodes.Block, evaluator: "StaticEvaluator") -> None:
        self.block = block
        self._evaluator = evaluator

    def __call__(self, *args: Any) -> Any:
        return self._evaluator.apply(self.block.parameters, self.block.body, args)

    @property
    def is_identity(self) -> bool:
        """Whether the block returns its argument unchanged."""
        body: nodes.Node = self.block.body
        while isinstance(body, nodes.Sequence) and len(body.statements) == 1:
            body = body.statements[0]
        parameters = self.block.parameters
        return isinstance(body, nodes.Name) and len(parameters) == 1 and body.name == parameters[0].name


class StaticEvaluator:
    """Evaluates trees with the names known so far."""

    def __init__(self, names: Mapping[str, Any], call_method: CallMethod | None = None, depth: int = 0) -> None:
        self.names = dict(names)
        self._call_method = call_method
        self._depth = depth

    def value(self, node: nodes.Node) -> Any:
        """Return the value of a tree. Raises NotStatic."""
        match node:
            case nodes.Literal(value=value):
                return value
            case nodes.Sequence(statements=statements):
                last: Any = None
                for statement in statements:
                    last = self.value(statement)
                return last
            case nodes.ArrayLiteral(items=items):
                return self._items(items)
            case nodes.HashLiteral(pairs=pairs):
                return {_key(self.value(key)): self.value(item) for key, item in pairs}
            case nodes.Interpolation():
                return self._interpolation(node)
            case nodes.Name(name=name):
                return self._look_up(name)
            case nodes.Const(name=name):
                return self._known(name)
            case nodes.Block():
                return Lambda(node, self)
            case nodes.Call():
                return self._call(node)
            case _:
                return self._control(node)

    def _control(self, node: nodes.Node) -> Any:
        match node:
            case nodes.Assign(target=nodes.Name(name=name), value=given, operator=operator):
                value = self.value(given)
                if operator:
                    value = _call_static(self._known(name), operator, (value,))
                self.names[name] = value
                return value
            case nodes.If(condition=condition, then=then, otherwise=otherwise):
                if _is_true(self.value(condition)):
                    return self.value(then)
                return None if otherwise is None else self.value(otherwise)
            case nodes.And(left=left, right=right):
                value = self.value(left)
                return self.value(right) if _is_true(value) else value
            case nodes.Or(left=left, right=right):
                value = self.value(left)
                return value if _is_true(value) else self.value(right)
            case nodes.Not(value=inner):
                return not _is_true(self.value(inner))
            case nodes.Jump(kind="return", value=given):
                raise _Return(None if given is None else self.value(given))
            case _:
                raise NotStatic

    def _items(self, items: tuple[nodes.Node, ...]) -> list[Any]:
        values: list[Any] = []
        for item in items:
            if isinstance(item, nodes.Splat):
                inner = self.value(item.value)
                values += inner if isinstance(inner, list) else [inner]
            else:
                values.append(self.value(item))
        return values

    def _interpolation(self, node: nodes.Interpolation) -> Any:
        parts = [self.value(piece) for piece in node.pieces]
        if node.kind == "pattern":
            return make_pattern("".join(map(_inside_pattern, parts)), node.flags)
        text = "".join(map(static_text, parts))
        return Symbol(text) if node.kind == "symbol" else text

    def _look_up(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        return self._call_own(name, ())

    def _call_own(self, name: str, args: tuple[Any, ...]) -> Any:
        """Call a method of the same file."""
        if self._call_method is None:
            raise NotStatic
        return self._call_method("", name, args)

    def _known(self, name: str) -> Any:
        if name not in self.names:
            raise NotStatic
        return self.names[name]

    def _call(self, node: nodes.Call) -> Any:
        args = tuple(self._items(node.args))
        block = self.value(node.block) if node.block is not None else None
        receiver = node.receiver
        if receiver is None:
            return self._call_own(node.name, args)
        if isinstance(receiver, nodes.Const) and receiver.name not in self.names:
            return self._call_on_constant(receiver.name, node.name, args)
        return _call_static(self.value(receiver), node.name, args if block is None else (*args, block))

    def _call_on_constant(self, constant: str, name: str, args: tuple[Any, ...]) -> Any:
        if (constant, name) == ("Regexp", "new") and args:
            return args[0] if isinstance(args[0], Pattern) else make_pattern(str(args[0]), "")
        if (constant, name) == ("Regexp", "union") and args:
            items = args[0] if isinstance(args[0], list) else args
            return make_pattern("|".join(map(_inside_pattern, items)), "")
        if self._call_method is None:
            raise NotStatic
        return self._call_method(constant, name, args)

    def apply(self, parameters: tuple[nodes.Parameter, ...], body: nodes.Node, args: tuple[Any, ...]) -> Any:
        """Call a method or block with arguments."""
        if self._depth >= _MAX_CALL_DEPTH:
            raise NotStatic
        names, rest = dict(self.names), list(args)
        if len(parameters) > 1 and len(rest) == 1 and isinstance(rest[0], list):
            rest = list(rest[0])
        inner = StaticEvaluator(names, self._call_method, self._depth + 1)
        for parameter in parameters:
            if parameter.is_rest:
                inner.names[parameter.name], rest = rest, []
            elif rest:
                inner.names[parameter.name] = rest.pop(0)
            else:
                inner.names[parameter.name] = None if parameter.default is None else inner.value(parameter.default)
        try:
            return inner.value(body)
        except _Return as returned:
            return returned.value


def make_pattern(text: str, flags: str) -> Pattern:
    """Return a regular expression whose flags are part of its text. Raises NotStatic if Python cannot compile it."""
    known_flags = "".join(flag for flag in "mix" if flag in flags)
    whole = f"(?{known_flags}:{text})" if known_flags else text
    try:
        return Pattern(whole, compile_regexp(whole), "")
    except PrecastError:
        raise NotStatic from None


def _inside_pattern(part: Any) -> str:
    return f"(?:{part.text})" if isinstance(part, Pattern) else static_text(part)


def _key(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise NotStatic
    return value


def _is_true(value: Any) -> bool:
    return value is not None and value is not False


def _call_static(receiver: Any, name: str, args: tuple[Any, ...]) -> Any:
    method = STATIC_METHODS.get(name)
    if method is None:
        raise NotStatic
    try:
        return method(receiver, *args)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        raise NotStatic from None
