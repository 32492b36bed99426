"""The state of one run of Ruby code: its output, its variables, and its access to the compile around it."""

from typing import Any, Protocol

from precast.lang.datatypes import Type, parse_type
from precast.lang.issues import erb as issues
from precast.lang.ruby.values import Proc, Symbol, class_name, from_ruby, inspect, to_ruby
from precast.lang.values.base import Unknown
from precast.lang.values.unknowns import has_unknown

# Iterations of loops and calls of blocks. Code that needs more is taken for an endless loop.
MAX_STEPS = 2_000_000


class RubyHost(Protocol):
    """What Ruby code may ask of the compile."""

    def variable(self, scope: Any, name: str) -> Any: ...

    def has_variable(self, scope: Any, name: str) -> bool: ...

    def variable_names(self, scope: Any) -> list[str]:
        """Return the names of all variables that have a value in the scope."""

    def call_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any: ...

    def concrete(self, value: Any, span: Any) -> Any: ...

    def template_variables(self, scope: Any) -> dict[str, Any]:
        """Return the variables that templates set in this scope with `setvar`: the objects themselves, for later templates."""

    def replace_variable(self, scope: Any, name: str, before: Any, now: Any) -> None:
        """Replace a value of the manifest after the code changed the array or hash in place, as Ruby allows."""


class Jump(Exception):
    """A `next`, `break` or `return` on its way to the loop, block or method that it ends."""

    def __init__(self, kind: str, value: Any) -> None:
        super().__init__(kind)
        self.kind = kind
        self.value = value


class BlockAdapter:
    """A Ruby block in the form in which Puppet's functions take a lambda."""

    def __init__(self, block: Proc) -> None:
        self._block = block
        self.min_args = self.max_args = block.arity

    @property
    def type(self) -> Type:
        return parse_type("Callable")

    def call(self, *args: Any) -> Any:
        return from_ruby(self._block.call(*map(to_ruby, args)))


class Execution:
    """Holds everything that changes while the code runs."""

    def __init__(self, host: RubyHost, scope: Any) -> None:
        self.host = host
        self.scope = scope
        self.out: list[Any] = []
        self.ivars: dict[str, Any] = {}
        self.methods: dict[str, Proc] = {}  # those that the code defines
        self.match: Any = None  # of the last regular expression
        self.steps = 0
        self.has_mutated = False  # whether the code changed an array or hash in place
        self._read_variables: dict[str, tuple[Any, Any]] = {}

    def count_step(self) -> None:
        """Count one step. Raises InputError LANG-906 beyond the limit."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise issues.TOO_LONG.error(limit=MAX_STEPS)

    def read_ivar(self, name: str) -> Any:
        """Return a variable of the manifest or one that the code has set; nil if neither exists."""
        if name not in self.ivars:
            if name in (set_by_templates := self.host.template_variables(self.scope)):
                return set_by_templates[name]
            if not self.host.has_variable(self.scope, name):
                return None
            value = self.host.variable(self.scope, name)
            self.ivars[name] = to_ruby(value)
            self._read_variables[name] = value, self.ivars[name]
        return self.ivars[name]

    def write_back(self) -> None:
        """Give the manifest the arrays and hashes that the code changed in place: in Puppet both share the same objects."""
        if self.has_mutated:
            for name, (before, value) in self._read_variables.items():
                if isinstance(value, list | dict) and (now := from_ruby(value)) != before:
                    self.host.replace_variable(self.scope, name, before, now)

    def look_up(self, name: Any) -> Any:
        """Return what `scope['name']` gives: nil if the variable does not exist."""
        text = name.name if isinstance(name, Symbol) else str(name)
        if text in (set_by_templates := self.host.template_variables(self.scope)):
            return set_by_templates[text]
        text = text.removeprefix("::") if text.count("::") == 1 and text.startswith("::") else text
        return to_ruby(self.host.variable(self.scope, text)) if self.host.has_variable(self.scope, text) else None

    def call_function(self, name: str, args: list[Any], block: Proc | None) -> Any:
        """Call a function of Puppet."""
        adapter = None if block is None else BlockAdapter(block)
        return to_ruby(self.host.call_function(self.scope, name, [from_ruby(arg) for arg in args], adapter))

    def resolve(self, value: Any) -> Any:
        """Return the value with every unknown in it made concrete, which code needs before it inspects the value."""
        if isinstance(value, Unknown):
            return to_ruby(self.host.concrete(value, None))
        if isinstance(value, list):
            return [self.resolve(item) for item in value] if any(map(_has_unknown, value)) else value
        if isinstance(value, dict):
            return (
                {key: self.resolve(item) for key, item in value.items()}
                if any(map(_has_unknown, value.values()))
                else value
            )
        return value

    def yield_to(self, block: Proc | None, *args: Any) -> Any:
        """Call a block. Raises InputError LANG-903 if the caller passed none."""
        if block is None:
            raise issues.BAD_CALL.error(name="each", reason="no block given")
        self.count_step()
        return block.call(*args)


def _has_unknown(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_unknown, value))
    if isinstance(value, dict):
        return any(map(_has_unknown, value.values()))
    return has_unknown(value)


def no_method_error(receiver: Any, name: str, subject: str = "value") -> Exception:
    """Return the error LANG-902 in Ruby's words."""
    text = "nil:NilClass" if receiver is None else f"{inspect(receiver)[:60]}:{class_name(receiver)}"
    return issues.NO_METHOD.error(name=name, receiver=text, subject=subject)
