"""Parses calls: receivers, arguments with and without parentheses, blocks and their parameters."""

from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.grammar import ASSIGNMENTS, POWERS, Grammar
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.syntax.tokens import KEYWORDS, Token

# Tokens with which an argument of a call without parentheses may begin.
_ARGUMENT_STARTS = frozenset(
    (
        *("string", "number", "symbol", "ivar", "global", "constant", "name", "words", "pattern", "label"),
        *("nil", "true", "false", "self", "->", "not", "defined?", "!", "super", "yield", "case", "def"),
    )
)
# Operators that can be called like a method: `a.+(b)`.
_OPERATORS = frozenset(
    ("+", "-", "*", "/", "%", "==", "===", "<=>", "<", ">", "<=", ">=", "<<", "&", "|", "^", "=~", "!")
)


class Calls(Grammar):
    """The part of the parser that reads calls."""

    def method(self, receiver: Node, is_safe: bool) -> Node:
        token = self.take()
        if token.kind == "(":
            self.at -= 1
            name = "call"
        elif token.kind in ("name", "constant"):
            name = token.value
        elif token.kind == "label" and self.tokens[self.at - 1].value:
            # In `a ? b.c: d` the colon belongs to the condition.
            self.tokens.insert(self.at, Token(":", None, token.span))
            name = token.value
        elif token.value is None and token.kind in KEYWORDS | _OPERATORS:
            name = token.kind
        else:
            self.at -= 1
            self.fail("expected the name of a method after the dot")
        return self.call(token, receiver, str(name), is_safe)

    def call(self, token: Token, receiver: Node | None, name: str, is_safe: bool = False) -> Node:
        args: tuple[Node, ...] = ()
        passed: Node | None = None
        if self.token.kind == "(" and not self.token.is_spaced:
            self.take()
            args = self.arguments(")")
        elif self.begins_argument():
            args = self.bare_arguments()
        if args and isinstance(args[-1], nodes.Call) and args[-1].name == "&@":
            passed, args = args[-1].args[0], args[:-1]
        return nodes.Call(token.span, receiver, name, args, self.block() or passed, is_safe)

    def begins_argument(self) -> bool:
        """Return whether `foo x` is a call with an argument: a blank, then a token that begins a value and is no operator."""
        token, following = self.token, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if not token.is_spaced:  # `include?name` needs no blank
            before = self.tokens[self.at - 1]
            return before.kind == "name" and before.value[-1] in "?!" and token.kind in ("name", "ivar", "string")
        if token.kind in ("[", "-", "*", "&", "::", ":", "**", "("):
            if token.kind == "(":
                return True
            return token.kind in ("[", "-", "*", "&", "::", "**") and not following.is_spaced and following.kind != "\n"
        return token.kind in _ARGUMENT_STARTS

    def bare_arguments(self) -> tuple[Node, ...]:
        """Parse arguments without parentheses: a `do` after them belongs to the call itself, not to the last argument."""
        takes_do, self.takes_do = self.takes_do, False
        may_list, self.may_list = self.may_list, False
        items = [self.argument()]
        while self.accept(","):
            self.skip_lines()
            items.append(self.argument())
        self.takes_do, self.may_list = takes_do, may_list
        return _with_hash(items)

    def arguments(self, closing: str) -> tuple[Node, ...]:
        takes_do, self.takes_do = self.takes_do, True
        may_list, self.may_list = self.may_list, False
        items: list[Node | tuple[Node, Node]] = []
        self.skip_lines()
        while self.token.kind != closing:
            items.append(self.argument())
            self.skip_lines()
            if not self.accept(","):
                break
            self.skip_lines()
        self.expect(closing)
        self.takes_do, self.may_list = takes_do, may_list
        return _with_hash(items)

    def argument(self) -> "Node | tuple[Node, Node]":
        token = self.token
        if token.kind == "*":
            self.take()
            return nodes.Splat(token.span, self.operation(0))
        if token.kind == "**":
            self.take()
            value = self.operation(0)
            return nodes.Splat(token.span, value), value
        if token.kind == "&":
            self.take()
            value = self.operation(0) if self.token.kind != ")" else nodes.Name(token.span, "&")
            return nodes.Call(token.span, None, "&@", (value,))
        if token.kind == "label":
            self.take()
            self.skip_lines()
            key = self.string_or(token, "symbol")
            if self.token.kind in (",", ")", "}"):  # `{a:, b:}` takes the values of the names
                return key, nodes.Name(token.span, str(token.value))
            return key, self.expression_argument()
        value = self.expression_argument()
        if self.token.kind == "=>":
            self.take()
            self.skip_lines()
            return value, self.expression_argument()
        return value

    def expression_argument(self) -> Node:
        if self.token.kind == "not":
            return self.negation()
        left = self.operation(0)
        return self.assign(left) if self.token.kind in ASSIGNMENTS else left

    def block(self) -> Node | None:
        token = self.token
        if token.kind == "{":
            closing = "}"
        elif token.kind == "do" and self.takes_do:
            closing = "end"
        else:
            return None
        self.take()
        known = set(self.locals)
        if closing == "}" or self.token.kind in ("|", "||") or self.tokens[self.at + 1].kind == "|":
            self.skip_lines()
        parameters = self.parameters("|") if self.accept("|") else ()
        if self.token.kind == "||":
            self.take()
        body = self.body_with_rescue(token, closing)
        self.locals = known
        return nodes.Block(token.span, parameters, body)

    def parameters(self, closing: str) -> tuple[Parameter, ...]:
        parameters = self.bare_parameters((closing,))
        self.expect(closing)
        return parameters

    def bare_parameters(self, ends: tuple[str, ...]) -> tuple[Parameter, ...]:
        """Parse parameters up to a token that ends them."""
        parameters: list[Parameter] = []
        self.skip_lines() if ends != ("\n",) else None
        while self.token.kind not in ends:
            parameters.append(self._parameter())
            if "\n" not in ends:
                self.accept_lines(ends)
            if not self.accept(","):
                break
            self.skip_lines()
        if self.token.kind == "\n" and "|" in ends:  # `|a; b|`: names that are local to the block
            self.take()
            while self.token.kind == "name":
                self.locals.add(str(self.take().value))
                self.accept(",")
        return tuple(parameters)

    def accept_lines(self, ends: tuple[str, ...]) -> None:
        """Skip line ends before a comma or the end of the parameters; a semicolon begins the local names of a block."""
        at = self.at
        while self.tokens[at].kind == "\n":
            at += 1
        if self.tokens[at].kind in ends or self.tokens[at].kind == ",":
            self.at = at

    def _parameter(self) -> Parameter:
        if self.accept("("):
            return Parameter(inner=self.parameters(")"))
        sign = self.token.kind
        if sign in ("*", "**", "&", "..."):
            self.take()
            if sign == "...":
                self.refuse("...")
            name = str(self.take().value) if self.token.kind == "name" else sign
            self.locals.add(name)
            return Parameter(name, is_rest=sign == "*", is_key_rest=sign == "**", is_block=sign == "&")
        token = self.take()
        if token.kind not in ("name", "label"):
            self.at -= 1
            self.fail("expected a parameter")
        self.locals.add(token.value)
        if token.kind == "label":
            has_default = self.token.kind not in (",", ")", "|", "\n", "{", "do")
            return Parameter(token.value, default=self.operation(POWERS["|"]) if has_default else None, is_key=True)
        default = self.operation(POWERS["|"]) if self.accept("=") else None
        return Parameter(token.value, default=default)


def _with_hash(items: "list[Node | tuple[Node, Node]]") -> tuple[Node, ...]:
    """Return the arguments, with the pairs at their end gathered into one hash."""
    plain = [item for item in items if isinstance(item, Node)]
    pairs = [item for item in items if not isinstance(item, Node)]
    if not pairs:
        return tuple(plain)
    passed = plain.pop() if plain and isinstance(plain[-1], nodes.Call) and plain[-1].name == "&@" else None
    pairs_hash = nodes.HashLiteral(pairs[0][0].span, tuple(pairs))
    return (*plain, pairs_hash) if passed is None else (*plain, pairs_hash, passed)
