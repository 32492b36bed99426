"""Parses what has an end: conditions, loops, definitions, lambdas, parentheses. Ruby's other structures are refused."""

from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.grammar import ENDS, Grammar
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.syntax.tokens import KEYWORDS, Token, describe_kind

REFUSED = frozenset(("undef", "redo"))
# Tokens that end a `next`, `break` or `return` without a value.
_JUMP_ENDS = ("\n", "if", "unless", "text", "output", "while", "until", "and", "or", ":")
# Operators that a method may define.
_OPERATORS = frozenset((
    "==", "===", "=~", "!", "!=", "<=>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "**", "<<", ">>", "&", "|", "^", "~",
))  # fmt: skip


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
                return self.body_with_rescue(token)
            case "next" | "break" | "return" | "retry":
                return self._jump(token)
            case _:
                return self._definition(token)

    def _definition(self, token: Token) -> Node:
        match token.kind:
            case "def":
                return self._define(token)
            case "class" | "module":
                return self._class(token)
            case "alias":
                new, old = self._alias_name(), self._alias_name()
                return nodes.Call(token.span, None, "alias_method", (new, old))
            case "yield":
                return nodes.Yield(token.span, self._optional_arguments())
            case "super":
                has_arguments = self.token.kind == "(" or self.begins_argument()
                return nodes.Super(token.span, self._optional_arguments() if has_arguments else None)
            case _:
                self.at -= self.tokens[self.at] is not token
                if token.kind in REFUSED:
                    self.refuse(token.kind)
                return self.fail(f"{describe_kind(token.kind)} cannot begin an expression")

    def _jump(self, token: Token) -> Node:
        if self.token.kind in ENDS or self.token.kind in _JUMP_ENDS:
            return nodes.Jump(token.span, token.kind, None)
        values = [self._jump_value()]
        while self.may_list and self.accept(","):
            self.skip_lines()
            values.append(self._jump_value())
        is_single = len(values) == 1 and not isinstance(values[0], nodes.Splat)
        return nodes.Jump(
            token.span, token.kind, values[0] if is_single else nodes.ArrayLiteral(token.span, tuple(values))
        )

    def _jump_value(self) -> Node:
        star = self.token
        return nodes.Splat(star.span, self.operation(0)) if self.accept("*") else self.expression_argument()

    def _optional_arguments(self) -> tuple[Node, ...]:
        if self.token.kind == "(" and not self.token.is_spaced:
            self.take()
            return self.arguments(")")
        return self.bare_arguments() if self.begins_argument() else ()

    def _alias_name(self) -> Node:
        token = self.take()
        return self.string_or(token._replace(value=token.value or token.kind), "symbol")

    def parenthesised(self, token: Token) -> Node:
        takes_do, self.takes_do = self.takes_do, True
        may_list, self.may_list = self.may_list, True
        body = self.statements()
        self.expect(")")
        self.takes_do, self.may_list = takes_do, may_list
        return body

    def lambda_(self, token: Token) -> Node:
        known = set(self.locals)
        parameters: tuple[Parameter, ...] = ()
        if self.accept("("):
            parameters = self.parameters(")")
        elif self.token.kind in ("name", "*", "&", "label"):
            parameters = self.bare_parameters(("{", "do"))
        takes_do, self.takes_do = self.takes_do, True
        block = self.block()
        self.takes_do = takes_do
        if not isinstance(block, nodes.Block):
            self.fail("-> needs a block")
        self.locals = known
        return nodes.Block(token.span, parameters, block.body, is_lambda=True)

    def _head(self) -> Node:
        """Parse the head of a loop; a `do` after it belongs to the loop, not to a call in the head."""
        takes_do, self.takes_do = self.takes_do, False
        head = self.expression_statement()
        self.takes_do = takes_do
        return head

    def _body(self, word: str) -> Node:
        self.accept(word)
        takes_do, self.takes_do = self.takes_do, True
        may_list, self.may_list = self.may_list, True
        body = self.statements()
        self.takes_do, self.may_list = takes_do, may_list
        self.expect("end")
        return body

    def _if(self, token: Token) -> Node:
        takes_do, self.takes_do = self.takes_do, True
        may_list, self.may_list = self.may_list, True
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
        self.takes_do, self.may_list = takes_do, may_list
        if token.kind == "unless":
            condition = nodes.Not(token.span, condition)
        return nodes.If(token.span, condition, then, otherwise)

    def _case(self, token: Token) -> Node:
        subject = None if self.token.kind in ("\n", "when") else self.expression_statement()
        self._skip_blank_text()
        takes_do, self.takes_do = self.takes_do, True
        may_list, self.may_list = self.may_list, True
        whens: list[nodes.When] = []
        while self.accept("when"):
            self.skip_lines()
            values = [self._when_value()]
            while self.accept(","):
                self.skip_lines()
                values.append(self._when_value())
            self.skip_lines()
            self.accept("then")
            whens.append(nodes.When(tuple(values), self.statements()))
        if self.token.kind == "in":
            self.refuse("case with `in`")
        otherwise = self.statements() if self.accept("else") else None
        self.expect("end")
        self.takes_do, self.may_list = takes_do, may_list
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
        is_of_self = self.token.kind in ("self", "constant") and self.tokens[self.at + 1].kind == "."
        if is_of_self:
            self.take()
            self.take()
        name = self._method_name()
        known, self.locals = self.locals, set()
        takes_do, self.takes_do = self.takes_do, True
        may_list, self.may_list = self.may_list, True
        parameters: tuple[Parameter, ...] = ()
        if self.accept("("):
            parameters = self.parameters(")")
        elif self.token.kind != "\n":
            parameters = self.bare_parameters(("\n",))
        body = self.body_with_rescue(token)
        self.locals, self.takes_do, self.may_list = known, takes_do, may_list
        return nodes.MethodDefinition(token.span, name, parameters, body, is_of_self)

    def _method_name(self) -> str:
        token = self.take()
        if token.kind == "[":
            self.expect("]")
            name = "[]"
        elif token.kind in _OPERATORS:
            return token.kind
        elif token.kind in ("name", "constant", "label") or token.kind in KEYWORDS:
            name = str(token.value or token.kind)
        else:
            self.at -= 1
            self.fail("expected the name of a method after def")
        if self.token.kind == "=" and not self.token.is_spaced and self.tokens[self.at + 1].kind in ("(", "name"):
            self.take()
            return f"{name}="
        return name

    def _class(self, token: Token) -> Node:
        known, self.locals = self.locals, set()
        if self.accept("<<"):
            self.expect("self")
            name, parent = "", None
        else:
            self.accept("::")
            name = str(self.expect("constant").value)
            while self.accept("::"):
                name += f"::{self.expect('constant').value}"
            parent = self.expression() if token.kind == "class" and self.accept("<") else None
        body = self.body_with_rescue(token)
        self.locals = known
        return nodes.ClassDefinition(token.span, name, parent, body, token.kind == "module")

    def body_with_rescue(self, token: Token, closing: str = "end") -> Node:
        """Parse a body up to its end, with its `rescue`, `else` and `ensure` if it has them."""
        takes_do, self.takes_do = self.takes_do, True
        may_list, self.may_list = self.may_list, True
        body = self.statements()
        rescues: list[nodes.Rescue] = []
        while self.accept("rescue"):
            rescues.append(self._rescue())
        otherwise = self.statements() if rescues and self.accept("else") else None
        ensure = self.statements() if self.accept("ensure") else None
        self.expect(closing)
        self.takes_do, self.may_list = takes_do, may_list
        if not rescues and ensure is None:
            return body
        return nodes.Begin(token.span, body, tuple(rescues), otherwise, ensure)

    def _rescue(self) -> nodes.Rescue:
        classes: list[Node] = []
        while self.token.kind in ("constant", "::", "*", "name"):
            classes.append(self._when_value())
            if not self.accept(","):
                break
            self.skip_lines()
        target: Node | None = None
        if self.accept("=>"):
            target = self.operation(0)
            if isinstance(target, nodes.Name):
                self.locals.add(target.name)
        self.accept("then")
        return nodes.Rescue(tuple(classes), target, self.statements())
