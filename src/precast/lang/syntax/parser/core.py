"""The parser's engine: a position in the tokens, and Pratt's loop over two tables.

`PREFIX` says what a kind of token begins; `INFIX` says what it continues and how tightly it binds. The other modules of this package
fill both. As in Puppet's grammar, three levels above expressions are allowed only in some places: a resource (`expression {`), a
relationship between resources, and an assignment. Parsing stops at the first error.
"""

from collections.abc import Callable
from typing import Final, NoReturn

from precast.base.errors import Issue
from precast.base.spans import Source, Span
from precast.lang.issues import syntax as issues
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.advice import advice, unclosed_brackets

# The precedence of operators, loosest first; the gaps leave room for the side to which an operator groups.
OR, AND, SELECT, ORDER, EQUALITY, SHIFT, SUM, PRODUCT, MATCH, IN, MINUS, SPLAT, NOT, POSTFIX = range(10, 150, 10)

# More deeply nested expressions are refused: every pass over the tree is recursive, and Python's limit is a thousand calls.
MAX_DEPTH: Final = 80
# A longer chain of operators, which groups to the left, is refused for the same reason.
MAX_CHAIN: Final = 250

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
    """Reads the tokens of one source; `at` is the index of the next token."""

    __slots__ = ("at", "definitions", "depth", "ends", "kinds", "namespace", "source", "starts", "tokens", "values")

    def __init__(self, source: Source, tokens: t.Tokens) -> None:
        tokens.add(
            t.END, "", tokens.starts[-1], tokens.ends[-1]
        )  # a second END, so that a look-ahead of one token is always possible
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
        """The span from an offset to the end of the last token read."""
        return Span(start, self.ends[self.at - 1])

    def token_span(self) -> Span:
        return Span(self.starts[self.at], self.ends[self.at])

    def expect(self, kind: str, where: str = "") -> str:
        """Read the next token, which must have this kind, and give its value."""
        at = self.at
        if self.kinds[at] != kind:
            self.fail_unexpected(f"'{kind}'" if not kind.isupper() else kind.lower(), where)
        self.at = at + 1
        return self.values[at]

    def accept(self, kind: str) -> bool:
        if self.kinds[self.at] == kind:
            self.at += 1
            return True
        return False

    def fail(self, issue: Issue, span: Span, **values: object) -> NoReturn:
        raise issue.error(self.source, span, **values)

    def fail_unexpected(self, wanted: str = "", hint: str = "") -> NoReturn:
        """Report that the next token does not fit; `wanted` names what would, and `hint` what to do."""
        at = self.at
        kind = self.kinds[at]
        wanted = f", expected {wanted}" if wanted else ""
        if kind == t.END:
            self.fail(issues.UNEXPECTED_END, self._last_place(), wanted=wanted, advice=hint or self._unclosed())
        start, end = self.token_span()
        if kind in (t.STRING_MIDDLE, t.STRING_END):  # this token begins with the brace of the interpolation
            end = min(start + 1, end)
        text = self.source.text[start:end].split("\n", 1)[0][:40]
        self.fail(
            issues.UNEXPECTED,
            Span(start, end),
            found=text,
            wanted=wanted,
            advice=hint or advice(self.tokens, at, wanted),
        )

    def _last_place(self) -> Span:
        end = self.ends[self.at - 1] if self.at else 0
        return Span(max(end - 1, 0), end)

    def _unclosed(self) -> str:
        """A hint at the end of the text: the bracket that is still open, or the token that must not be the last."""
        unclosed = unclosed_brackets(self.kinds)
        if not unclosed:
            last = self.kinds[self.at - 1] if self.at else ""
            return f"remove the {last} at the end" if last in (";", ",") else "the text ends too early"
        kind = self.source.text[self.starts[unclosed[-1]]]
        place = self.source.position(self.starts[unclosed[-1]])
        return f"the {kind} in line {place.line}, column {place.column} is not closed"

    # Levels of the grammar

    def parse_expression(self, tightness: int = 0) -> ast.Node:
        """An expression whose operators all bind tighter than `tightness`."""
        kinds = self.kinds
        prefix = PREFIX.get(kinds[self.at])
        if prefix is None:
            self.fail_unexpected()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(issues.TOO_DEEP, self.token_span(), limit=MAX_DEPTH)
        left = prefix(self)
        length = 0
        while (infix := INFIX.get(kinds[self.at])) is not None and infix[0] > tightness:
            left = infix[1](self, left)
            length += 1
        if length > MAX_CHAIN:
            self.fail(issues.TOO_DEEP, left.span, limit=MAX_CHAIN)
        self.depth -= 1
        return left

    def parse_assignment(self) -> ast.Node:
        """An expression, resource, relationship or assignment: everything that may be a statement or argument."""
        left = self.parse_relationship()
        op = self.kinds[self.at]
        if op not in ASSIGNMENTS:
            return left
        self.at += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(issues.TOO_DEEP, self.token_span(), limit=MAX_DEPTH)
        value = self.parse_assignment()
        self.depth -= 1
        return ast.Assignment(self.span_from(left.span.start), op, left, value)

    def parse_relationship(self) -> ast.Node:
        left = self.parse_resource()
        length = 0
        while (op := self.kinds[self.at]) in ARROWS:
            self.at += 1
            left = ast.Relationship(self.span_from(left.span.start), op, left, self.parse_resource())
            length += 1
        if length > MAX_CHAIN:
            self.fail(issues.TOO_DEEP, left.span, limit=MAX_CHAIN)
        return left

    def parse_resource(self) -> ast.Node:
        """An expression or, if a brace follows it, a resource, its defaults or an override."""
        kind = self.kinds[self.at]
        if kind == "@" or kind == "@@" or (kind == "class" and self.kinds[self.at + 1] == "{"):
            return RESOURCE[0](self, None)
        left = self.parse_expression()
        return RESOURCE[0](self, left) if self.kinds[self.at] == "{" else left

    # Blocks

    def parse_block(self) -> ast.Block:
        """`{ statements }`."""
        start = self.starts[self.at]
        self.expect("{")
        statements = self.parse_statements()
        self.expect("}")
        return ast.Block(self.span_from(start), statements)

    def parse_statements(self) -> tuple[ast.Node, ...]:
        """The statements up to a closing brace or the end."""
        kinds = self.kinds
        statements: list[ast.Node] = []
        if kinds[self.at] == "}" or kinds[self.at] == t.END:
            return ()
        while True:
            self._parse_statement(statements)
            kind = kinds[self.at]
            if kind == ";":
                self.at += 1
            elif kind == "}" or kind == t.END:
                return tuple(statements)

    def _parse_statement(self, statements: list[ast.Node]) -> None:
        """Add one statement, or make it the arguments of the call before it."""
        if self.kinds[self.at] == t.NAME:
            self._refuse_plan()
        node = self.parse_assignment()
        before = statements[-1] if statements else None
        arguments: tuple[ast.Node, ...] = (node,)
        comma = self.at
        if self.kinds[self.at] == ",":
            listed = [node]
            while self.accept(","):
                listed.append(self.parse_assignment())
            arguments = tuple(listed)
        if type(before) is ast.QualifiedName and before.value in STATEMENT_CALLS:
            statements[-1] = ast.Call(self.span_from(before.span.start), before, arguments, None, True)
        elif len(arguments) == 1:
            statements.append(node)
        else:
            place = Span(self.starts[comma], self.ends[comma])
            if type(before) is ast.QualifiedName:
                self.fail(issues.CALL_NEEDS_PARENTHESES, place, name=before.value)
            self.fail(issues.LIST_WITHOUT_CALL, place)

    def _refuse_plan(self) -> None:
        """Refuse a plan, which would otherwise be parsed as a word without effect."""
        at = self.at
        if self.values[at] == "plan" and self.kinds[at + 1] == t.NAME and self.kinds[at + 2] in ("(", "{"):
            self.fail(issues.PLAN, Span(self.starts[at], self.ends[at + 1]), name=self.values[at + 1])


# The function that turns an expression before a brace into a resource; `resources` sets it.
RESOURCE: "list[Callable[[Parser, ast.Node | None], ast.Node]]" = []
