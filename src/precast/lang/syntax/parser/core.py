"""The parser's engine: a place in the tokens, and Pratt's loop over two tables.

`PREFIX` says what a kind of token begins, `INFIX` what it continues and how tightly it binds; the other modules of this package
fill both. Above expressions, as in Puppet's grammar, stand three levels that only some places allow: a resource (`expression {`),
a relationship between those, and an assignment. Parsing stops at the first error.
"""

from collections.abc import Callable
from typing import Final, NoReturn

from precast.base.errors import Issue
from precast.base.spans import Source, Span
from precast.lang.issues import syntax as issues
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.advice import advice, still_open

# How tightly operators bind, loosest first; between the numbers there is room for the side an operator groups to.
OR, AND, SELECT, ORDER, EQUALITY, SHIFT, SUM, PRODUCT, MATCH, IN, MINUS, SPLAT, NOT, POSTFIX = range(10, 150, 10)

# Expressions nested deeper than this are refused: every pass over the tree is recursive, and Python stops at a thousand calls.
DEEPEST: Final = 80
# So is a chain of operators longer than this, which groups to the left.
LONGEST: Final = 250

PREFIX: "dict[str, Callable[[Parser], ast.Node]]" = {}
INFIX: "dict[str, tuple[int, Callable[[Parser, ast.Node], ast.Node]]]" = {}

ARROWS: Final = frozenset(("->", "~>", "<-", "<~"))
ASSIGNMENTS: Final = frozenset(("=", "+=", "-="))

# Functions that may be called as a statement, without parentheses.
STATEMENT_CALLS: Final = frozenset(
    (
        "require", "realize", "include", "contain", "tag", "debug", "info", "notice", "warning", "err", "fail", "import",
        "break", "next", "return",
    )
)  # fmt: skip


