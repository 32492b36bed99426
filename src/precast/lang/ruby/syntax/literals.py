"""Parses literals: numbers, strings with code in them, patterns, lists of words, hashes."""

from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.grammar import Grammar
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.syntax.tokens import END, Interpolated, Token
from precast.lang.ruby.values import Symbol


class Literals(Grammar):
    """The part of the parser that reads literals."""

    def literal(self, token: Token) -> Node | None:
        match token.kind:
            case "number":
                return nodes.Literal(token.span, token.value)
            case "nil" | "true" | "false":
                return nodes.Literal(token.span, {"nil": None, "true": True, "false": False}[token.kind])
            case "string":
                return self._strings(token)
            case "symbol":
                return self.string_or(token, "symbol")
            case "command":
                return nodes.Call(token.span, None, "`", (self.string_or(token, "string"),))
            case "pattern":
                return self._pattern(token)
            case "words":
                words, is_symbols = token.value
                return nodes.ArrayLiteral(token.span, tuple(self._word(token, word, is_symbols) for word in words))
            case "ivar":
                return nodes.Ivar(token.span, token.value)
            case "global":
                return nodes.Global(token.span, token.value)
            case "self":
                return nodes.Self(token.span)
            case _:
                return None

    def _strings(self, token: Token) -> Node:
        text = self.string_or(token, "string")
        while self.token.kind == "string":  # Ruby joins adjacent strings
            following = self.string_or(self.take(), "string")
            text = nodes.Call(token.span, text, "+", (following,))
        return text

    def string_or(self, token: Token, kind: str) -> Node:
        if isinstance(token.value, Interpolated):
            return nodes.Interpolation(token.span, kind, self._pieces(token, token.value))
        return nodes.Literal(token.span, Symbol(token.value) if kind == "symbol" else token.value)

    def _word(self, token: Token, word: "str | Interpolated", is_symbol: bool) -> Node:
        return self.string_or(token._replace(value=word), "symbol" if is_symbol else "string")

    def _pattern(self, token: Token) -> Node:
        text, flags = token.value
        pieces = self._pieces(token, text) if isinstance(text, Interpolated) else (nodes.Literal(token.span, text),)
        return nodes.Interpolation(token.span, "pattern", pieces, flags)

    def _pieces(self, token: Token, text: Interpolated) -> tuple[Node, ...]:
        parsed: list[Node] = []
        for piece in text.pieces:
            if isinstance(piece, str):
                parsed.append(nodes.Literal(token.span, piece))
                continue
            inner = type(self)(self.source, piece)
            inner.locals = self.locals
            parsed.append(inner.statements())
            inner.expect(END)
        return tuple(parsed)

    def hash(self, token: Token) -> Node:
        args = self.arguments("}")
        if not args:
            return nodes.HashLiteral(token.span, ())
        if len(args) != 1 or not isinstance(args[0], nodes.HashLiteral):
            self.fail("a hash is written { key => value }")
        return args[0]
