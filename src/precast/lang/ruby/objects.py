"""What running Ruby code makes of its own: procs, classes, modules and their objects, exceptions."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from precast.lang.ruby.evaluation.methods import UserMethod


class Constant(NamedTuple):
    """The name of a class or module that is built in."""

    name: str


class Proc:
    """A block or lambda. `arity` is the number of its parameters; `call_as` runs it with another self and another class for `def`."""

    __slots__ = ("arity", "call", "call_as", "is_lambda")

    def __init__(
        self,
        arity: int,
        call: Callable[..., Any],
        call_as: Callable[..., Any] | None = None,
        is_lambda: bool = False,
    ) -> None:
        self.arity = arity
        self.call = call
        self.call_as = call_as
        self.is_lambda = is_lambda


class RubyClass:
    """A class or module that the code defines. Its parent may be a built-in one, of which only its name is known."""

    kind_name = ""  # of a class with methods of its own, such as a type

    def __init__(self, name: str, parent: "RubyClass | Constant | None" = None, is_module: bool = False) -> None:
        self.name = name
        self.parent = parent
        self.is_module = is_module
        self.methods: dict[str, UserMethod] = {}
        self.own_methods: dict[str, UserMethod] = {}  # those of the class itself
        self.constants: dict[str, Any] = {}
        self.ivars: dict[str, Any] = {}
        self.mixins: list[RubyClass] = []
        self.extensions: list[RubyClass] = []
        self.members: tuple[str, ...] = ()  # of a Struct
        self.members_by_key = False
        self.is_singleton_open = False  # inside of `class << self`

    def ancestors(self) -> "Iterator[RubyClass]":
        """Yield the class, its mixins, and those of its parents."""
        yield self
        for mixin in reversed(self.mixins):
            yield from mixin.ancestors()
        if isinstance(self.parent, RubyClass):
            yield from self.parent.ancestors()

    def find(self, name: str) -> "UserMethod | None":
        """Return the method that objects of the class have."""
        return next((each.methods[name] for each in self.ancestors() if name in each.methods), None)

    def find_own(self, name: str) -> "UserMethod | None":
        """Return the method that the class itself has."""
        for each in self.ancestors():
            if name in each.own_methods:
                return each.own_methods[name]
            for extension in each.extensions:
                if (method := extension.find(name)) is not None:
                    return method
        return None

    def constant(self, name: str) -> Any:
        """Return a constant of the class or its ancestors. Raises KeyError."""
        for each in self.ancestors():
            if name in each.constants:
                return each.constants[name]
        raise KeyError(name)

    def root(self) -> Constant | None:
        """Return the built-in class from which the class descends."""
        parent = self.parent
        while isinstance(parent, RubyClass):
            parent = parent.parent
        return parent


class RubyObject:
    """An object of a class that the code defines, or an exception."""

    kind_name = ""  # of an object with methods of its own, such as a resource
    __slots__ = ("ivars", "kind")

    def __init__(self, kind: RubyClass | Constant) -> None:
        self.kind = kind
        self.ivars: dict[str, Any] = {}


class RubyError(RubyObject):
    """An exception object: `message` is its text."""

    __slots__ = ("cause", "message")

    def __init__(self, kind: RubyClass | Constant, message: Any = None) -> None:
        super().__init__(kind)
        self.message = kind.name if message is None else message
        self.cause: BaseException | None = None
