"""Closures of literals, of names, and of the text and output of templates."""

from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.closures import Closure, ClosureBuilder
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.methods.dispatch import call_global
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.values import SCOPE, Constant, Pattern, Range, Symbol, hash_key, join_pieces, to_s
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
        return lambda frame: frame.execution.out.append(to_s(value(frame)))

    def _interpolation(self, node: nodes.Interpolation) -> Closure:
        pieces = [self.compile(piece) for piece in node.pieces]
        if node.kind == "pattern":
            return self.with_position(node, self._pattern(pieces, node.flags))
        if node.kind == "symbol":
            return lambda frame: Symbol(str(join_pieces([to_s(piece(frame)) for piece in pieces])))
        return lambda frame: join_pieces([to_s(piece(frame)) for piece in pieces])

    @staticmethod
    def _pattern(pieces: list[Closure], given_flags: str) -> Closure:
        flags = "".join(flag for flag in given_flags if flag in "imx")
        before = f"(?{flags})" if flags else ""

        def run(frame: Frame) -> Any:
            parts = [frame.execution.resolve(piece(frame)) for piece in pieces]
            text = "".join(part.text if isinstance(part, Pattern) else str(to_s(part)) for part in parts)
            return Pattern(text, compile_regexp(f"{before[:-1]}:{text})" if before else text), flags)

        return run

    def _array(self, node: nodes.ArrayLiteral) -> Closure:
        return self.compile_items(node.items)

    def _hash(self, node: nodes.HashLiteral) -> Closure:
        pairs = [(self.compile(key), self.compile(value)) for key, value in node.pairs]
        return lambda frame: {hash_key(key(frame)): value(frame) for key, value in pairs}

    def _range(self, node: nodes.RangeLiteral) -> Closure:
        first, last, is_exclusive = self.compile(node.first), self.compile(node.last), node.is_exclusive
        return lambda frame: Range(first(frame), last(frame), is_exclusive)

    def _name(self, node: nodes.Name) -> Closure:
        name = node.name

        def run(frame: Frame) -> Any:
            holder = frame.holder(name)
            if holder is not None:
                return holder.variables[name]
            return SCOPE if name == "scope" else call_global(frame.execution, name, [], None)

        return self.with_position(node, run)

    def _ivar(self, node: nodes.Ivar) -> Closure:
        return lambda frame: frame.execution.read_ivar(node.name)

    def _constant(self, node: nodes.Const) -> Closure:
        return lambda frame: Constant(node.name)

    def _global(self, node: nodes.Global) -> Closure:
        if not node.name.isdigit() and node.name not in ("~", "&"):
            raise issues.NOT_IN_SUBSET.error(self.source, node.span, construct=f"${node.name}")

        def run(frame: Frame) -> Any:
            match = frame.execution.match
            if match is None or node.name == "~":
                return match
            number = 0 if node.name == "&" else int(node.name)
            return match[number] if number <= len(match.groups()) else None

        return run
