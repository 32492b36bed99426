"""Parses what has an end: conditions, loops, definitions, lambdas, parentheses. Ruby's other structures are refused."""

from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.grammar import ENDS, Grammar
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.syntax.tokens import Token, describe_kind

REFUSED = frozenset(("class", "module", "yield", "super", "alias", "undef", "redo", "retry"))
# Tokens that end a `next`, `break` or `return` without a value.
_JUMP_ENDS = ("\n", "if", "unless", "text", "output")


class Structures(Grammar):
    """The part of the parser that reads structures."""

    def structure(self, token: Token) -> Node:
        match token.kind:
            case "if" | "unless":
                return self._if(token)
            case "case":
                return self._case(token)
            case "while" | "until":
                condition = self._head()
                body = self._body("do")
                return nodes.While(token.span, condition, body, token.kind == "until")
            case "for":
                return self._for(token)
            case "begin":
                return self._body_with_rescue(token)
            case "def":
                return self._define(token)
            case "next" | "break" | "return":
                has_value = self.token.kind not in ENDS and self.token.kind not in _JUMP_ENDS
                return nodes.Jump(token.span, token.kind, self.expression() if has_value else None)
            case _:
                self.at -= self.tokens[self.at] is not token
                if token.kind in REFUSED:
                    self.refuse(token.kind)
                return self.fail(f"{describe_kind(token.kind)} cannot begin an expression")

    def parenthesised(self, token: Token) -> Node:
        takes_do, self.takes_do = self.takes_do, True
        body = self.statements()
        self.expect(")")
        self.takes_do = takes_do
        return body

    def lambda_(self, token: Token) -> Node:
        known = set(self.locals)
        parameters: tuple[Parameter, ...] = ()
        if self.accept("("):
            parameters = self.parameters(")")
        elif self.token.kind == "name":
            parameters = (Parameter(self.take().value),)
            self.locals.add(parameters[0].name)
        block = self.block()
        if not isinstance(block, nodes.Block):
            self.fail("-> needs a block")
        self.locals = known
        return nodes.Block(token.span, parameters, block.body)

    def _head(self) -> Node:
        """Parse the head of a loop; a `do` after it belongs to the loop, not to a call in the head."""
        takes_do, self.takes_do = self.takes_do, False
        head = self.expression_statement()
        self.takes_do = takes_do
        return head

    def _body(self, word: str) -> Node:
        self.accept(word)
        body = self.statements()
        self.expect("end")
        return body

    def _if(self, token: Token) -> Node:
        condition = self.expression_statement()
        self.skip_lines()
        self.accept("then")
        then = self.statements()
        otherwise: Node | None = None
        word = self.token
        if self.accept("elsif"):
            otherwise = self._if(word._replace(kind="if"))
        else:
            if self.accept("else"):
                otherwise = self.statements()
            self.expect("end")
        if token.kind == "unless":
            condition = nodes.Not(token.span, condition)
        return nodes.If(token.span, condition, then, otherwise)

    def _case(self, token: Token) -> Node:
        subject = None if self.token.kind == "\n" else self.expression_statement()
        self._skip_blank_text()
        whens: list[nodes.When] = []
        while self.accept("when"):
            values = [self._when_value()]
            while self.accept(","):
                self.skip_lines()
                values.append(self._when_value())
            self.skip_lines()
            self.accept("then")
            whens.append(nodes.When(tuple(values), self.statements()))
        otherwise = self.statements() if self.accept("else") else None
        self.expect("end")
        return nodes.Case(token.span, subject, tuple(whens), otherwise)

    def _when_value(self) -> Node:
        star = self.token
        return nodes.Splat(star.span, self.operation(0)) if self.accept("*") else self.operation(0)

    def _skip_blank_text(self) -> None:
        self.skip_lines()
        while self.token.kind == "text" and not self.token.value.strip():
            self.take()
            self.skip_lines()

    def _for(self, token: Token) -> Node:
        parameters = self.parameters("in")
        items = self._head()
        return nodes.For(token.span, parameters, items, self._body("do"))

    def _define(self, token: Token) -> Node:
        name = str(self.expect("name").value)
        known, self.locals = self.locals, set()
        parameters: tuple[Parameter, ...] = ()
        if self.accept("("):
            parameters = self.parameters(")")
        elif self.token.kind == "name":
            parameters = self.parameters("\n")
        body = self._body_with_rescue(token)
        self.locals = known
        return nodes.MethodDefinition(token.span, name, parameters, body)

    def _body_with_rescue(self, token: Token) -> Node:
        """Parse a body up to `end`, with its `rescue` if it has one."""
        body = self.statements()
        if self.token.kind == "ensure":
            self.refuse("ensure")
        if not self.accept("rescue"):
            self.expect("end")
            return body
        name = ""
        while self.token.kind in ("constant", "::", ","):
            self.take()
        if self.accept("=>"):
            name = str(self.expect("name").value)
            self.locals.add(name)
        self.accept("then")
        handler = self.statements()
        if self.token.kind in ("rescue", "ensure", "else"):
            self.refuse(f"{self.token.kind} after rescue")
        self.expect("end")
        return nodes.Rescue(token.span, body, handler, name)
