"""Reads tokens into a tree. Constructs outside of the subset are refused with their name and position."""

from precast.base.spans import Source, Span
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.calls import Calls
from precast.lang.ruby.syntax.grammar import ENDS
from precast.lang.ruby.syntax.literals import Literals
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.syntax.operators import Operators
from precast.lang.ruby.syntax.structures import Structures
from precast.lang.ruby.syntax.tokens import END, Token, describe_kind


def parse_tokens(source: Source, tokens: list[Token]) -> Node:
    """Return the tree of a piece of code. Raises InputError LANG-900 or LANG-901, or RecursionError for code nested too deeply."""
    end = tokens[-1].span if tokens else Span(0, 0)
    parser = Parser(source, [*tokens, Token(END, None, end)])
    body = parser.statements()
    parser.expect(END)
    return body


class Parser(Operators, Calls, Literals, Structures):
    """Combines the parts, and reads statements and the beginnings of values."""

    def statements(self) -> Node:
        start, statements = self.token.span, list[Node]()
        self.skip_lines()
        while self.token.kind not in ENDS:
            statements.append(self.statement())
            if self.token.kind not in ENDS and self.token.kind not in ("\n", "text", "output"):
                self.fail(f"{describe_kind(self.token.kind)} is not allowed here")
            self.skip_lines()
        return nodes.Sequence(start, tuple(statements))

    def statement(self) -> Node:
        is_block = self.token.kind == "begin"
        node = self.expression_statement()
        while self.token.kind in ("if", "unless", "while", "until", "rescue"):
            word = self.take()
            if word.kind == "rescue":
                handler = nodes.Rescue((), None, self.expression_statement())
                node = nodes.Begin(word.span, node, (handler,))
                continue
            condition = self.expression_statement()
            if word.kind in ("while", "until"):
                node = nodes.While(word.span, condition, node, word.kind == "until", is_after=is_block)
            else:
                node = nodes.If(
                    word.span, condition if word.kind == "if" else nodes.Not(word.span, condition), node, None
                )
        return node

    def expression_statement(self) -> Node:
        left = self.negation()
        while self.token.kind in ("and", "or"):
            word = self.take()
            self.skip_lines()
            right = self.negation()
            left = nodes.And(word.span, left, right) if word.kind == "and" else nodes.Or(word.span, left, right)
        return left

    def negation(self) -> Node:
        if self.token.kind == "not":
            word = self.take()
            return nodes.Not(word.span, self.negation())
        if self.token.kind == "text":
            token = self.take()
            return nodes.Text(token.span, token.value)
        if self.token.kind == "output":
            return self.output()
        return self.expression()

    def output(self) -> Node:
        start = self.take()
        body = self.statements()
        self.expect("output end")
        return nodes.Output(start.span, body)

    def primary(self) -> Node:
        token = self.take()
        match token.kind:
            case "name":
                return self.named(token)
            case "constant":
                return self._constant(token)
            case "::":
                return nodes.Const(token.span, str(self.expect("constant").value))
            case "(":
                return self.parenthesised(token)
            case "[":
                return nodes.ArrayLiteral(token.span, self.arguments("]"))
            case "{":
                return self.hash(token)
            case "->":
                return self.lambda_(token)
            case "label" if self.token.kind != "=>":
                # In `x ? a: b` the label is the first branch of the condition.
                self.tokens.insert(self.at, Token(":", None, token.span))
                return self.named(token._replace(kind="name"))
            case _:
                return self.literal(token) or self.structure(token)

    def _constant(self, token: Token) -> Node:
        """Parse a constant, or a call of a function such as `Integer(x)` or `Integer x`."""
        following = self.token
        is_bare = following.is_spaced and following.kind in ("name", "string", "number", "ivar")
        if is_bare or (following.kind == "(" and not following.is_spaced):
            return self.call(token, None, token.value)
        return nodes.Const(token.span, token.value)

    def named(self, token: Token) -> Node:
        name = str(token.value)
        if name in self.locals and not (self.token.kind == "(" and not self.token.is_spaced):
            return nodes.Name(token.span, name)
        if name in ("lambda", "proc"):
            block = self.block()
            if isinstance(block, nodes.Block):
                return nodes.Block(token.span, block.parameters, block.body, is_lambda=name == "lambda")
            if name == "proc" or self.token.kind != "(":
                self.fail(f"{name} needs a block")
        call = self.call(token, None, name)
        assert isinstance(call, nodes.Call)
        return call if call.args or call.block is not None else nodes.Name(token.span, name)
