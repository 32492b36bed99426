"""Turns the tree of a template into closures: each takes a frame and gives a value."""

from collections.abc import Callable
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.frames import Frame
from precast.lang.ruby.erb.rendering import Leaving, Rendering
from precast.lang.ruby.erb.values import (
    SCOPE,
    Constant,
    Pattern,
    Proc,
    Range,
    Symbol,
    equal,
    hash_key,
    is_a,
    is_true,
    range_items,
    text_of,
    to_s,
)
from precast.lang.ruby.methods.calls import call_global, call_method
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.values.core import Unknown
from precast.lang.values.regexps import compile_regexp

Code = Callable[[Frame], Any]


class Evaluation:
    """Makes code of one template's tree."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._makers: dict[type, Callable[[Any], Code]] = {
            nodes.Literal: self._literal,
            nodes.Text: self._text,
            nodes.Output: self._output,
            nodes.Joined: self._joined,
            nodes.Listed: self._listed,
            nodes.Mapped: self._mapped,
            nodes.Ranged: self._ranged,
            nodes.Name: self._name,
            nodes.Ivar: lambda node: lambda frame: frame.rendering.ivar(node.name),
            nodes.Global: self._global,
            nodes.Const: lambda node: lambda frame: Constant(node.name),
            nodes.Block: self._block,
            nodes.Define: self._define,
            nodes.Call: self._call,
            nodes.And: self._and,
            nodes.Or: self._or,
            nodes.Not: self._not,
            nodes.Defined: self._defined,
            nodes.If: self._if,
            nodes.While: self._while,
            nodes.For: self._for,
            nodes.Case: self._case,
            nodes.Assign: self._assign,
            nodes.AssignMany: self._assign_many,
            nodes.Leave: self._leave,
            nodes.Rescue: self._rescue,
            nodes.Sequence: self._sequence,
        }

    def code(self, node: Node) -> Code:
        maker = self._makers.get(type(node))
        if maker is None:
            raise issues.NOT_IN_SUBSET.error(self.source, node.span, construct="this")
        return maker(node)

    def placed(self, node: Node, code: Code) -> Code:
        """Errors that have no place yet get this one."""
        source, span = self.source, node.span

        def run(frame: Frame) -> Any:
            try:
                return code(frame)
            except PrecastError as error:
                if error.span is None:
                    error.source, error.span = source, span
                raise
            except (
                TypeError,
                ValueError,
                ZeroDivisionError,
                IndexError,
                KeyError,
                OverflowError,
                AttributeError,
            ) as error:
                name = getattr(node, "name", "this")
                raise issues.BAD_CALL.error(
                    source, span, name=name, reason=str(error) or type(error).__name__
                ) from error

        return run

    def _literal(self, node: nodes.Literal) -> Code:
        value = node.value
        return lambda frame: value

    def _text(self, node: nodes.Text) -> Code:
        text = node.text
        return lambda frame: frame.rendering.out.append(text)

    def _output(self, node: nodes.Output) -> Code:
        value = self.code(node.value)
        return lambda frame: frame.rendering.out.append(to_s(value(frame)))

    def _sequence(self, node: nodes.Sequence) -> Code:
        codes = [self.code(one) for one in node.statements]
        if len(codes) == 1:
            return codes[0]

        def run(frame: Frame) -> Any:
            value = None
            for code in codes:
                value = code(frame)
            return value

        return run

    def _joined(self, node: nodes.Joined) -> Code:
        pieces = [self.code(piece) for piece in node.pieces]
        if node.sort == "pattern":
            flags = "".join(flag for flag in node.flags if flag in "imx")
            before = f"(?{flags})" if flags else ""

            def pattern(frame: Frame) -> Any:
                parts = [frame.rendering.known(piece(frame)) for piece in pieces]
                text = "".join(part.text if isinstance(part, Pattern) else str(to_s(part)) for part in parts)
                return Pattern(text, compile_regexp(f"{before[:-1]}:{text})" if before else text), flags)

            return self.placed(node, pattern)
        if node.sort == "symbol":
            return lambda frame: Symbol(str(text_of([to_s(piece(frame)) for piece in pieces])))
        return lambda frame: text_of([to_s(piece(frame)) for piece in pieces])

    def _items(self, items: tuple[Node, ...]) -> Callable[[Frame], list[Any]]:
        codes = [
            (self.code(item.value), True) if isinstance(item, nodes.Splat) else (self.code(item), False)
            for item in items
        ]
        if not any(is_splat for _, is_splat in codes):
            plain = [code for code, _ in codes]
            return lambda frame: [code(frame) for code in plain]

        def run(frame: Frame) -> list[Any]:
            found: list[Any] = []
            for code, is_splat in codes:
                value = code(frame)
                found += _array(value) if is_splat else [value]
            return found

        return run

    def _listed(self, node: nodes.Listed) -> Code:
        return self._items(node.items)

    def _mapped(self, node: nodes.Mapped) -> Code:
        pairs = [(self.code(key), self.code(value)) for key, value in node.pairs]
        return lambda frame: {hash_key(key(frame)): value(frame) for key, value in pairs}

    def _ranged(self, node: nodes.Ranged) -> Code:
        first, last, is_exclusive = self.code(node.first), self.code(node.last), node.is_exclusive
        return lambda frame: Range(first(frame), last(frame), is_exclusive)

    def _name(self, node: nodes.Name) -> Code:
        name = node.name

        def run(frame: Frame) -> Any:
            holder = frame.holder(name)
            if holder is not None:
                return holder.variables[name]
            return SCOPE if name == "scope" else call_global(frame.rendering, name, [], None)

        return self.placed(node, run)

    def _global(self, node: nodes.Global) -> Code:
        if not node.name.isdigit() and node.name not in ("~", "&"):
            raise issues.NOT_IN_SUBSET.error(self.source, node.span, construct=f"${node.name}")

        def run(frame: Frame) -> Any:
            match = frame.rendering.match
            if match is None or node.name == "~":
                return match
            number = 0 if node.name == "&" else int(node.name)
            return match[number] if number <= len(match.groups()) else None

        return run

    def _block(self, node: nodes.Block) -> Code:
        bind, body = self._binding(node.parameters), self.code(node.body)
        arity = len(node.parameters)

        def make(frame: Frame) -> Proc:
            def call(*args: Any) -> Any:
                inner = Frame(frame.rendering, frame)
                bind(inner, args)
                try:
                    return body(inner)
                except Leaving as leaving:
                    if leaving.sort == "next":
                        return leaving.value
                    raise

            return Proc(arity, call)

        return make

    def _binding(self, parameters: tuple[Parameter, ...]) -> Callable[[Frame, tuple[Any, ...]], None]:
        """Puts arguments into variables; one array given to several parameters is spread over them."""
        defaults = {one.name: self.code(one.default) for one in parameters if one.default is not None}
        inner = {at: self._binding(one.inner) for at, one in enumerate(parameters) if one.inner}
        has_many = len(parameters) > 1 or any(one.is_rest for one in parameters)

        def bind(frame: Frame, args: tuple[Any, ...]) -> None:
            given = list(args[0]) if has_many and len(args) == 1 and isinstance(args[0], list) else list(args)
            taken = 0
            for at, one in enumerate(parameters):
                if one.is_rest:
                    upto = max(taken, len(given) - (len(parameters) - at - 1))
                    frame.variables[one.name] = given[taken:upto]
                    taken = upto
                    continue
                value = given[taken] if taken < len(given) else None
                if at in inner:
                    inner[at](frame, (value if isinstance(value, list) else [value],))
                else:
                    is_missing = taken >= len(given) and one.name in defaults
                    frame.variables[one.name] = defaults[one.name](frame) if is_missing else value
                taken += 1

        return bind

    def _call(self, node: nodes.Call) -> Code:
        args, name = self._items(node.args), node.name
        block = None if node.block is None else self._passed(node.block)
        if node.receiver is None:
            return self.placed(node, lambda frame: _breakable(frame, call_global, (name, args(frame)), block))
        receiver, is_safe, store = self.code(node.receiver), node.is_safe, self._store(node.receiver)

        def run(frame: Frame) -> Any:
            value = receiver(frame)
            if is_safe and value is None:
                return None
            given = args(frame)
            if isinstance(value, str) and store is not None:
                if name == "<<":
                    result = text_of([value, *map(to_s, given)])
                    store(frame, result)
                    return result
                if name.endswith("!") and name != "!":
                    result = _breakable(frame, call_method, (value, name[:-1], given), block)
                    store(frame, result)
                    return None if result == value else result
            return _breakable(frame, call_method, (value, name, given), block)

        return self.placed(node, run)

    def _define(self, node: nodes.Define) -> Code:
        bind, body, name = self._binding(node.parameters), self.code(node.body), node.name

        def make(frame: Frame) -> Symbol:
            rendering = frame.rendering

            def call(*args: Any) -> Any:
                inner = Frame(rendering)
                bind(inner, args)
                try:
                    return body(inner)
                except Leaving as leaving:
                    if leaving.sort == "return":
                        return leaving.value
                    raise

            rendering.defined[name] = Proc(len(node.parameters), call)
            return Symbol(name)

        return make

    def _passed(self, node: Node) -> Code:
        if isinstance(node, nodes.Block):
            return self._block(node)
        code = self.code(node)

        def run(frame: Frame) -> Any:
            value = code(frame)
            if not isinstance(value, Symbol):
                return value
            rendering = frame.rendering
            return Proc(1, lambda item, *more: call_method(rendering, item, value.name, list(more), None))

        return run

    def _store(self, target: Node) -> Callable[[Frame, Any], None] | None:
        """How something is put into a variable or a place of an array or hash."""
        if isinstance(target, nodes.Name):
            name = target.name
            return lambda frame, value: frame.assign(name, value)
        if isinstance(target, nodes.Ivar):
            ivar = target.name
            return lambda frame, value: frame.rendering.own.__setitem__(ivar, value)
        if isinstance(target, nodes.Call) and target.name == "[]" and target.receiver is not None:
            receiver, args = self.code(target.receiver), self._items(target.args)
            return lambda frame, value: _put(frame, receiver(frame), args(frame), value)
        return None

    def _assign(self, node: nodes.Assign) -> Code:
        store = self._store(node.target)
        assert store is not None, "the parser has looked at the target"
        value, operator = self.code(node.value), node.operator
        if not operator:

            def assign(frame: Frame) -> Any:
                result = value(frame)
                store(frame, result)
                return result

            return self.placed(node, assign)
        read = self._read(node.target)

        def update(frame: Frame) -> Any:
            before = read(frame)
            if operator in ("||", "&&"):
                if is_true(before) == (operator == "||"):
                    return before
                result = value(frame)
            else:
                result = call_method(frame.rendering, before, operator, [value(frame)], None)
            store(frame, result)
            return result

        return self.placed(node, update)

    def _read(self, target: Node) -> Code:
        if isinstance(target, nodes.Name):  # nil before it is assigned
            name = target.name

            def run(frame: Frame) -> Any:
                holder = frame.holder(name)
                return None if holder is None else holder.variables[name]

            return run
        return self.code(target)

    def _assign_many(self, node: nodes.AssignMany) -> Code:
        stores = [
            (self._store(one.value if isinstance(one, nodes.Splat) else one), isinstance(one, nodes.Splat))
            for one in node.targets
        ]
        value = self.code(node.value)

        def run(frame: Frame) -> Any:
            items = _array(value(frame))
            taken = 0
            for at, (store, is_rest) in enumerate(stores):
                assert store is not None, "the parser has looked at the target"
                if is_rest:
                    upto = max(taken, len(items) - (len(stores) - at - 1))
                    store(frame, items[taken:upto])
                    taken = upto
                else:
                    store(frame, items[taken] if taken < len(items) else None)
                    taken += 1
            return items

        return self.placed(node, run)

    def _and(self, node: nodes.And) -> Code:
        left, right = self.code(node.left), self.code(node.right)
        return lambda frame: right(frame) if is_true(value := left(frame)) else value

    def _or(self, node: nodes.Or) -> Code:
        left, right = self.code(node.left), self.code(node.right)
        return lambda frame: value if is_true(value := left(frame)) else right(frame)

    def _not(self, node: nodes.Not) -> Code:
        value = self.code(node.value)
        return lambda frame: not is_true(value(frame))

    def _defined(self, node: nodes.Defined) -> Code:
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

    def _if(self, node: nodes.If) -> Code:
        condition, then = self.code(node.condition), self.code(node.then)
        otherwise = (lambda frame: None) if node.otherwise is None else self.code(node.otherwise)
        return lambda frame: then(frame) if is_true(condition(frame)) else otherwise(frame)

    def _while(self, node: nodes.While) -> Code:
        condition, body, is_until = self.code(node.condition), self.code(node.body), node.is_until

        def run(frame: Frame) -> Any:
            while is_true(condition(frame)) != is_until:
                frame.rendering.step()
                try:
                    body(frame)
                except Leaving as leaving:
                    if leaving.sort == "break":
                        return leaving.value
                    if leaving.sort != "next":
                        raise
            return None

        return self.placed(node, run)

    def _for(self, node: nodes.For) -> Code:
        items, bind, body = self.code(node.items), self._binding(node.parameters), self.code(node.body)

        def run(frame: Frame) -> Any:
            for item in _array(items(frame)):
                frame.rendering.step()
                bind(frame, (item,))
                try:
                    body(frame)
                except Leaving as leaving:
                    if leaving.sort == "break":
                        return leaving.value
                    if leaving.sort != "next":
                        raise
            return None

        return self.placed(node, run)

    def _case(self, node: nodes.Case) -> Code:
        subject = None if node.subject is None else self.code(node.subject)
        whens = [(self._items(when.values), self.code(when.body)) for when in node.whens]
        otherwise = (lambda frame: None) if node.otherwise is None else self.code(node.otherwise)

        def run(frame: Frame) -> Any:
            value = None if subject is None else frame.rendering.known(subject(frame))
            for values, body in whens:
                for wanted in values(frame):
                    if is_true(wanted) if subject is None else matches(frame.rendering, wanted, value):
                        return body(frame)
            return otherwise(frame)

        return self.placed(node, run)

    def _leave(self, node: nodes.Leave) -> Code:
        value = (lambda frame: None) if node.value is None else self.code(node.value)
        sort = node.sort

        def run(frame: Frame) -> Any:
            raise Leaving(sort, value(frame))

        return run

    def _rescue(self, node: nodes.Rescue) -> Code:
        body, handler, name = self.code(node.body), self.code(node.handler), node.name

        def run(frame: Frame) -> Any:
            try:
                return body(frame)
            except PrecastError as error:
                if name:
                    frame.assign(name, error.message)
                return handler(frame)

        return run


def matches(rendering: Rendering, wanted: Any, value: Any) -> bool:
    """Ruby's `===`."""
    if isinstance(wanted, Constant):
        return is_a(value, wanted.name)
    if isinstance(wanted, Pattern):
        rendering.match = wanted.compiled.search(str(to_s(value))) if isinstance(value, str | Symbol) else None
        return rendering.match is not None
    if isinstance(wanted, Range):
        if isinstance(value, float):
            return bool(wanted.first <= value <= wanted.last)
        return any(equal(item, value) for item in range_items(wanted))
    return equal(rendering.known(wanted), value)


def _breakable(frame: Frame, call: Callable[..., Any], words: tuple[Any, ...], block: Code | None) -> Any:
    """A call with its block; `break` in the block ends the call."""
    if block is None:
        return call(frame.rendering, *words, None)
    try:
        return call(frame.rendering, *words, block(frame))
    except Leaving as leaving:
        if leaving.sort == "break":
            return leaving.value
        raise


def _array(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [[key, item] for key, item in value.items()]
    if isinstance(value, Range):
        return range_items(value)
    return [] if value is None else [value]


def _put(frame: Frame, holder: Any, args: list[Any], value: Any) -> None:
    call_method(frame.rendering, holder, "[]=", [*args, value], None)


def _has_ivar(frame: Frame, name: str) -> bool:
    rendering = frame.rendering
    return name in rendering.own or isinstance(rendering.ivar(name), Unknown) or rendering.ivar(name) is not None
