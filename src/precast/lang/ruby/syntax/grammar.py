"""What all parts of the parser share: the position, the names that are variables so far, and the methods they call in each other."""

from abc import ABC, abstractmethod

from precast.base.spans import Source
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.syntax.reader import TokenReader
from precast.lang.ruby.syntax.tokens import END, Token

# Left binding powers, from weak to strong; `and`, `or` and `not` bind weaker than all of these.
POWERS = {
    "?": 10, "..": 15, "...": 15, "||": 20, "&&": 25, "<=>": 35, "==": 35, "===": 35, "!=": 35, "=~": 35, "!~": 35,
    "<": 40, "<=": 40, ">": 40, ">=": 40, "|": 45, "^": 45, "&": 50, "<<": 55, ">>": 55, "+": 60, "-": 60,
    "*": 65, "/": 65, "%": 65, "**": 75,
}  # fmt: skip
UNARY = 70
ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "**=", "||=", "&&=", "<<=", "|=", "&="))
ENDS = frozenset((END, "output end", "end", "}", ")", "]", "else", "elsif", "when", "rescue", "ensure", "in"))


class Grammar(TokenReader, ABC):
    """The base of the parts of the parser. The abstract methods are those that one part calls in another."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.locals: set[str] = set()
        self.takes_do = True  # whether a `do` here belongs to the call that is parsed
        self.may_list = True  # whether `a = b, c` is an array here, and not one of several arguments

    @abstractmethod
    def statements(self) -> Node:
        """Parse statements up to a token that ends them."""

    @abstractmethod
    def expression_statement(self) -> Node:
        """Parse an expression with `and`, `or` and `not`, which bind weakest."""

    @abstractmethod
    def negation(self) -> Node:
        """Parse an expression that may begin with `not`."""

    @abstractmethod
    def expression(self) -> Node:
        """Parse an assignment or an operation."""

    @abstractmethod
    def assign(self, target: Node) -> Node:
        """Parse an assignment from its operator on."""

    @abstractmethod
    def operation(self, power: int) -> Node:
        """Parse an operation whose operators bind stronger than this."""

    @abstractmethod
    def expression_argument(self) -> Node:
        """Parse an argument: an operation or an assignment."""

    @abstractmethod
    def begins_argument(self) -> bool:
        """Return whether an argument without parentheses begins here."""

    @abstractmethod
    def bare_arguments(self) -> tuple[Node, ...]:
        """Parse arguments without parentheses."""

    @abstractmethod
    def bare_parameters(self, ends: tuple[str, ...]) -> tuple[Parameter, ...]:
        """Parse parameters up to a token that ends them."""

    @abstractmethod
    def body_with_rescue(self, token: Token, closing: str = "end") -> Node:
        """Parse a body up to its end, with its `rescue`, `else` and `ensure` if it has them."""

    @abstractmethod
    def primary(self) -> Node:
        """Parse a value without operators and calls on it."""

    @abstractmethod
    def method(self, receiver: Node, is_safe: bool) -> Node:
        """Parse a call from the name of its method on."""

    @abstractmethod
    def arguments(self, closing: str) -> tuple[Node, ...]:
        """Parse arguments up to a closing bracket."""

    @abstractmethod
    def block(self) -> Node | None:
        """Parse the block that begins here; None if there is none."""

    @abstractmethod
    def parameters(self, closing: str) -> tuple[Parameter, ...]:
        """Parse parameters up to a closing token."""

    @abstractmethod
    def parenthesised(self, token: Token) -> Node:
        """Parse statements up to the closing parenthesis."""

    @abstractmethod
    def string_or(self, token: Token, kind: str) -> Node:
        """Return a text, which may have code in it, as a string or as another kind of literal."""
