"""Parses operations and assignments by operator precedence."""

from precast.base.spans import Span
from precast.lang.issues import erb as issues
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.grammar import ASSIGNMENTS, POWERS, UNARY, Grammar
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.syntax.tokens import END, Token

_TARGET_TOKENS = frozenset((
    "name", "ivar", "global", "constant", ",", "*", "[", "]", "(", ")", ".", "&.", "::", "self", "string", "symbol",
    "number", "-", "+",
))  # fmt: skip
# What may follow `..` when the range has no end.
_RANGE_ENDS = frozenset(("]", ")", "\n", END, "then", "output end", ","))


class Operators(Grammar):
    """The part of the parser that reads operators and what they apply to."""

    def expression(self) -> Node:
        first = self.token
        if first.kind == "*" or (first.kind == "(" and self._is_many()):
            return self.assign_many(self._target())
        left = self.operation(0)
        if self.token.kind == "," and self._is_many():
            return self.assign_many(left)
        return self.assign(left) if self.token.kind in ASSIGNMENTS else left

    def _is_many(self) -> bool:
        """Return whether `a, b = …` begins here: only assignable tokens up to an `=`."""
        at, depth, has_comma = self.at, 0, False
        while (kind := self.tokens[at].kind) not in ("\n", END, "output end", "do"):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(kind, 0)
            has_comma = has_comma or kind == ","
            if depth < 0:
                return False
            if kind == "=" and depth == 0:
                return has_comma
            if kind not in _TARGET_TOKENS:
                return False
            at += 1
        return False

    def assign(self, target: Node) -> Node:
        word = self.take()
        self.skip_lines()
        self._check_target(target, word.span)
        value = self._assigned(word)
        if word.kind == "=" and isinstance(target, nodes.Call) and target.name != "[]":
            return nodes.Call(word.span, target.receiver, f"{target.name}=", (value,), is_safe=target.is_safe)
        return nodes.Assign(word.span, target, value, word.kind[:-1])

    def _assigned(self, word: Token) -> Node:
        """Parse the value of an assignment: `a = b, c` and `a = *b` are arrays, `a = b rescue c` is one value."""
        star = self.token
        is_splat = self.accept("*")
        value = self.operation(0) if is_splat else self.expression()
        if is_splat:
            value = nodes.Splat(star.span, value)
        if word.kind == "=" and (is_splat or self.token.kind == ",") and self.may_list:
            items = [value]
            while self.accept(","):
                self.skip_lines()
                items.append(self.splat_or_operation())
            return nodes.ArrayLiteral(word.span, tuple(items))
        if self.token.kind == "rescue" and self.may_list:
            rescue = self.take()
            return nodes.Begin(rescue.span, value, (nodes.Rescue((), None, self.expression()),))
        return value

    def splat_or_operation(self) -> Node:
        star = self.token
        return nodes.Splat(star.span, self.operation(0)) if self.accept("*") else self.operation(0)

    def assign_many(self, first: Node) -> Node:
        targets = [first]
        while self.accept(","):
            if self.token.kind == "=":
                break
            targets.append(self._target())
        for target in targets:
            self._check_target(target, target.span)
        word = self.expect("=")
        self.skip_lines()
        value = self.splat_or_operation() if self.token.kind == "*" else self.expression()
        if self.token.kind == "," or isinstance(value, nodes.Splat):
            items = [value]
            while self.accept(","):
                self.skip_lines()
                items.append(self.splat_or_operation())
            value = nodes.ArrayLiteral(word.span, tuple(items))
        return nodes.AssignMany(word.span, tuple(targets), value)

    def _target(self) -> Node:
        token = self.token
        if self.accept("*"):
            is_named = self.token.kind not in (",", "=", ")")
            return nodes.Splat(token.span, self.operation(0) if is_named else nodes.Name(token.span, "*"))
        if self.accept("("):
            targets = [self._target()]
            while self.accept(","):
                targets.append(self._target())
            self.expect(")")
            return nodes.Targets(token.span, tuple(targets))
        return self.operation(0)

    def _check_target(self, target: Node, span: Span) -> None:
        if isinstance(target, nodes.Name):
            self.locals.add(target.name)
        elif isinstance(target, nodes.Splat):
            self._check_target(target.value, span)
        elif isinstance(target, nodes.Targets):
            for inner in target.targets:
                self._check_target(inner, span)
        elif not isinstance(target, nodes.Ivar | nodes.Global | nodes.Const) and not (
            isinstance(target, nodes.Call)
            and (target.name == "[]" or (target.receiver is not None and not target.args))
        ):
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
            return self._condition(token, left)
        if token.kind in ("..", "...") and self.token.kind in _RANGE_ENDS:
            return nodes.RangeLiteral(token.span, left, nodes.Literal(token.span, None), token.kind == "...")
        right = self.operation(binding - 1 if token.kind == "**" else binding)
        if token.kind in ("&&", "||"):
            if self.token.kind in ASSIGNMENTS and isinstance(right, nodes.Name | nodes.Ivar):
                right = self.assign(right)
            make = nodes.And if token.kind == "&&" else nodes.Or
            return make(token.span, left, right)
        if token.kind in ("..", "..."):
            return nodes.RangeLiteral(token.span, left, right, token.kind == "...")
        if token.kind in ("!=", "!~"):
            name = "==" if token.kind == "!=" else "=~"
            return nodes.Not(token.span, nodes.Call(token.span, left, name, (right,)))
        return nodes.Call(token.span, left, token.kind, (right,))

    def _condition(self, token: Token, left: Node) -> Node:
        may_list, self.may_list = self.may_list, False
        then = self._branch()
        self.skip_lines()
        if not self.accept(":"):
            self.fail("expected `:` and the second branch of the condition")
        self.skip_lines()
        otherwise = self._branch()
        self.may_list = may_list
        return nodes.If(token.span, left, then, otherwise)

    def _branch(self) -> Node:
        """Parse a branch of a condition, which may be an assignment."""
        branch = self.operation(9)
        return self.assign(branch) if self.token.kind in ASSIGNMENTS else branch

    def unary(self) -> Node:
        token = self.token
        match token.kind:
            case "!":
                self.take()
                return nodes.Not(token.span, self.operation(UNARY))
            case "-":
                self.take()
                return self._negative(token)
            case "+" | "~":
                self.take()
                value = self.operation(UNARY)
                return nodes.Call(token.span, value, "+@" if token.kind == "+" else "~")
            case "..":
                self.take()
                return nodes.RangeLiteral(token.span, nodes.Literal(token.span, None), self.operation(15), False)
            case "&":
                self.refuse("& at the beginning of a value")
            case "defined?":
                self.take()
                if self.token.kind == "(" and not self.token.is_spaced:
                    return self.postfix(nodes.Defined(token.span, self.parenthesised(self.take())))
                return nodes.Defined(token.span, self.operation(UNARY))
        return self.postfix(self.primary())

    def _negative(self, token: Token) -> Node:
        if self.token.kind == "number" and not self.token.is_spaced:  # the sign is part of the number: -3.abs is 3
            number = self.take()
            return self.postfix(nodes.Literal(token.span, -number.value))
        value = self.operation(UNARY)
        is_number = isinstance(value, nodes.Literal) and isinstance(value.value, int | float)
        if isinstance(value, nodes.Literal) and is_number:
            return nodes.Literal(token.span, -value.value)
        return nodes.Call(token.span, value, "-@")

    def postfix(self, left: Node) -> Node:
        while True:
            token = self.token
            if token.kind in (".", "&."):
                self.take()
                self.skip_lines()
                left = self.method(left, token.kind == "&.")
            elif token.kind == "::" and not (token.is_spaced and self._is_command(left)):
                self.take()
                name = self.take()
                is_constant = name.kind == "constant" and not (self.token.kind == "(" and not self.token.is_spaced)
                if is_constant and isinstance(left, nodes.Const):
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
