"""One rendering: what the template has put out, its variables, and its way to the compile around it."""

from typing import Any, Protocol

from precast.lang.datatypes import Type, parse_type
from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.values import Proc, Symbol, class_name, from_ruby, inspect, to_ruby
from precast.lang.values.core import Unknown
from precast.lang.values.unknowns import holds_unknown

# Iterations of loops and calls of blocks; a template with more is one that does not end.
MAX_STEPS = 2_000_000


class TemplateHost(Protocol):
    """What a template may ask of the compile."""

    def variable(self, scope: Any, name: str) -> Any: ...

    def has_variable(self, scope: Any, name: str) -> bool: ...

    def variable_names(self, scope: Any) -> list[str]:
        """All that have a value there."""

    def call_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any: ...

    def concrete(self, value: Any, span: Any) -> Any: ...

    def kept(self, scope: Any) -> dict[str, Any]:
        """What templates have set where they are called, for those that are called there later: the very objects."""

    def replace_variable(self, scope: Any, name: str, before: Any, now: Any) -> None:
        """A template has changed an array or hash of the manifest in its place, as Ruby lets it."""


class Leaving(Exception):
    """next, break or return on its way to who takes it."""

    def __init__(self, sort: str, value: Any) -> None:
        super().__init__(sort)
        self.sort = sort
        self.value = value


class TemplateBlock:
    """A template's block as functions take a lambda."""

    def __init__(self, block: Proc) -> None:
        self._block = block
        self.min_args = self.max_args = block.arity

    @property
    def type(self) -> Type:
        return parse_type("Callable")

    def call(self, *args: Any) -> Any:
        return from_ruby(self._block.call(*map(to_ruby, args)))


class Rendering:
    """Holds what changes while a template is rendered."""

    def __init__(self, host: TemplateHost, scope: Any) -> None:
        self.host = host
        self.scope = scope
        self.out: list[Any] = []
        self.own: dict[str, Any] = {}
        self.defined: dict[str, Proc] = {}
        self.match: Any = None
        self.steps = 0
        self.has_changed = False
        self._taken: dict[str, tuple[Any, Any]] = {}

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise issues.TOO_LONG.error(limit=MAX_STEPS)

    def ivar(self, name: str) -> Any:
        """A variable of the manifest, or one the template has set; nil if there is none."""
        if name not in self.own:
            if name in (kept := self.host.kept(self.scope)):
                return kept[name]
            if not self.host.has_variable(self.scope, name):
                return None
            value = self.host.variable(self.scope, name)
            self.own[name] = to_ruby(value)
            self._taken[name] = value, self.own[name]
        return self.own[name]

    def hand_back(self) -> None:
        """Puppet's arrays and hashes are Ruby's own: one that a template changes is changed for the manifest too."""
        if self.has_changed:
            for name, (before, made) in self._taken.items():
                if isinstance(made, list | dict) and (now := from_ruby(made)) != before:
                    self.host.replace_variable(self.scope, name, before, now)

    def look_up(self, name: Any) -> Any:
        """`scope['name']`: nil if there is none."""
        text = name.name if isinstance(name, Symbol) else str(name)
        if text in (kept := self.host.kept(self.scope)):
            return kept[text]
        text = text.removeprefix("::") if text.count("::") == 1 and text.startswith("::") else text
        return to_ruby(self.host.variable(self.scope, text)) if self.host.has_variable(self.scope, text) else None

    def function(self, name: str, args: list[Any], block: Proc | None) -> Any:
        passed = None if block is None else TemplateBlock(block)
        return to_ruby(self.host.call_function(self.scope, name, [from_ruby(arg) for arg in args], passed))

    def known(self, value: Any) -> Any:
        """The value with everything in it known: what is looked at must be."""
        if isinstance(value, Unknown):
            return to_ruby(self.host.concrete(value, None))
        if isinstance(value, list):
            return [self.known(item) for item in value] if any(map(_is_open, value)) else value
        if isinstance(value, dict):
            return (
                {key: self.known(item) for key, item in value.items()} if any(map(_is_open, value.values())) else value
            )
        return value

    def yield_to(self, block: Proc | None, *args: Any) -> Any:
        if block is None:
            raise issues.BAD_CALL.error(name="each", reason="no block given")
        self.step()
        return block.call(*args)


def _is_open(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_is_open, value))
    if isinstance(value, dict):
        return any(map(_is_open, value.values()))
    return holds_unknown(value)


def no_method(receiver: Any, name: str, subject: str = "value") -> Exception:
    shown = {None: "nil:NilClass"}.get(receiver) if receiver is None else None
    text = shown or f"{inspect(receiver)[:60]}:{class_name(receiver)}"
    return issues.NO_METHOD.error(name=name, receiver=text, subject=subject)
