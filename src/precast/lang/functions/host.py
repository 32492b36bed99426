"""What a function gets besides its arguments: protocols that the evaluator and the compiler implement.

A function uses nothing else. It reads the environment through `host.inputs`, which traces the reads, and changes the catalog through
`host.catalog`. Functions raise errors without a position: the call site adds its own.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from precast.base.spans import Source, Span
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings
from precast.lang.values.base import Unknown
from precast.lang.values.unknowns import STRINGS

if TYPE_CHECKING:
    from precast.lang.datatypes import Type
    from precast.lang.hiera.lookups import Lookups
    from precast.lang.values.base import Hash


class FactChoices(Protocol):
    """Finds secrets that a fact of the node has chosen."""

    def check(self, scope: Any, names: Iterable[str], what: str) -> None:
        """Report a secret that one of these variables has chosen. Raises SECRET-033 where the policy refuses it."""

    def note_clear_text(self, key: str) -> None:
        """Report a Sensitive whose text is in a data file."""


class Block(Protocol):
    """A lambda that is passed to a call."""

    @property
    def min_args(self) -> int: ...

    @property
    def max_args(self) -> int | None:
        """None stands for any number."""

    @property
    def type(self) -> "Type":
        """The Callable type of the block, needed only for signatures that name parameter types, and for messages."""

    def call(self, *args: Any) -> Any:
        """Run the block. Arguments of the wrong type raise an error that names the block's parameter.

        The block catches `next`; `break` and `return` pass through.
        """


class CatalogOperations(Protocol):
    """What functions do to the catalog that is being made. `scope` is the calling scope."""

    def include(self, scope: Any, names: Sequence[str]) -> None:
        """Evaluate each class once. Names are in lower case, without leading `::`."""

    def contain(self, scope: Any, names: Sequence[str]) -> None:
        """Include each class and contain it in the class or define that is being evaluated."""

    def require(self, scope: Any, names: Sequence[str]) -> None:
        """Include each class and let the resource that is being evaluated require it."""

    def create_resources(self, scope: Any, type_name: str, resources: "Hash", defaults: "Hash") -> Any:
        """Declare a resource for each entry; the name of the type may start with @ or @@."""

    def realize(self, scope: Any, references: Sequence[Any]) -> None:
        """Realise virtual resources; a resource that is declared later is realised then."""

    def tag(self, scope: Any, tags: Sequence[str]) -> None:
        """Add tags to the resource that is being evaluated."""

    def tagged(self, scope: Any, tags: Sequence[str]) -> bool:
        """Return whether the resource that is being evaluated, or the catalog, has all the tags."""

    def is_declared(self, scope: Any, type_name: str, title: str) -> bool:
        """Return whether the catalog has the resource so far; the type name of a class is `class`."""

    def declared(self, scope: Any, type_name: str, title: str, with_container: bool = False) -> "Sequence[Hash]":
        """Return the parameters of a declared resource, or without a title those of all resources of a type.

        The calling class or define is left out unless `with_container`.
        """

    def has_default(self, scope: Any, type_name: str, attribute: str) -> bool:
        """Return whether resource defaults of the calling scope set an attribute of a type."""

    def is_resource_type(self, scope: Any, name: str) -> bool:
        """Return whether `name` is a managed type or a define."""

    def is_class(self, scope: Any, name: str) -> bool:
        """Return whether a class of that name exists."""


class Host(Protocol):
    """The compile in which a function runs."""

    has_unknowns: bool  # whether the compile has met an unknown value; the code that creates one sets it

    @property
    def inputs(self) -> Inputs: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def catalog(self) -> CatalogOperations: ...

    def log(self, level: str, message: Any) -> None:
        """Add a line to the log of the compile; the message is a string or an unknown value."""

    def warn_once(self, key: str, message: str) -> None:
        """Log a warning, once for each compile and key."""

    def now(self) -> Any:
        """Return the Timestamp at which the compiled version was deployed, since a compile has no other clock."""

    def parse_type(self, scope: Any, text: str) -> "Type":
        """Return a data type from its text; aliases are resolved as in code of this scope."""

    def call_function(self, scope: Any, name: str, args: Sequence[Any], block: Block | None = None) -> Any:
        """Call a built-in function or one of a module by its name; an unknown name is an error."""

    def has_function(self, scope: Any, name: str) -> bool:
        """Return whether a function of that name exists: built in, in the code, or in a module."""

    def variable(self, scope: Any, name: str) -> Any:
        """Return the value of a variable by its name without `$`; the settings decide about a name that does not exist."""

    def has_variable(self, scope: Any, name: str) -> bool:
        """Return whether a variable of that name is set; undef counts as set."""

    def is_fact(self, scope: Any, name: str, top_only: bool) -> bool:
        """Return whether a variable is data of the node, so that values below it are asked for by their path."""

    def fact_value(self, name: str, path: tuple[str | int, ...], whole: bool = False) -> Any:
        """Return the value at a path below such a variable, ABSENT if there is none. With `whole` it contains no holes."""

    def fact_kind(self, name: str, path: tuple[str | int, ...]) -> str:
        """Return the kind of the value at a path: absent, string, hash or other."""

    def module_directory(self, scope: Any, name: str) -> str | None:
        """Return the directory of a module as a path of `inputs`, None if no module has that name."""

    def environment_path(self, path: str) -> str | None:
        """Return an absolute path as a path of `inputs`, None if it is outside of the environment and its module paths."""

    def shown_path(self, path: str) -> str:
        """Return a path of `inputs` as the absolute path that the user sees, for functions that return paths."""

    def render_epp(self, scope: Any, source: Source, parameters: "Hash | None", *, inline: bool) -> Any:
        """Render an EPP text to a String or an unknown value; an inline text without parameters sees the local variables."""

    def render_erb(self, scope: Any, source: Source) -> Any:
        """Render an ERB text with the variables around the call to a String or an unknown value."""

    @property
    def lookups(self) -> "Lookups": ...

    @property
    def fact_choices(self) -> FactChoices: ...

    def concrete(self, value: Any, span: Span | None) -> Any:
        """Return the value with its holes filled at any depth; a future or Deferred in it is an error with a hint."""

    def defer(self, name: str, args: Sequence[Any]) -> Any:
        """Return the unknown value of a function that the agent calls before it applies the resource that needs the value."""


class Call:
    """The context of one call, which a function gets as its first argument unless it is pure."""

    __slots__ = ("block", "host", "scope", "span")

    def __init__(self, host: Host, scope: Any, block: Block | None, span: Span | None) -> None:
        self.host = host
        self.scope = scope
        self.block = block
        self.span = span

    def run_block(self, *args: Any) -> Any:
        """Call the block; only for dispatches that require one."""
        assert self.block is not None
        return self.block.call(*args)

    def is_truthy(self, result: Any) -> bool:
        """Return whether the result of the block is true, as every text is. Raises for a future, whose value is unknown."""
        if isinstance(result, Unknown) and not isinstance(result, STRINGS):
            result = self.host.concrete(result, self.span)
        return result is not None and result is not False
