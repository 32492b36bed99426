"""Reads the Ruby that templates use into a tree. Everything else is refused by name and place."""

from precast.base.spans import Source, Span
from precast.lang.issues import erb as issues
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.calling import Calling
from precast.lang.ruby.syntax.grammar import ENDS
from precast.lang.ruby.syntax.lexer import Token, lex
from precast.lang.ruby.syntax.literals import Literals
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.syntax.operators import Operators
from precast.lang.ruby.syntax.reader import shown
from precast.lang.ruby.syntax.structures import Structures


def parse(source: Source) -> Node:
    """The tree of a template. Raises InputError LANG-900 or LANG-901."""
    parser = _Parser(source, lex(source))
    try:
        body = parser.statements()
    except RecursionError:
        raise issues.NOT_IN_SUBSET.error(source, parser.token.span, construct="code nested so deeply") from None
    parser.expect("end of template")
    return body


def parse_tokens(source: Source, tokens: list[Token]) -> Node:
    """The tree of a piece of code that is no template: statements up to a token that ends them all."""
    end = tokens[-1].span if tokens else Span(0, 0)
    parser = _Parser(source, [*tokens, Token("end of template", None, end)])
    body = parser.statements()
    parser.expect("end of template")
    return body


class _Parser(Operators, Calling, Literals, Structures):
    """All parts; statements and what a value begins with."""

    def statements(self) -> Node:
        start, found = self.token.span, list[Node]()
        self.skip_lines()
        while self.token.sort not in ENDS:
            found.append(self.statement())
            if self.token.sort not in ENDS and self.token.sort not in ("\n", "text", "output"):
                self.fail(f"{shown(self.token.sort)} does not follow here")
            self.skip_lines()
        return nodes.Sequence(start, tuple(found))

    def statement(self) -> Node:
        found = self.expression_statement()
        while self.token.sort in ("if", "unless", "while", "until", "rescue"):
            word = self.take()
            if word.sort == "rescue":
                found = nodes.Rescue(word.span, found, self.expression_statement())
                continue
            condition = self.expression_statement()
            if word.sort in ("while", "until"):
                found = nodes.While(word.span, condition, found, word.sort == "until")
            else:
                found = nodes.If(
                    word.span, condition if word.sort == "if" else nodes.Not(word.span, condition), found, None
                )
        return found

    def expression_statement(self) -> Node:
        """With `and`, `or`, `not`, which bind weakest."""
        left = self.negation()
        while self.token.sort in ("and", "or"):
            word = self.take()
            self.skip_lines()
            right = self.negation()
            left = nodes.And(word.span, left, right) if word.sort == "and" else nodes.Or(word.span, left, right)
        return left

    def negation(self) -> Node:
        if self.token.sort == "not":
            word = self.take()
            return nodes.Not(word.span, self.negation())
        if self.token.sort == "text":
            token = self.take()
            return nodes.Text(token.span, token.value)
        if self.token.sort == "output":
            return self.output()
        return self.expression()

    def output(self) -> Node:
        start = self.take()
        body = self.statements()
        self.expect("output end")
        return nodes.Output(start.span, body)

    def primary(self) -> Node:
        token = self.take()
        match token.sort:
            case "name":
                return self.named(token)
            case "constant":
                is_conversion = self.token.sort == "(" and not self.token.is_spaced
                return self.call(token, None, token.value) if is_conversion else nodes.Const(token.span, token.value)
            case "::":
                return nodes.Const(token.span, str(self.expect("constant").value))
            case "(":
                return self.parenthesised(token)
            case "[":
                return nodes.Listed(token.span, self.arguments("]"))
            case "{":
                return self.hash(token)
            case "->":
                return self.lambda_(token)
            case "label" if self.token.sort != "=>":
                # `x ? a: b`: what looks like a label is the first answer.
                self.tokens.insert(self.at, Token(":", None, token.span))
                return self.named(token._replace(sort="name"))
            case _:
                return self.literal(token) or self.structure(token)

    def named(self, token: Token) -> Node:
        name = str(token.value)
        if name in self.locals and not (self.token.sort == "(" and not self.token.is_spaced):
            return nodes.Name(token.span, name)
        if name in ("lambda", "proc"):
            block = self.block()
            if block is None:
                self.fail(f"{name} needs a block")
            return block
        found = self.call(token, None, name)
        assert isinstance(found, nodes.Call)
        return found if found.args or found.block is not None else nodes.Name(token.span, name)
