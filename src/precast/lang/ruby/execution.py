"""The state of one run of Ruby code: its output, its variables, and its access to the compile around it."""

import contextlib
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol

from precast.lang.datatypes import Type, parse_type
from precast.lang.issues import erb as issues
from precast.lang.ruby.objects import Proc, RubyClass
from precast.lang.ruby.values import Symbol, class_name, from_ruby, inspect, to_ruby
from precast.lang.values.base import Unknown
from precast.lang.values.unknowns import has_unknown

# Iterations of loops, and calls of blocks and methods of the code. Code that needs more is taken for an endless loop.
MAX_STEPS = 2_000_000
MAX_DEPTH = 150  # of calls of methods of the code in each other


class RubyHost(Protocol):
    """What Ruby code may ask of the compile."""

    def variable(self, scope: Any, name: str) -> Any: ...

    def has_variable(self, scope: Any, name: str) -> bool: ...

    def variable_names(self, scope: Any) -> list[str]:
        """Return the names of all variables that have a value in the scope."""

    def call_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any: ...

    def call_legacy_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any:
        """Call a function of the older kind of a module, or as `call_function` if there is none of this name."""

    def concrete(self, value: Any, span: Any) -> Any: ...

    def template_variables(self, scope: Any) -> dict[str, Any]:
        """Return the variables that templates set in this scope with `setvar`: the objects themselves, for later templates."""

    def template_methods(self) -> dict[str, Any]:
        """Return the methods that templates have defined in this compile, which later templates can call."""

    def replace_value(self, scope: Any, before: Any, now: Any) -> None:
        """Replace a value of the manifest, wherever it is, after code changed the array or hash in place, as Ruby allows."""


