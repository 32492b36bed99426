"""Closures of literals, of names and constants, and of the text and output of templates."""

from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.closures import Closure, ClosureBuilder
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.methods.constants import find_constant
from precast.lang.ruby.methods.dispatch import call_on_self
from precast.lang.ruby.objects import RubyClass, RubyObject
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.values import Pattern, Range, Symbol, hash_key, join_pieces, to_s
from precast.lang.values.regexps import compile_regexp


class Literals(ClosureBuilder):
    """The part of the compiler for values that the code writes out or names."""

    def _literal(self, node: nodes.Literal) -> Closure:
        value = node.value
        return lambda frame: value

    def _text(self, node: nodes.Text) -> Closure:
        text = node.text
        return lambda frame: frame.execution.out.append(text)

    def _output(self, node: nodes.Output) -> Closure:
        value = self.compile(node.value)
        return lambda frame: frame.execution.out.append(frame.execution.text(value(frame)))

    def _interpolation(self, node: nodes.Interpolation) -> Closure:
        pieces = [self.compile(piece) for piece in node.pieces]
        if node.kind == "pattern":
            return self.with_position(node, self._pattern(node, pieces))

        def run(frame: Frame) -> Any:
            text = frame.execution.text
            return join_pieces([text(piece(frame)) for piece in pieces])

        return run if node.kind == "string" else lambda frame: Symbol(str(run(frame)))

    @staticmethod
    def _pattern(node: nodes.Interpolation, pieces: list[Closure]) -> Closure:
        flags = "".join(flag for flag in "mix" if flag in node.flags)
        if all(isinstance(piece, nodes.Literal) for piece in node.pieces):
            constant = make_pattern("".join(str(piece.value) for piece in node.pieces), flags)  # type: ignore[attr-defined]
            return lambda frame: constant

        def run(frame: Frame) -> Any:
            parts = [frame.execution.resolve(piece(frame)) for piece in pieces]
            is_code = [not isinstance(piece, nodes.Literal) for piece in node.pieces]
            texts = [
                str(to_s(part)) if code or not isinstance(part, Pattern) else part.text
                for part, code in zip(parts, is_code, strict=True)
            ]
            return make_pattern("".join(texts), flags)

        return run

    def _array(self, node: nodes.ArrayLiteral) -> Closure:
        return self.compile_items(node.items)

    def _hash(self, node: nodes.HashLiteral) -> Closure:
        if any(isinstance(key, nodes.Splat) for key, _ in node.pairs):
            return self._hash_with_splats(node)
        pairs = [(self.compile(key), self.compile(value)) for key, value in node.pairs]
        return lambda frame: {hash_key(key(frame)): value(frame) for key, value in pairs}

    def _hash_with_splats(self, node: nodes.HashLiteral) -> Closure:
        pairs = [
            (None if isinstance(key, nodes.Splat) else self.compile(key), self.compile(value))
            for key, value in node.pairs
        ]

        def run(frame: Frame) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for key, value in pairs:
                if key is None:
                    made.update(value(frame) or {})
                else:
                    made[hash_key(key(frame))] = value(frame)
            return made

        return run

    def _range(self, node: nodes.RangeLiteral) -> Closure:
        first, last, is_exclusive = self.compile(node.first), self.compile(node.last), node.is_exclusive
        return lambda frame: Range(first(frame), last(frame), is_exclusive)

    def _name(self, node: nodes.Name) -> Closure:
        name = node.name
        place = self.scope.find(name)
        if place is not None:
            return read_local(place)
        if name in ("__FILE__", "__dir__"):
            path = self.source.path
            return lambda frame: frame.execution.shown_path(path, is_directory=name == "__dir__")
        return self.with_position(node, lambda frame: call_on_self(frame, name, [], None))

    def _self(self, node: nodes.Self) -> Closure:
        return lambda frame: frame.this

    def _ivar(self, node: nodes.Ivar) -> Closure:
        name = node.name

        def run(frame: Frame) -> Any:
            this = frame.this
            if isinstance(this, RubyObject | RubyClass):
                return this.ivars.get(name)
            return frame.execution.read_ivar(name)

        return run

    def _constant(self, node: nodes.Const) -> Closure:
        name = node.name
        return self.with_position(node, lambda frame: find_constant(frame, name))

    def _global(self, node: nodes.Global) -> Closure:
        name = node.name
        if name.isdigit() or name in ("~", "&"):
            return lambda frame: _last_match(frame, name)
        if name == "!":
            return lambda frame: frame.execution.exception
        if name in ("?", "CHILD_STATUS"):
            return lambda frame: frame.execution.child_status
        if not name.isidentifier() or name in ("stdout", "stderr", "stdin", "PROGRAM_NAME"):
            raise issues.NOT_IN_SUBSET.error(self.source, node.span, construct=f"${name}")
        return lambda frame: frame.execution.globals.get(name)

    def _defined(self, node: nodes.Defined) -> Closure:
        inner = node.value
        while isinstance(inner, nodes.Sequence) and len(inner.statements) == 1:
            inner = inner.statements[0]
        match inner:
            case nodes.Ivar(name=name):
                return lambda frame: "instance-variable" if _has_ivar(frame, name) else None
            case nodes.Name(name=name) if self.scope.find(name) is not None:
                return lambda frame: "local-variable"
            case nodes.Name(name=name):
                return lambda frame: "method" if frame.execution.has_method(frame.this, name) else None
            case nodes.Const(name=name):
                return lambda frame: "constant" if frame.execution.has_constant(frame, name) else None
            case nodes.Yield():
                return lambda frame: "yield" if frame.home.block is not None else None
            case nodes.Assign() | nodes.AssignMany():
                return lambda frame: "assignment"
            case nodes.Call():
                return self._defined_call(inner)
        return lambda frame: "expression"

    def _defined_call(self, node: nodes.Call) -> Closure:
        if node.receiver is None:
            return lambda frame: "method" if frame.execution.has_method(frame.this, node.name) else None
        receiver: Node = node.receiver
        closure = self.compile(receiver)
        return lambda frame: "method" if frame.execution.has_method(closure(frame), node.name) else None


def read_local(place: tuple[int, int]) -> Closure:
    """Return the closure that reads a local variable; it is nil before its first assignment."""
    depth, at = place
    if depth == 0:
        return lambda frame: frame.slots[at]
    if depth == 1:
        return lambda frame: frame.outer.slots[at]  # type: ignore[union-attr]

    def run(frame: Frame) -> Any:
        for _ in range(depth):
            frame = frame.outer  # type: ignore[assignment]
        return frame.slots[at]

    return run


def make_pattern(text: str, flags: str = "") -> Pattern:
    """Return a pattern with Ruby's flags: `m` lets a dot match line ends."""
    return Pattern(text, compile_regexp(f"(?{flags}:{text})" if flags else text), flags)


def _last_match(frame: Frame, name: str) -> Any:
    match = frame.execution.match
    if match is None or name == "~":
        return match
    number = 0 if name == "&" else int(name)
    return match[number] if number <= len(match.groups()) else None


def _has_ivar(frame: Frame, name: str) -> bool:
    if isinstance(frame.this, RubyObject | RubyClass):
        return name in frame.this.ivars
    return frame.execution.has_ivar(name)
