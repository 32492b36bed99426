"""What a function is given beside its arguments, as protocols that the evaluator and the compiler implement.

A function never reaches for anything else. What it reads of the environment goes through `host.inputs`, which traces it; what it does
to the catalog goes through `host.catalog`. Errors are raised without a place: the call site that sees one without a span adds its own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from precast.base.spans import Source, Span
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings
from precast.lang.values.core import Unknown
from precast.lang.values.unknowns import STRINGS

if TYPE_CHECKING:
    from precast.lang.datatypes import Type
    from precast.lang.hiera.lookups import Lookups
    from precast.lang.values.core import Hash


class Block(Protocol):
    """A lambda given to a call."""

    @property
    def min_args(self) -> int: ...

    @property
    def max_args(self) -> int | None:
        """None: any number."""

    @property
    def type(self) -> "Type":
        """Its Callable type; asked for only where a signature names parameter types, and for messages."""

    def call(self, *args: Any) -> Any:
        """Runs it; arguments that do not fit raise the error that names the block's parameter.

        `next` is caught, `break` and `return` pass through.
        """


class CatalogActions(Protocol):
    """What functions do to the catalog that is being made. `scope` is the calling scope."""

    def include(self, scope: Any, names: Sequence[str]) -> None:
        """Evaluates each class once. Names are lower case, without leading `::`."""

    def contain(self, scope: Any, names: Sequence[str]) -> None:
        """As include, and the class or define being evaluated contains each."""

    def require(self, scope: Any, names: Sequence[str]) -> None:
        """As include, and the resource being evaluated requires each."""

    def create_resources(self, scope: Any, type_name: str, resources: "Hash", defaults: "Hash") -> Any:
        """Declares a resource per entry; the name may start with @ or @@."""

    def realize(self, scope: Any, references: Sequence[Any]) -> None:
        """Makes virtual resources real; one not known yet counts as soon as it is declared."""

    def tag(self, scope: Any, tags: Sequence[str]) -> None:
        """Adds tags to the resource being evaluated."""

    def tagged(self, scope: Any, tags: Sequence[str]) -> bool:
        """Whether the resource being evaluated, or the catalog, has all the tags."""

    def is_declared(self, scope: Any, type_name: str, title: str) -> bool:
        """Whether the resource stands in the catalog so far; of a class the type name is `class`."""

    def declared(self, scope: Any, type_name: str, title: str, with_container: bool = False) -> "Sequence[Hash]":
        """The parameters of a declared resource, or without a title of all of a type; none if there is none.

        The class or define that calls is left out unless `with_container`.
        """

    def has_default(self, scope: Any, type_name: str, attribute: str) -> bool:
        """Whether resource defaults that the calling scope sees set an attribute of a type."""

    def is_resource_type(self, scope: Any, name: str) -> bool:
        """Whether `name` is a managed type or a define."""

    def is_class(self, scope: Any, name: str) -> bool:
        """Whether a class of that name can be found."""


class Host(Protocol):
    """The compile in which a function runs."""

    has_unknowns: bool  # whether the compile has met a value that is not known yet; whoever makes one sets it

    @property
    def inputs(self) -> Inputs: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def catalog(self) -> CatalogActions: ...

    def log(self, level: str, message: Any) -> None:
        """Adds a line to the compile's log; the message is a string or an unknown value."""

    def warn_once(self, key: str, message: str) -> None:
        """Logs a warning, once per compile and key."""

    def now(self) -> Any:
        """The Timestamp at which the version that is compiled was deployed: the only now there is."""

    def parse_type(self, scope: Any, text: str) -> "Type":
        """A data type from its text; aliases are found as code in this scope finds them."""

    def call_function(self, scope: Any, name: str, args: Sequence[Any], block: Block | None = None) -> Any:
        """Calls a function by name, built in or of a module; an unknown name is an error."""

    def has_function(self, scope: Any, name: str) -> bool:
        """Whether there is a function of that name: built in, of the code, or brought by a module."""

    def variable(self, scope: Any, name: str) -> Any:
        """The value of a variable by name without `$`; what an unknown one does follows the settings."""

    def has_variable(self, scope: Any, name: str) -> bool:
        """Whether a variable of that name is set; undef counts as set."""

    def is_fact(self, scope: Any, name: str, top_only: bool) -> bool:
        """Whether a variable is of the node's data, so that what lies below it is asked for by its path."""

    def fact_value(self, name: str, path: tuple[str | int, ...], whole: bool = False) -> Any:
        """What lies at a path below such a variable; ABSENT if nothing does. `whole` leaves nothing open."""

    def fact_kind(self, name: str, path: tuple[str | int, ...]) -> str:
        """What lies there, as a word: absent, string, hash, other."""

    def module_directory(self, scope: Any, name: str) -> str | None:
        """Where a module stands, as `inputs` names it; None if there is none of that name."""

    def environment_path(self, path: str) -> str | None:
        """An absolute path as `inputs` names it; None if it lies outside of the environment and its module paths."""

    def shown_path(self, path: str) -> str:
        """A path of `inputs` as the user sees it: absolute, for functions that give paths out."""

    def render_epp(self, scope: Any, source: Source, parameters: "Hash | None", *, inline: bool) -> Any:
        """Renders an EPP text; an inline one without parameters sees the local variables. A String, or an unknown value."""

    def render_erb(self, scope: Any, source: Source) -> Any:
        """Renders an ERB text with the variables around the call. A String, or an unknown value."""

    @property
    def lookups(self) -> "Lookups": ...

    def concrete(self, value: Any, span: Span | None) -> Any:
        """The value with its holes asked for, at any depth; a future or Deferred in it is an error with a hint."""

    def defer(self, name: str, args: Sequence[Any]) -> Any:
        """The unknown value that calls an agent-side function on the node, before the resource that needs it."""


class Call:
    """One call: the context that a function gets as its first argument unless it is pure."""

    __slots__ = ("block", "host", "scope", "span")

    def __init__(self, host: Host, scope: Any, block: Block | None, span: Span | None) -> None:
        self.host = host
        self.scope = scope
        self.block = block
        self.span = span

    def run_block(self, *args: Any) -> Any:
        """Calls the block; only for dispatches that require one."""
        assert self.block is not None
        return self.block.call(*args)

    def says_yes(self, answer: Any) -> bool:
        """Whether what the block said is true: text always is. Raises for a future, whose truth nobody knows yet."""
        if isinstance(answer, Unknown) and not isinstance(answer, STRINGS):
            answer = self.host.concrete(answer, self.span)
        return answer is not None and answer is not False