class Jump(Exception):
    """A `next`, `break`, `return` or `retry` on its way to what it ends: `tag` is the call, loop frame or block, or the lambda."""

    def __init__(self, kind: str, value: Any, tag: Any = None, lambda_tag: Any = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.value = value
        self.tag = tag
        self.lambda_tag = lambda_tag


class BlockAdapter:
    """A Ruby block in the form in which Puppet's functions take a lambda."""

    def __init__(self, block: Proc) -> None:
        self._block = block
        self.min_args = self.max_args = abs(block.arity)

    @property
    def type(self) -> Type:
        return parse_type("Callable")

    def call(self, *args: Any) -> Any:
        return from_ruby(self._block.call(*map(to_ruby, args)))


class Execution:
    """Holds everything that changes while the code runs."""

    # What only some executions have: methods of built-in classes and functions that reach the machine, and the end of the last command.
    class_methods: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    functions: ClassVar[Mapping[str, Any]] = {}
    child_status: Any = None

    def __init__(self, host: RubyHost, scope: Any, *, is_concrete: bool = False) -> None:
        self.host = host
        self.scope = scope
        self.is_concrete = is_concrete  # whether all values are known, as they are in functions
        self.out: list[Any] = []
        self.ivars: dict[str, Any] = {}
        self.globals: dict[str, Any] = {"LOAD_PATH": []}
        self.constants: dict[str, Any] = {}
        self.methods: dict[str, Any] = {}  # those that the code defines outside of classes
        self.match: Any = None  # of the last regular expression
        self.exception: Any = None  # that is being rescued
        self.locals: dict[str, Any] = {}  # that the surrounding code of a template gives it: `file`
        self.steps = 0
        self.depth = 0
        self.has_mutated = False  # whether the code changed an array or hash in place
        self._read_values: dict[int, tuple[Any, Any]] = {}

    # Limits

    def count_step(self) -> None:
        """Count one step. Raises InputError LANG-906 beyond the limit."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise issues.TOO_LONG.error(limit=MAX_STEPS)

    def enter(self) -> None:
        """Count a call of a method. Raises InputError LANG-907 beyond the limit."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise issues.TOO_DEEP.error()

    def leave(self) -> None:
        self.depth -= 1

    # Variables of the manifest

    def read_ivar(self, name: str) -> Any:
        """Return a variable of the manifest or one that the code has set; nil if neither exists."""
        if name not in self.ivars:
            if name in (set_by_templates := self.host.template_variables(self.scope)):
                return set_by_templates[name]
            if not self.host.has_variable(self.scope, name):
                return None
            self.ivars[name] = self._shared(self.host.variable(self.scope, name))
        return self.ivars[name]

    def has_ivar(self, name: str) -> bool:
        return name in self.ivars or self.read_ivar(name) is not None

    @contextlib.contextmanager
    def inside(self, scope: Any) -> Iterator[None]:
        """Look up variables and call functions in another scope; None stays in the present one."""
        before = self.scope
        self.scope = before if scope is None else scope
        try:
            yield
        finally:
            self.scope = before

    def _shared(self, value: Any) -> Any:
        """Return a value of the manifest as Ruby sees it: one object for each, however many variables refer to it."""
        if not isinstance(value, tuple) and not hasattr(value, "items"):
            return to_ruby(value)
        if id(value) not in self._read_values:
            self._read_values[id(value)] = value, to_ruby(value)
        return self._read_values[id(value)][1]

    def write_back(self) -> None:
        """Give the manifest the arrays and hashes that the code changed in place: in Puppet both share the same objects."""
        if self.has_mutated:
            for before, value in self._read_values.values():
                if isinstance(value, list | dict) and (now := from_ruby(value)) != before:
                    self.host.replace_value(self.scope, before, now)

    def look_up(self, name: Any) -> Any:
        """Return what `scope['name']` gives: nil if the variable does not exist."""
        text = name.name if isinstance(name, Symbol) else str(name)
        if text in (set_by_templates := self.host.template_variables(self.scope)):
            return set_by_templates[text]
        text = text.removeprefix("::") if text.count("::") == 1 and text.startswith("::") else text
        if not self.host.has_variable(self.scope, text):
            return None
        value = self.host.variable(self.scope, text)
        return self._shared(self.host.concrete(value, None) if self.is_concrete else value)

    # Values

    def call_function(self, name: str, args: list[Any], block: Proc | None, *, is_legacy: bool = False) -> Any:
        """Call a function of Puppet; with `is_legacy` one of the older kind, if a module has one of this name."""
        adapter = None if block is None else BlockAdapter(block)
        call = self.host.call_legacy_function if is_legacy else self.host.call_function
        value = call(self.scope, name, [from_ruby(arg) for arg in args], adapter)
        return to_ruby(self.host.concrete(value, None) if self.is_concrete else value)

    def resolve(self, value: Any) -> Any:
        """Return the value with every unknown in it made concrete, which code needs before it inspects the value."""
        if self.is_concrete:
            return value
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

    def text(self, value: Any) -> Any:
        """Return Ruby's `to_s` of a value, by the method of the code if its class has one."""
        if type(value) is str:
            return value
        from precast.lang.ruby.methods.dispatch import text_of

        return text_of(self, value)

    def yield_to(self, block: Proc | None, *args: Any) -> Any:
        """Call a block. Raises InputError LANG-903 if the caller passed none."""
        if block is None:
            raise issues.BAD_CALL.error(name="yield", reason="no block given (yield)")
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.count_step()
        return block.call(*args)

    def shown_path(self, path: str, *, is_directory: bool) -> str:
        """Return the path of a file of code as the code sees it, or that of its directory."""
        return posixpath.dirname(path) if is_directory else path

    def read_file(self, path: str) -> str:
        """Return the text of a file. Raises InputError LANG-901 where files are not part of the inputs."""
        raise issues.NOT_IN_SUBSET.error(construct=f"the file {path}, which is no input of the compile")

    def require(self, name: str, *, is_relative: bool) -> bool:
        """Load a file of a module; a library is built in, or its use is refused at the call."""
        return True

    # What code can find

    def has_method(self, this: Any, name: str) -> bool:
        from precast.lang.ruby.methods.dispatch import responds_to

        return responds_to(self, this, name)

    def has_constant(self, frame: Any, name: str) -> bool:
        from precast.lang.ruby.methods.constants import knows_constant

        return knows_constant(frame, name)

    def is_builtin(self, name: str) -> bool:
        from precast.lang.ruby.methods.constants import is_builtin

        return is_builtin(name)


def _has_unknown(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_unknown, value))
    if isinstance(value, dict):
        return any(map(_has_unknown, value.values()))
    return has_unknown(value)


def no_method_error(receiver: Any, name: str, subject: str = "value") -> Exception:
    """Return the error LANG-902 in Ruby's words."""
    if isinstance(receiver, RubyClass):
        text = f"{receiver.name}:Class"
    else:
        text = "nil:NilClass" if receiver is None else f"{str(inspect(receiver))[:60]}:{class_name(receiver)}"
    return issues.NO_METHOD.error(name=name, receiver=text, subject=subject)
