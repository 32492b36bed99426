"""Methods and blocks that the code defines: how arguments reach their parameters, and how calls end."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from precast.lang.ruby.evaluation.frames import Frame, Home, LocalScope
from precast.lang.ruby.execution import Jump
from precast.lang.ruby.objects import Proc, RubyClass
from precast.lang.ruby.syntax.nodes import Parameter
from precast.lang.ruby.values import Symbol

if TYPE_CHECKING:
    from precast.lang.ruby.evaluation.closures import Bind, Closure
    from precast.lang.ruby.execution import Execution

MAX_DEPTH = 120  # of calls of methods of the code in each other


class UserMethod:
    """A method that the code defines. It runs in the execution that calls it, which may be another than the one that defined it."""

    __slots__ = ("arity", "bind", "body", "has_jumps", "modules", "name", "owner", "scope")

    def __init__(
        self, name: str, scope: LocalScope, bind: "Bind", body: "Closure", arity: int, owner: RubyClass | None
    ) -> None:
        self.name = name
        self.scope = scope
        self.bind = bind
        self.body = body
        self.arity = arity
        self.owner = owner
        self.modules: tuple[RubyClass, ...] = ()

    def call(self, execution: "Execution", this: Any, args: tuple[Any, ...] | list[Any], block: Proc | None) -> Any:
        """Run the method. Raises TypeError for a wrong number of arguments."""
        execution.count_step()
        home = Home(self, tuple(args), block)
        frame = Frame(execution, self.scope, this, home)
        frame.modules = self.modules
        frame.definee = self.owner
        execution.enter()
        try:
            self.bind(frame, home.args, block)
            return self.body(frame)
        except Jump as jump:
            if jump.kind == "return" and jump.tag is home:
                return jump.value
            raise
        finally:
            execution.leave()


class BuiltMethod:
    """A method made by `attr_reader`, `define_method` and the like: a function of the object."""

    __slots__ = ("arity", "function", "modules", "name", "owner")

    def __init__(self, name: str, function: Callable[..., Any], arity: int = -1) -> None:
        self.name = name
        self.function = function
        self.arity = arity
        self.owner: RubyClass | None = None
        self.modules: tuple[RubyClass, ...] = ()

    def call(self, execution: "Execution", this: Any, args: tuple[Any, ...] | list[Any], block: Proc | None) -> Any:
        return self.function(execution, this, list(args), block)


def arity_of(parameters: tuple[Parameter, ...]) -> int:
    """Return Ruby's arity: the number of required parameters, or `-n-1` if there are others."""
    plain = [each for each in parameters if not (each.is_key or each.is_key_rest or each.is_block)]
    required = sum(1 for each in plain if not each.is_rest and each.default is None)
    needs_key = any(each.is_key and each.default is None for each in parameters)
    has_more = any(each.is_rest or each.default is not None for each in plain)
    return -required - (not needs_key) - 1 + (not needs_key) if has_more else required + needs_key


class Binder:
    """Puts arguments into the slots of a frame by the kinds of the parameters."""

    def __init__(
        self,
        parameters: tuple[Parameter, ...],
        places: list[int],
        defaults: dict[int, "Closure"],
        inner: dict[int, Any],
    ) -> None:
        plain = [
            (at, each) for at, each in enumerate(parameters) if not (each.is_key or each.is_key_rest or each.is_block)
        ]
        self._plain = [(places[at], at, each.is_rest) for at, each in plain]
        self._keys = [(each.name, places[at], at) for at, each in enumerate(parameters) if each.is_key]
        self._key_rest = next((places[at] for at, each in enumerate(parameters) if each.is_key_rest), None)
        self._block = next((places[at] for at, each in enumerate(parameters) if each.is_block), None)
        self._takes_keys = bool(self._keys) or self._key_rest is not None
        self._defaults, self._inner = defaults, inner
        self._required = sum(1 for at, each in plain if not each.is_rest and each.default is None)
        self._has_rest = any(each.is_rest for _, each in plain)
        self.is_simple = not (defaults or inner or self._takes_keys or self._has_rest or self._block is not None)

    def check_count(self, count: int) -> None:
        """Raise ValueError in Ruby's words for a wrong number of arguments."""
        if count < self._required or (count > len(self._plain) and not self._has_rest):
            most = "+" if self._has_rest else "" if self._required == len(self._plain) else f"..{len(self._plain)}"
            raise ValueError(f"wrong number of arguments (given {count}, expected {self._required}{most})")

    def bind_method(self, frame: Frame, args: tuple[Any, ...], block: Any) -> None:
        given, keys = list(args), {}
        if self._takes_keys and given and _is_keys(given[-1]) and len(given) > self._required:
            keys = given.pop()
        self.check_count(len(given))
        self._bind(frame, given)
        if self._takes_keys:
            self._bind_keys(frame, keys)
        if self._block is not None:
            frame.slots[self._block] = block

    def bind_block(self, frame: Frame, args: tuple[Any, ...], block: Any) -> None:
        """Bind as blocks do: missing arguments are nil, surplus ones are dropped, a single array is spread over several parameters."""
        plain = self._plain
        spreads = len(plain) > 1 or (self._has_rest and len(plain) > 0 and len(plain) != 1)
        given = list(args[0]) if spreads and len(args) == 1 and isinstance(args[0], list) else list(args)
        keys: dict[Any, Any] = {}
        if self._takes_keys and given and _is_keys(given[-1]):
            keys = given.pop()
        if not self._has_rest and len(given) > len(plain):
            del given[len(plain) :]
        self._bind(frame, given)
        if self._takes_keys:
            self._bind_keys(frame, keys)
        if self._block is not None:
            frame.slots[self._block] = block

    def _bind(self, frame: Frame, given: list[Any]) -> None:
        slots, taken = frame.slots, 0
        optional = max(0, len(given) - self._required)
        for position, (place, at, is_rest) in enumerate(self._plain):
            if is_rest:
                after = sum(1 for _, later, _ in self._plain[position + 1 :] if later not in self._defaults)
                upto = max(taken, len(given) - after)
                slots[place] = given[taken:upto]
                taken = upto
                continue
            if at in self._defaults:
                if optional == 0:
                    slots[place] = self._defaults[at](frame)
                    continue
                optional -= 1
            value = given[taken] if taken < len(given) else None
            taken += 1
            if at in self._inner:
                self._inner[at](frame, (value,) if isinstance(value, list) else ([value],), None)
            else:
                slots[place] = value

    def _bind_keys(self, frame: Frame, keys: dict[Any, Any]) -> None:
        rest = dict(keys)
        for name, place, at in self._keys:
            symbol = Symbol(name)
            if symbol in rest:
                frame.slots[place] = rest.pop(symbol)
            elif at in self._defaults:
                frame.slots[place] = self._defaults[at](frame)
            else:
                raise ValueError(f"missing keyword: :{name}")
        if self._key_rest is not None:
            frame.slots[self._key_rest] = rest
        elif rest:
            raise ValueError(f"unknown keyword: :{next(iter(rest)).name}")


def _is_keys(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, Symbol) for key in value)
