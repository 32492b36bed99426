"""Local variables of running Ruby code, and what surrounds it: self, the method that runs, the modules around the text."""

from typing import TYPE_CHECKING, Any

from precast.lang.ruby.objects import Proc, RubyClass

if TYPE_CHECKING:
    from precast.lang.ruby.evaluation.methods import UserMethod
    from precast.lang.ruby.execution import Execution


class LocalScope:
    """The names of the local variables of one method or block, found while the code is compiled. A block also sees those around it."""

    def __init__(self, outer: "LocalScope | None" = None) -> None:
        self.outer = outer
        self.names: dict[str, int] = {}

    def find(self, name: str) -> tuple[int, int] | None:
        """Return how many frames outwards a variable is, and its place there; None if no scope has it yet."""
        depth, scope = 0, self
        while name not in scope.names:
            if scope.outer is None:
                return None
            depth, scope = depth + 1, scope.outer
        return depth, scope.names[name]

    def declare(self, name: str) -> tuple[int, int]:
        """Return where a variable is, which is new in this scope if no scope has it."""
        return self.find(name) or (0, self.add(name))

    def add(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))


class Home:
    """One call of a method: what `yield`, `super` and `return` refer to, also in the blocks of the method."""

    __slots__ = ("args", "block", "method")

    def __init__(
        self, method: "UserMethod | None" = None, args: tuple[Any, ...] = (), block: Proc | None = None
    ) -> None:
        self.method = method
        self.args = args
        self.block = block


class Frame:
    """The local variables of one run of a method or block."""

    __slots__ = ("definee", "execution", "home", "modules", "outer", "proc", "slots", "this")

    def __init__(self, execution: "Execution", scope: LocalScope, this: Any = None, home: Home | None = None) -> None:
        self.execution = execution
        self.outer: Frame | None = None
        self.slots: list[Any] = [None] * len(scope.names)
        self.this = this
        self.home = home or Home()
        self.proc: Proc | None = None
        self.definee: RubyClass | None = None  # the class that `def` adds methods to
        self.modules: tuple[RubyClass, ...] = ()  # the classes and modules around the text, innermost last

    def inner(self, scope: LocalScope, proc: Proc) -> "Frame":
        """Open the frame of a block that was made in this one."""
        frame = Frame.__new__(Frame)
        frame.execution = self.execution
        frame.outer = self
        frame.slots = [None] * len(scope.names)
        frame.this = self.this
        frame.home = self.home
        frame.proc = proc
        frame.definee = self.definee
        frame.modules = self.modules
        return frame
