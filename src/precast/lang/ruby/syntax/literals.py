"""Values that are written out: numbers, texts with code in them, patterns, words, hashes."""

from precast.lang.ruby.erb.values import Symbol
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.grammar import Grammar
from precast.lang.ruby.syntax.lexer import Interpolated, Token
from precast.lang.ruby.syntax.nodes import Node


class Literals(Grammar):
    """The part of the parser that reads values."""

    def literal(self, token: Token) -> Node | None:
        match token.sort:
            case "number":
                return nodes.Literal(token.span, token.value)
            case "nil" | "true" | "false":
                return nodes.Literal(token.span, {"nil": None, "true": True, "false": False}[token.sort])
            case "string":
                return self._strings(token)
            case "symbol":
                return self.string_or(token, "symbol")
            case "pattern":
                return self._pattern(token)
            case "words":
                words, is_symbols = token.value
                items = [Symbol(word) if is_symbols else word for word in words]
                return nodes.Listed(token.span, tuple(nodes.Literal(token.span, item) for item in items))
            case "ivar":
                return nodes.Ivar(token.span, token.value)
            case "global":
                return nodes.Global(token.span, token.value)
            case _:
                return None

    def _strings(self, token: Token) -> Node:
        found = self.string_or(token, "string")
        while self.token.sort == "string":  # neighbours are one
            other = self.string_or(self.take(), "string")
            found = nodes.Call(token.span, found, "+", (other,))
        return found

    def string_or(self, token: Token, sort: str) -> Node:
        if isinstance(token.value, Interpolated):
            return nodes.Joined(token.span, sort, self._pieces(token, token.value))
        return nodes.Literal(token.span, Symbol(token.value) if sort == "symbol" else token.value)

    def _pattern(self, token: Token) -> Node:
        text, flags = token.value
        pieces = self._pieces(token, text) if isinstance(text, Interpolated) else (nodes.Literal(token.span, text),)
        return nodes.Joined(token.span, "pattern", pieces, flags)

    def _pieces(self, token: Token, text: Interpolated) -> tuple[Node, ...]:
        found: list[Node] = []
        for piece in text.pieces:
            if isinstance(piece, str):
                found.append(nodes.Literal(token.span, piece))
                continue
            inner = type(self)(self.source, piece)
            inner.locals = self.locals
            found.append(inner.statements())
            inner.expect("end of template")
        return tuple(found)

    def hash(self, token: Token) -> Node:
        args = self.arguments("}")
        if not args:
            return nodes.Mapped(token.span, ())
        if len(args) != 1 or not isinstance(args[0], nodes.Mapped):
            self.fail("a hash is written { key => value }")
        return args[0]
