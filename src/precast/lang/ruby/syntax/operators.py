"""Operations and assignments, by how strongly their signs bind."""

from precast.base.spans import Span
from precast.lang.issues import erb as issues
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.grammar import ASSIGNMENTS, POWERS, UNARY, Grammar
from precast.lang.ruby.syntax.lexer import Token
from precast.lang.ruby.syntax.nodes import Node


class Operators(Grammar):
    """The part of the parser that reads what stands between values."""

    def expression(self) -> Node:
        """An assignment, or an operation."""
        first = self.token
        if first.sort == "*":
            self.take()
            left: Node = nodes.Splat(first.span, self.operation(0))
        else:
            left = self.operation(0)
        if self.token.sort == "," and self._is_many():
            return self.assign_many(left)
        if self.token.sort in ASSIGNMENTS:
            return self.assign(left)
        return left

    def _is_many(self) -> bool:
        """Whether `a, b = …` begins here: a statement of names up to one `=`."""
        at, depth = self.at, 0
        while (sort := self.tokens[at].sort) not in ("\n", "end of template", "output end", "do"):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sort, 0)
            if depth < 0:
                return False
            if sort == "=" and depth == 0:
                return True
            if sort not in ("name", "ivar", ",", "*", "[", "]", "(", ")", "string", "symbol", "number"):
                return False
            at += 1
        return False

    def assign(self, target: Node) -> Node:
        word = self.take()
        self.skip_lines()
        self._check_target(target, word.span)
        value = self.expression()
        if word.sort == "=" and self.token.sort == "," and not isinstance(target, nodes.Call):
            items = [value]
            while self.accept(","):
                items.append(self.operation(0))
            value = nodes.Listed(word.span, tuple(items))
        return nodes.Assign(word.span, target, value, word.sort[:-1])

    def assign_many(self, first: Node) -> Node:
        targets = [first]
        while self.accept(","):
            star = self.token
            is_rest = self.accept("*")
            target = self.operation(0)
            targets.append(nodes.Splat(star.span, target) if is_rest else target)
        for target in targets:
            self._check_target(target.value if isinstance(target, nodes.Splat) else target, target.span)
        word = self.expect("=")
        value = self.expression()
        if self.token.sort == ",":
            items = [value]
            while self.accept(","):
                items.append(self.operation(0))
            value = nodes.Listed(word.span, tuple(items))
        return nodes.AssignMany(word.span, tuple(targets), value)

    def _check_target(self, target: Node, place: Span) -> None:
        if isinstance(target, nodes.Name):
            self.locals.add(target.name)
        elif not isinstance(target, nodes.Ivar) and not (isinstance(target, nodes.Call) and target.name == "[]"):
            raise issues.NOT_IN_SUBSET.error(self.source, place, construct="an assignment to this")

    def operation(self, power: int) -> Node:
        left = self.unary()
        while True:
            token = self.token
            binding = POWERS.get(token.sort, -1)
            if binding <= power or (token.sort == "?" and power >= 10):
                return left
            self.take()
            self.skip_lines()
            left = self._operate(token, left, binding)

    def _operate(self, token: Token, left: Node, binding: int) -> Node:
        if token.sort == "?":
            then = self.operation(9)
            self.skip_lines()
            self._colon()
            self.skip_lines()
            return nodes.If(token.span, left, then, self.operation(9))
        if token.sort in ("..", "...") and self.token.sort in ("]", ")"):
            return nodes.Ranged(token.span, left, nodes.Literal(token.span, None), token.sort == "...")
        right = self.operation(binding - 1 if token.sort == "**" else binding)
        if token.sort == "&&":
            return nodes.And(token.span, left, right)
        if token.sort == "||":
            return nodes.Or(token.span, left, right)
        if token.sort in ("..", "..."):
            return nodes.Ranged(token.span, left, right, token.sort == "...")
        if token.sort in ("!=", "!~"):
            name = "==" if token.sort == "!=" else "=~"
            return nodes.Not(token.span, nodes.Call(token.span, left, name, (right,)))
        return nodes.Call(token.span, left, token.sort, (right,))

    def _colon(self) -> None:
        if not self.accept(":"):
            self.fail("the other answer after `:` is expected")

    def unary(self) -> Node:
        token = self.token
        if token.sort == "!":
            self.take()
            return nodes.Not(token.span, self.operation(UNARY))
        if token.sort == "-":
            self.take()
            if self.token.sort == "number" and not self.token.is_spaced:  # the sign is part of it: -3.abs is 3
                number = self.take()
                return self.postfix(nodes.Literal(token.span, -number.value))
            value = self.operation(UNARY)
            return (
                nodes.Literal(token.span, -value.value)
                if isinstance(value, nodes.Literal) and isinstance(value.value, int | float)
                else nodes.Call(token.span, value, "-@")
            )
        if token.sort == "&":
            self.refuse("& here")
        if token.sort == "defined?":
            self.take()
            if self.token.sort == "(" and not self.token.is_spaced:
                return self.postfix(nodes.Defined(token.span, self.parenthesised(self.take())))
            return nodes.Defined(token.span, self.operation(UNARY))
        return self.postfix(self.primary())

    def postfix(self, left: Node) -> Node:
        while True:
            token = self.token
            if token.sort in (".", "&."):
                self.take()
                self.skip_lines()
                left = self.method(left, token.sort == "&.")
            elif token.sort == "::":
                self.take()
                name = self.take()
                if name.sort == "constant" and isinstance(left, nodes.Const) and self.token.sort != "(":
                    left = nodes.Const(name.span, f"{left.name}::{name.value}")
                else:
                    self.at -= 1
                    left = self.method(left, False)
            elif token.sort == "[" and not (token.is_spaced and self._is_command(left)):
                self.take()
                left = nodes.Call(token.span, left, "[]", self.arguments("]"))
            else:
                return left

    def _is_command(self, left: Node) -> bool:
        """`foo [1]` calls foo, unless foo is a variable."""
        return isinstance(left, nodes.Name) and left.name not in self.locals
