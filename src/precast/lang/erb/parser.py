"""Reads the Ruby that templates use into a tree. Everything else is refused by name and place."""

from precast.base.spans import Source, Span
from precast.lang import issues_erb as issues
from precast.lang.erb import nodes
from precast.lang.erb.lexer import Interpolated, Token, lex
from precast.lang.erb.nodes import Node, Parameter
from precast.lang.erb.reader import TokenReader, shown
from precast.lang.erb.values import Symbol

# Left binding powers, from weak to strong; and, or, not stand below all of these.
POWERS = {
    "?": 10, "..": 15, "...": 15, "||": 20, "&&": 25, "<=>": 35, "==": 35, "===": 35, "!=": 35, "=~": 35, "!~": 35,
    "<": 40, "<=": 40, ">": 40, ">=": 40, "|": 45, "^": 45, "&": 50, "<<": 55, ">>": 55, "+": 60, "-": 60,
    "*": 65, "/": 65, "%": 65, "**": 75,
}  # fmt: skip
UNARY = 70
ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "**=", "||=", "&&=", "<<=", "|=", "&="))
_ENDS = frozenset(
    ("end of template", "output end", "end", "}", ")", "]", "else", "elsif", "when", "rescue", "ensure", "in")
)
# What an argument of a call without parentheses may begin with.
_BEGINS = frozenset(
    (
        *("string", "number", "symbol", "ivar", "global", "constant", "name", "words", "pattern", "label"),
        *("nil", "true", "false", "self", "->", "not", "defined?", "!"),
    )
)
REFUSED = frozenset(("class", "module", "yield", "super", "alias", "undef", "redo", "retry"))


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