class Parser:
    """Goes through the tokens of one source; `at` is the token to look at next."""

    __slots__ = ("at", "definitions", "depth", "ends", "kinds", "namespace", "source", "starts", "tokens", "values")

    def __init__(self, source: Source, tokens: t.Tokens) -> None:
        tokens.add(t.END, "", tokens.starts[-1], tokens.ends[-1])  # so that looking one further is always possible
        self.source = source
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.values = tokens.values
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.at = 0
        self.depth = 0
        self.namespace = ""
        self.definitions: list[ast.Definition] = []

    # Tokens

    def span_from(self, start: int) -> Span:
        """From an offset to the end of the token taken last."""
        return Span(start, self.ends[self.at - 1])

    def token_span(self) -> Span:
        return Span(self.starts[self.at], self.ends[self.at])

    def take(self, kind: str, where: str = "") -> str:
        """The value of the next token, which must be of this kind."""
        at = self.at
        if self.kinds[at] != kind:
            self.unexpected(f"'{kind}'" if not kind.isupper() else kind.lower(), where)
        self.at = at + 1
        return self.values[at]

    def took(self, kind: str) -> bool:
        if self.kinds[self.at] == kind:
            self.at += 1
            return True
        return False

    def fail(self, issue: Issue, span: Span, **values: object) -> NoReturn:
        raise issue.error(self.source, span, **values)

    def unexpected(self, wanted: str = "", hint: str = "") -> NoReturn:
        """The next token does not fit; `wanted` would, and `hint` is what to do about it."""
        at = self.at
        kind = self.kinds[at]
        wanted = f", expected {wanted}" if wanted else ""
        if kind == t.END:
            self.fail(issues.UNEXPECTED_END, self._last_place(), wanted=wanted, advice=hint or self._unclosed())
        start, end = self.token_span()
        if kind in (t.STRING_MIDDLE, t.STRING_END):  # what goes on after an interpolation begins with its brace
            end = min(start + 1, end)
        found = self.source.text[start:end].split("\n", 1)[0][:40]
        self.fail(
            issues.UNEXPECTED,
            Span(start, end),
            found=found,
            wanted=wanted,
            advice=hint or advice(self.tokens, at, wanted),
        )

    def _last_place(self) -> Span:
        end = self.ends[self.at - 1] if self.at else 0
        return Span(max(end - 1, 0), end)

    def _unclosed(self) -> str:
        """Which bracket is still open at the end, or what should not be the last."""
        opened = still_open(self.kinds)
        if not opened:
            last = self.kinds[self.at - 1] if self.at else ""
            return f"take the {last} at the end away" if last in (";", ",") else "something is missing at the end"
        kind = self.source.text[self.starts[opened[-1]]]
        place = self.source.position(self.starts[opened[-1]])
        return f"the {kind} of line {place.line}, column {place.column} is not closed"

    # Levels of the grammar

    def expression(self, tightness: int = 0) -> ast.Node:
        """An expression whose operators all bind tighter than this."""
        kinds = self.kinds
        prefix = PREFIX.get(kinds[self.at])
        if prefix is None:
            self.unexpected()
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(issues.TOO_DEEP, self.token_span(), limit=DEEPEST)
        left = prefix(self)
        length = 0
        while (infix := INFIX.get(kinds[self.at])) is not None and infix[0] > tightness:
            left = infix[1](self, left)
            length += 1
        if length > LONGEST:
            self.fail(issues.TOO_DEEP, left.span, limit=LONGEST)
        self.depth -= 1
        return left

    def assignment(self) -> ast.Node:
        """An expression, resource, relationship or assignment: what may stand as a statement or argument."""
        left = self.relationship()
        op = self.kinds[self.at]
        if op not in ASSIGNMENTS:
            return left
        self.at += 1
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(issues.TOO_DEEP, self.token_span(), limit=DEEPEST)
        value = self.assignment()
        self.depth -= 1
        return ast.Assignment(self.span_from(left.span.start), op, left, value)

    def relationship(self) -> ast.Node:
        left = self.resource()
        length = 0
        while (op := self.kinds[self.at]) in ARROWS:
            self.at += 1
            left = ast.Relationship(self.span_from(left.span.start), op, left, self.resource())
            length += 1
        if length > LONGEST:
            self.fail(issues.TOO_DEEP, left.span, limit=LONGEST)
        return left

    def resource(self) -> ast.Node:
        """An expression, or with a brace after it a resource, its defaults or an override."""
        kind = self.kinds[self.at]
        if kind == "@" or kind == "@@" or (kind == "class" and self.kinds[self.at + 1] == "{"):
            return RESOURCE[0](self, None)
        left = self.expression()
        return RESOURCE[0](self, left) if self.kinds[self.at] == "{" else left

    # Blocks

    def block(self) -> ast.Block:
        """`{ statements }`."""
        start = self.starts[self.at]
        self.take("{")
        statements = self.statements()
        self.take("}")
        return ast.Block(self.span_from(start), statements)

    def statements(self) -> tuple[ast.Node, ...]:
        """Statements up to a closing brace or the end."""
        kinds = self.kinds
        found: list[ast.Node] = []
        if kinds[self.at] == "}" or kinds[self.at] == t.END:
            return ()
        while True:
            self._statement(found)
            kind = kinds[self.at]
            if kind == ";":
                self.at += 1
            elif kind == "}" or kind == t.END:
                return tuple(found)

    def _statement(self, found: list[ast.Node]) -> None:
        """Adds one statement, or makes it the arguments of the call before it."""
        if self.kinds[self.at] == t.NAME:
            self._refuse_plan()
        node = self.assignment()
        before = found[-1] if found else None
        arguments: tuple[ast.Node, ...] = (node,)
        comma = self.at
        if self.kinds[self.at] == ",":
            listed = [node]
            while self.took(","):
                listed.append(self.assignment())
            arguments = tuple(listed)
        if type(before) is ast.QualifiedName and before.value in STATEMENT_CALLS:
            found[-1] = ast.Call(self.span_from(before.span.start), before, arguments, None, True)
        elif len(arguments) == 1:
            found.append(node)
        else:
            place = Span(self.starts[comma], self.ends[comma])
            if type(before) is ast.QualifiedName:
                self.fail(issues.CALL_NEEDS_PARENTHESES, place, name=before.value)
            self.fail(issues.LIST_WITHOUT_CALL, place)

    def _refuse_plan(self) -> None:
        """A plan would only be read as a word that has no effect."""
        at = self.at
        if self.values[at] == "plan" and self.kinds[at + 1] == t.NAME and self.kinds[at + 2] in ("(", "{"):
            self.fail(issues.PLAN, Span(self.starts[at], self.ends[at + 1]), name=self.values[at + 1])


# What turns an expression before a brace into a resource; filled by `resources`.
RESOURCE: "list[Callable[[Parser, ast.Node | None], ast.Node]]" = []
