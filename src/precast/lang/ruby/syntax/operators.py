"""Parses operations and assignments by operator precedence."""

from precast.base.spans import Span
from precast.lang.issues import erb as issues
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.grammar import ASSIGNMENTS, POWERS, UNARY, Grammar
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.syntax.tokens import END, Token


class Operators(Grammar):
    """The part of the parser that reads operators and what they apply to."""

    def expression(self) -> Node:
        first = self.token
        if first.kind == "*":
            self.take()
            left: Node = nodes.Splat(first.span, self.operation(0))
        else:
            left = self.operation(0)
        if self.token.kind == "," and self._is_many():
            return self.assign_many(left)
        if self.token.kind in ASSIGNMENTS:
            return self.assign(left)
        return left

    def _is_many(self) -> bool:
        """Return whether `a, b = …` begins here: only assignable tokens up to an `=`."""
        at, depth = self.at, 0
        while (kind := self.tokens[at].kind) not in ("\n", END, "output end", "do"):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(kind, 0)
            if depth < 0:
                return False
            if kind == "=" and depth == 0:
                return True
            if kind not in ("name", "ivar", ",", "*", "[", "]", "(", ")", "string", "symbol", "number"):
                return False
            at += 1
        return False

    def assign(self, target: Node) -> Node:
        word = self.take()
        self.skip_lines()
        self._check_target(target, word.span)
        value = self.expression()
        if word.kind == "=" and self.token.kind == "," and not isinstance(target, nodes.Call):
            items = [value]
            while self.accept(","):
                items.append(self.operation(0))
            value = nodes.ArrayLiteral(word.span, tuple(items))
        return nodes.Assign(word.span, target, value, word.kind[:-1])

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
        if self.token.kind == ",":
            items = [value]
            while self.accept(","):
                items.append(self.operation(0))
            value = nodes.ArrayLiteral(word.span, tuple(items))
        return nodes.AssignMany(word.span, tuple(targets), value)

    def _check_target(self, target: Node, span: Span) -> None:
        if isinstance(target, nodes.Name):
            self.locals.add(target.name)
        elif not isinstance(target, nodes.Ivar) and not (isinstance(target, nodes.Call) and target.name == "[]"):
            raise issues.NOT_IN_SUBSET.error(self.source, span, construct="an assignment to this target")

    def operation(self, power: int) -> Node:
        left = self.unary()
        while True:
            token = self.token
            binding = POWERS.get(token.kind, -1)
            if binding <= power or (token.kind == "?" and power >= 10):
                return left
            self.take()
            self.skip_lines()
            left = self._operate(token, left, binding)

    def _operate(self, token: Token, left: Node, binding: int) -> Node:
        if token.kind == "?":
            then = self.operation(9)
            self.skip_lines()
            self._colon()
            self.skip_lines()
            return nodes.If(token.span, left, then, self.operation(9))
        if token.kind in ("..", "...") and self.token.kind in ("]", ")"):
            return nodes.RangeLiteral(token.span, left, nodes.Literal(token.span, None), token.kind == "...")
        right = self.operation(binding - 1 if token.kind == "**" else binding)
        if token.kind == "&&":
            return nodes.And(token.span, left, right)
        if token.kind == "||":
            return nodes.Or(token.span, left, right)
        if token.kind in ("..", "..."):
            return nodes.RangeLiteral(token.span, left, right, token.kind == "...")
        if token.kind in ("!=", "!~"):
            name = "==" if token.kind == "!=" else "=~"
            return nodes.Not(token.span, nodes.Call(token.span, left, name, (right,)))
        return nodes.Call(token.span, left, token.kind, (right,))

    def _colon(self) -> None:
        if not self.accept(":"):
            self.fail("expected `:` and the second branch of the condition")

    def unary(self) -> Node:
        token = self.token
        if token.kind == "!":
            self.take()
            return nodes.Not(token.span, self.operation(UNARY))
        if token.kind == "-":
            self.take()
            if self.token.kind == "number" and not self.token.is_spaced:  # the sign is part of the number: -3.abs is 3
                number = self.take()
                return self.postfix(nodes.Literal(token.span, -number.value))
            value = self.operation(UNARY)
            return (
                nodes.Literal(token.span, -value.value)
                if isinstance(value, nodes.Literal) and isinstance(value.value, int | float)
                else nodes.Call(token.span, value, "-@")
            )
        if token.kind == "&":
            self.refuse("& at the beginning of a value")
        if token.kind == "defined?":
            self.take()
            if self.token.kind == "(" and not self.token.is_spaced:
                return self.postfix(nodes.Defined(token.span, self.parenthesised(self.take())))
            return nodes.Defined(token.span, self.operation(UNARY))
        return self.postfix(self.primary())

    def postfix(self, left: Node) -> Node:
        while True:
            token = self.token
            if token.kind in (".", "&."):
                self.take()
                self.skip_lines()
                left = self.method(left, token.kind == "&.")
            elif token.kind == "::":
                self.take()
                name = self.take()
                if name.kind == "constant" and isinstance(left, nodes.Const) and self.token.kind != "(":
                    left = nodes.Const(name.span, f"{left.name}::{name.value}")
                else:
                    self.at -= 1
                    left = self.method(left, False)
            elif token.kind == "[" and not (token.is_spaced and self._is_command(left)):
                self.take()
                left = nodes.Call(token.span, left, "[]", self.arguments("]"))
            else:
                return left

    def _is_command(self, left: Node) -> bool:
        """Return whether `foo [1]` calls foo, which it does unless foo is a variable."""
        return isinstance(left, nodes.Name) and left.name not in self.locals