class _Parser(TokenReader):
    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.locals: set[str] = set()
        self.takes_do = True

    def statements(self) -> Node:
        start, found = self.token.span, list[Node]()
        self.skip_lines()
        while self.token.sort not in _ENDS:
            found.append(self.statement())
            if self.token.sort not in _ENDS and self.token.sort not in ("\n", "text", "output"):
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
                return self.postfix(nodes.Defined(token.span, self._parenthesised(self.take())))
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

    def method(self, receiver: Node, is_safe: bool) -> Node:
        token = self.take()
        if token.sort == "(":
            self.at -= 1
            name = "call"
        elif token.sort in ("name", "constant"):
            name = token.value
        elif token.sort == "label" and self.tokens[self.at - 1].value:
            # `a ? b.c: d`: the colon belongs to the question.
            self.tokens.insert(self.at, Token(":", None, token.span))
            name = token.value
        elif token.value is None and token.sort.isidentifier():
            name = token.sort
        else:
            self.at -= 1
            self.fail("the name of a method is expected after the dot")
        return self.call(token, receiver, str(name), is_safe)

    def call(self, token: Token, receiver: Node | None, name: str, is_safe: bool = False) -> Node:
        args: tuple[Node, ...] = ()
        passed: Node | None = None
        if self.token.sort == "(" and not self.token.is_spaced:
            self.take()
            args = self.arguments(")")
        elif self._begins_argument():
            args = self.bare_arguments()
        if args and isinstance(args[-1], nodes.Call) and args[-1].name == "&@":
            passed, args = args[-1].args[0], args[:-1]
        return nodes.Call(token.span, receiver, name, args, self.block() or passed, is_safe)

    def _begins_argument(self) -> bool:
        """Whether `foo x` is a call with an argument: a blank before, and something that begins a value and no operator."""
        token, following = self.token, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if not token.is_spaced:  # `include?name` needs none
            before = self.tokens[self.at - 1]
            return before.sort == "name" and before.value[-1] in "?!" and token.sort in ("name", "ivar", "string")
        if token.sort in ("[", "-", "*", "&", "::", ":"):
            return token.sort in ("[", "-", "*") and not following.is_spaced and following.sort != "\n"
        return token.sort in _BEGINS

    def bare_arguments(self) -> tuple[Node, ...]:
        items = [self.argument()]
        while self.accept(","):
            self.skip_lines()
            items.append(self.argument())
        return _with_hash(items)

    def arguments(self, closing: str) -> tuple[Node, ...]:
        takes_do, self.takes_do = self.takes_do, True
        items: list[Node | tuple[Node, Node]] = []
        self.skip_lines()
        while self.token.sort != closing:
            items.append(self.argument())
            self.skip_lines()
            if not self.accept(","):
                break
            self.skip_lines()
        self.expect(closing)
        self.takes_do = takes_do
        return _with_hash(items)

    def argument(self) -> "Node | tuple[Node, Node]":
        token = self.token
        if token.sort == "*":
            self.take()
            return nodes.Splat(token.span, self.operation(0))
        if token.sort == "**":
            self.refuse("**")
        if token.sort == "&":
            self.take()
            return nodes.Call(token.span, None, "&@", (self.operation(0),))
        if token.sort == "label":
            self.take()
            self.skip_lines()
            return self._string_or(token, "symbol"), self.expression_argument()
        value = self.expression_argument()
        if self.token.sort == "=>":
            self.take()
            self.skip_lines()
            return value, self.expression_argument()
        return value

    def expression_argument(self) -> Node:
        if self.token.sort == "not":
            return self.negation()
        left = self.operation(0)
        return self.assign(left) if self.token.sort in ASSIGNMENTS else left

    def block(self) -> Node | None:
        token = self.token
        if token.sort == "{":
            closing = "}"
        elif token.sort == "do" and self.takes_do:
            closing = "end"
        else:
            return None
        self.take()
        takes_do, self.takes_do = self.takes_do, True
        known = set(self.locals)
        parameters = self.parameters("|") if self.accept("|") else ()
        if self.token.sort == "||":
            self.take()
        body = self.statements()
        self.expect(closing)
        self.takes_do, self.locals = takes_do, known
        return nodes.Block(token.span, parameters, body)

    def parameters(self, closing: str) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        while self.token.sort != closing:
            if self.accept("("):
                found.append(Parameter(inner=self.parameters(")")))
            else:
                is_rest = self.accept("*")
                token = self.take()
                if token.sort == "label":
                    self.refuse("named parameters")
                if token.sort != "name":
                    self.at -= 1
                    self.fail("a parameter is expected")
                self.locals.add(token.value)
                default = self.operation(POWERS["|"]) if self.accept("=") else None
                found.append(Parameter(token.value, default=default, is_rest=is_rest))
            if not self.accept(","):
                break
        self.expect(closing)
        return tuple(found)

    def primary(self) -> Node:
        token = self.take()
        match token.sort:
            case "name":
                return self._named(token)
            case "constant":
                is_conversion = self.token.sort == "(" and not self.token.is_spaced
                return self.call(token, None, token.value) if is_conversion else nodes.Const(token.span, token.value)
            case "::":
                return nodes.Const(token.span, str(self.expect("constant").value))
            case "(":
                return self._parenthesised(token)
            case "[":
                return nodes.Listed(token.span, self.arguments("]"))
            case "{":
                return self._hash(token)
            case "->":
                return self._lambda(token)
            case "label" if self.token.sort != "=>":
                # `x ? a: b`: what looks like a label is the first answer.
                self.tokens.insert(self.at, Token(":", None, token.span))
                return self._named(token._replace(sort="name"))
            case _:
                return self._literal(token) or self._structure(token)

    def _literal(self, token: Token) -> Node | None:
        match token.sort:
            case "number":
                return nodes.Literal(token.span, token.value)
            case "nil" | "true" | "false":
                return nodes.Literal(token.span, {"nil": None, "true": True, "false": False}[token.sort])
            case "string":
                return self._strings(token)
            case "symbol":
                return self._string_or(token, "symbol")
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

    def _structure(self, token: Token) -> Node:
        match token.sort:
            case "if" | "unless":
                return self._if(token)
            case "case":
                return self._case(token)
            case "while" | "until":
                condition = self._head()
                body = self._body("do")
                return nodes.While(token.span, condition, body, token.sort == "until")
            case "for":
                return self._for(token)
            case "begin":
                return self._rescued(token)
            case "def":
                return self._define(token)
            case "next" | "break" | "return":
                has_value = self.token.sort not in _ENDS and self.token.sort not in (
                    "\n",
                    "if",
                    "unless",
                    "text",
                    "output",
                )
                return nodes.Leave(token.span, token.sort, self.expression() if has_value else None)
            case _:
                self.at -= self.tokens[self.at] is not token
                if token.sort in REFUSED:
                    self.refuse(token.sort)
                return self.fail(f"{shown(token.sort)} does not begin anything")

    def _named(self, token: Token) -> Node:
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

    def _strings(self, token: Token) -> Node:
        found = self._string_or(token, "string")
        while self.token.sort == "string":  # neighbours are one
            other = self._string_or(self.take(), "string")
            found = nodes.Call(token.span, found, "+", (other,))
        return found

    def _string_or(self, token: Token, sort: str) -> Node:
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
            inner = _Parser(self.source, piece)
            inner.locals = self.locals
            found.append(inner.statements())
            inner.expect("end of template")
        return tuple(found)

    def _parenthesised(self, token: Token) -> Node:
        takes_do, self.takes_do = self.takes_do, True
        body = self.statements()
        self.expect(")")
        self.takes_do = takes_do
        return body

    def _hash(self, token: Token) -> Node:
        args = self.arguments("}")
        if not args:
            return nodes.Mapped(token.span, ())
        if len(args) != 1 or not isinstance(args[0], nodes.Mapped):
            self.fail("a hash is written { key => value }")
        return args[0]

    def _lambda(self, token: Token) -> Node:
        known = set(self.locals)
        parameters: tuple[Parameter, ...] = ()
        if self.accept("("):
            parameters = self.parameters(")")
        elif self.token.sort == "name":
            parameters = tuple(Parameter(self.take().value) for _ in [0])
            self.locals.update(one.name for one in parameters)
        block = self.block()
        if not isinstance(block, nodes.Block):
            self.fail("-> needs a block")
        self.locals = known
        return nodes.Block(token.span, parameters, block.body)

    def _head(self) -> Node:
        """A condition; a `do` after it belongs to the loop."""
        takes_do, self.takes_do = self.takes_do, False
        found = self.expression_statement()
        self.takes_do = takes_do
        return found

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
            otherwise = self._if(word._replace(sort="if"))
        else:
            if self.accept("else"):
                otherwise = self.statements()
            self.expect("end")
        if token.sort == "unless":
            condition = nodes.Not(token.span, condition)
        return nodes.If(token.span, condition, then, otherwise)

    def _case(self, token: Token) -> Node:
        subject = None if self.token.sort == "\n" else self.expression_statement()
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
        while self.token.sort == "text" and not self.token.value.strip():
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
        elif self.token.sort == "name":
            parameters = self.parameters("\n")
        body = self._rescued(token)
        self.locals = known
        return nodes.Define(token.span, name, parameters, body)

    def _rescued(self, token: Token) -> Node:
        """A body up to `end`, perhaps with a rescue."""
        body = self.statements()
        if self.token.sort == "ensure":
            self.refuse("ensure")
        if not self.accept("rescue"):
            self.expect("end")
            return body
        name = ""
        while self.token.sort in ("constant", "::", ","):
            self.take()
        if self.accept("=>"):
            name = str(self.expect("name").value)
            self.locals.add(name)
        self.accept("then")
        handler = self.statements()
        if self.token.sort in ("rescue", "ensure", "else"):
            self.refuse(f"{self.token.sort} after rescue")
        self.expect("end")
        return nodes.Rescue(token.span, body, handler, name)


def _with_hash(items: "list[Node | tuple[Node, Node]]") -> tuple[Node, ...]:
    """Arguments, with the pairs at their end as one hash."""
    plain = [item for item in items if isinstance(item, Node)]
    pairs = [item for item in items if not isinstance(item, Node)]
    if not pairs:
        return tuple(plain)
    passed = plain.pop() if plain and isinstance(plain[-1], nodes.Call) and plain[-1].name == "&@" else None
    mapped = nodes.Mapped(pairs[0][0].span, tuple(pairs))
    return (*plain, mapped) if passed is None else (*plain, mapped, passed)
