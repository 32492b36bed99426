"""What a piece of Ruby is worth without running it: literals, lists of them, and the few calls that only rearrange them.

Whatever depends on more than the text is `NotConstant`: the reader then knows that it does not know.
"""

from collections.abc import Callable, Mapping
from typing import Any

from precast.base.errors import PrecastError
from precast.lang.ruby.code.methods import METHODS, NotConstant, ruby_text
from precast.lang.ruby.erb.values import Pattern, Symbol
from precast.lang.ruby.syntax import nodes
from precast.lang.values.regexps import compile_regexp

Function = Callable[[str, str, tuple[Any, ...]], Any]
_CALLS_DEEP = 20


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Lambda:
    """A block kept as a value."""

    def __init__(self, block: nodes.Block, evaluator: "Constants") -> None:
        self.block = block
        self._evaluator = evaluator

    def __call__(self, *args: Any) -> Any:
        return self._evaluator.apply(self.block.parameters, self.block.body, args)

    @property
    def is_identity(self) -> bool:
        """Whether it gives back what it is given."""
        body: nodes.Node = self.block.body
        while isinstance(body, nodes.Sequence) and len(body.statements) == 1:
            body = body.statements[0]
        parameters = self.block.parameters
        return isinstance(body, nodes.Name) and len(parameters) == 1 and body.name == parameters[0].name


class Constants:
    """Evaluates trees with the names known so far. `function` finds what a constant's method gives."""

    def __init__(self, names: Mapping[str, Any], function: Function | None = None, depth: int = 0) -> None:
        self.names = dict(names)
        self._function = function
        self._depth = depth

    def value(self, node: nodes.Node) -> Any:
        """The value of a tree. Raises NotConstant."""
        match node:
            case nodes.Literal(value=value):
                return value
            case nodes.Sequence(statements=statements):
                found: Any = None
                for each in statements:
                    found = self.value(each)
                return found
            case nodes.Listed(items=items):
                return self._items(items)
            case nodes.Mapped(pairs=pairs):
                return {_key(self.value(key)): self.value(item) for key, item in pairs}
            case nodes.Joined():
                return self._joined(node)
            case nodes.Name(name=name):
                return self._named(name)
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
                    value = _method(self._known(name), operator, (value,))
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
            case nodes.Leave(sort="return", value=given):
                raise _Return(None if given is None else self.value(given))
            case _:
                raise NotConstant

    def _items(self, items: tuple[nodes.Node, ...]) -> list[Any]:
        found: list[Any] = []
        for item in items:
            if isinstance(item, nodes.Splat):
                inner = self.value(item.value)
                found += inner if isinstance(inner, list) else [inner]
            else:
                found.append(self.value(item))
        return found

    def _joined(self, node: nodes.Joined) -> Any:
        parts = [self.value(piece) for piece in node.pieces]
        if node.sort == "pattern":
            return make_pattern("".join(map(_inside_pattern, parts)), node.flags)
        text = "".join(map(ruby_text, parts))
        return Symbol(text) if node.sort == "symbol" else text

    def _named(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        return self._own(name, ())

    def _own(self, name: str, args: tuple[Any, ...]) -> Any:
        """A method of the same module."""
        if self._function is None:
            raise NotConstant
        return self._function("", name, args)

    def _known(self, name: str) -> Any:
        if name not in self.names:
            raise NotConstant
        return self.names[name]

    def _call(self, node: nodes.Call) -> Any:
        args = tuple(self._items(node.args))
        block = self.value(node.block) if node.block is not None else None
        receiver = node.receiver
        if receiver is None:
            return self._own(node.name, args)
        if isinstance(receiver, nodes.Const) and receiver.name not in self.names:
            return self._constant_call(receiver.name, node.name, args)
        return _method(self.value(receiver), node.name, args if block is None else (*args, block))

    def _constant_call(self, constant: str, name: str, args: tuple[Any, ...]) -> Any:
        if (constant, name) == ("Regexp", "new") and args:
            return args[0] if isinstance(args[0], Pattern) else make_pattern(str(args[0]), "")
        if (constant, name) == ("Regexp", "union") and args:
            items = args[0] if isinstance(args[0], list) else args
            return make_pattern("|".join(map(_inside_pattern, items)), "")
        if self._function is None:
            raise NotConstant
        return self._function(constant, name, args)

    def apply(self, parameters: tuple[nodes.Parameter, ...], body: nodes.Node, args: tuple[Any, ...]) -> Any:
        """Calls a method or block with arguments."""
        if self._depth >= _CALLS_DEEP:
            raise NotConstant
        names, rest = dict(self.names), list(args)
        if len(parameters) > 1 and len(rest) == 1 and isinstance(rest[0], list):
            rest = list(rest[0])
        inner = Constants(names, self._function, self._depth + 1)
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
    """A regular expression; the flags become part of its text. Raises NotConstant where Python has no such expression."""
    kept = "".join(flag for flag in "mix" if flag in flags)
    whole = f"(?{kept}:{text})" if kept else text
    try:
        return Pattern(whole, compile_regexp(whole), "")
    except PrecastError:
        raise NotConstant from None


def _inside_pattern(part: Any) -> str:
    return f"(?:{part.text})" if isinstance(part, Pattern) else ruby_text(part)


def _key(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise NotConstant
    return value


def _is_true(value: Any) -> bool:
    return value is not None and value is not False


def _method(receiver: Any, name: str, args: tuple[Any, ...]) -> Any:
    method = METHODS.get(name)
    if method is None:
        raise NotConstant
    try:
        return method(receiver, *args)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        raise NotConstant from None
