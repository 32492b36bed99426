"""What all parts of the parser know: where it is, which names are variables by now, and what they can ask each other for."""

from abc import ABC, abstractmethod

from precast.base.spans import Source
from precast.lang.ruby.syntax.lexer import Token
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.syntax.reader import TokenReader

# Left binding powers, from weak to strong; and, or, not stand below all of these.
POWERS = {
    "?": 10, "..": 15, "...": 15, "||": 20, "&&": 25, "<=>": 35, "==": 35, "===": 35, "!=": 35, "=~": 35, "!~": 35,
    "<": 40, "<=": 40, ">": 40, ">=": 40, "|": 45, "^": 45, "&": 50, "<<": 55, ">>": 55, "+": 60, "-": 60,
    "*": 65, "/": 65, "%": 65, "**": 75,
}  # fmt: skip
UNARY = 70
ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "**=", "||=", "&&=", "<<=", "|=", "&="))
ENDS = frozenset(
    ("end of template", "output end", "end", "}", ")", "]", "else", "elsif", "when", "rescue", "ensure", "in")
)


class Grammar(TokenReader, ABC):
    """One parse. What is asked for across the parts is named here."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.locals: set[str] = set()
        self.takes_do = True

    @abstractmethod
    def statements(self) -> Node:
        """Up to what ends them."""

    @abstractmethod
    def expression_statement(self) -> Node:
        """With `and`, `or`, `not`, which bind weakest."""

    @abstractmethod
    def negation(self) -> Node:
        """With `not`."""

    @abstractmethod
    def expression(self) -> Node:
        """An assignment, or an operation."""

    @abstractmethod
    def assign(self, target: Node) -> Node:
        """From the sign of an assignment on."""

    @abstractmethod
    def operation(self, power: int) -> Node:
        """Operators that bind stronger than this."""

    @abstractmethod
    def primary(self) -> Node:
        """A value without operators and calls on it."""

    @abstractmethod
    def method(self, receiver: Node, is_safe: bool) -> Node:
        """From the name of a method on."""

    @abstractmethod
    def arguments(self, closing: str) -> tuple[Node, ...]:
        """Up to a bracket."""

    @abstractmethod
    def block(self) -> Node | None:
        """The block that begins here, if one does."""

    @abstractmethod
    def parameters(self, closing: str) -> tuple[Parameter, ...]:
        """Up to a token."""

    @abstractmethod
    def parenthesised(self, token: Token) -> Node:
        """Statements up to the closing parenthesis."""

    @abstractmethod
    def string_or(self, token: Token, sort: str) -> Node:
        """A text, perhaps with code in it, as a string or as another sort."""
