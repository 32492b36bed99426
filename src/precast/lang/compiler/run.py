"""One compile: what closures and functions reach through `scope.run`.

It holds the inputs, the log, the loader, the catalog in the making and the top scope. Nothing in it outlives the compile, so that a
compile in a warm process reads and says what one in a fresh process does.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from precast.base.errors import Issue
from precast.base.spans import Source, Span
from precast.lang import datatypes
from precast.lang.compiler.actions import CatalogActions
from precast.lang.compiler.facts import NodeVariables
from precast.lang.compiler.guesses import did_you_mean
from precast.lang.compiler.loading import Loader
from precast.lang.compiler.rendering import render
from precast.lang.compiler.resources import Resource
from precast.lang.compiler.types.known_types import KnownTypes, is_metaparameter
from precast.lang.compiler.types.type_names import TypeNames
from precast.lang.evaluator.calls import call_by_name
from precast.lang.functions import issues as function_issues
from precast.lang.functions import registry
from precast.lang.functions.modules import library as native_functions
from precast.lang.functions.registry import Function
from precast.lang.inputs import ABSENT, Constant, Inputs
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Frame, Scope, new_frame
from precast.lang.settings import LogLine, Settings
from precast.lang.values.core import Hash, Unknown
from precast.lang.values.moments import Timestamp, from_seconds
from precast.lang.values.unknowns import STRINGS, DeferredCall, Hole, Joined, holds_unknown, replace

if TYPE_CHECKING:
    from precast.lang.hiera.lookups import Lookups

# Known in every scope, undef where nothing set them.
_ALWAYS = frozenset(("module_name", "caller_module_name", "title", "name"))
_NON_EMPTY_STRING = datatypes.parse_type("String[1]")


class Run:
    """The state of one compile."""

    def __init__(self, inputs: Inputs, settings: Settings) -> None:
        self.inputs = inputs
        self.settings = settings
        self.logs: list[LogLine] = []
        self.loader = Loader(inputs, settings, self.log)
        self.types_known = KnownTypes(self.loader, inputs)
        self.catalog = CatalogActions(self)
        self.frames: dict[str, Frame] = {}
        self.output: list[list[Any]] = []
        self.place: tuple[Source | None, Span | None] = (None, None)
        self.has_unknowns = False
        self.types: dict[Any, Any] = {}
        self._native: dict[str, Function] = {}
        self.main = Resource("class", "main", None)
        self._node = NodeVariables(inputs, settings)
        self._warned: set[str] = set()
        self._kept: dict[int, dict[str, Any]] = {}
        self.type_names = TypeNames(self)
        self._lookups: Lookups | None = None
        frame = Frame("", self.main, None, "", is_open=True)
        self.top = new_frame(self, frame, None)
        self.main.frame = frame

    @property
    def lookups(self) -> "Lookups":
        """Look-ups in Hiera; loaded when something is first looked up."""
        if self._lookups is None:
            from precast.lang.hiera.lookups import Lookups

            self._lookups = Lookups(self)
        return self._lookups

    # The log

    def log(self, level: str, message: Any) -> None:
        self.logs.append(LogLine(level, message))

    def warn_once(self, key: str, message: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            self.log("warning", message)

    def at(self, source: Source, span: Span) -> "Run":
        """This run, told where it is."""
        self.place = (source, span)
        return self

    def complain(self, issue: Issue, always_warn: bool = False, **fields: object) -> None:
        """What strictness makes of something doubtful: nothing, a warning or an error."""
        error = issue.error(*self.place, **fields)
        if self.settings.strict == "error" and not always_warn:
            raise error
        if self.settings.strict != "off" or always_warn:
            self.log("warning", error.message)

    # Variables

    def top_variable(self, name: str) -> Any:
        """A variable that no scope has: of the node's data, or MISSING."""
        found = self._node.get(name)
        if isinstance(found, Unknown):
            self.has_unknowns = True
        return found

    def top_value(self, name: str, source: Source, span: Span) -> Any:
        found = self.top_variable(name)
        return self._unknown(name, source, span) if found is MISSING else found

    def _unknown(self, name: str, source: Source, span: Span) -> Any:
        if name in _ALWAYS:
            return None
        error = issues.UNKNOWN_VARIABLE.error(source, span, name=name)
        if self.settings.strict_variables:
            raise error
        if self.settings.strict != "off":
            self.log("warning", error.message)
        return None

    def qualified_value(self, scope: Scope, name: str, source: Source, span: Span) -> Any:
        found = self.qualified(name)
        return self._unknown(name, source, span) if found is MISSING else found

    def qualified(self, name: str) -> Any:
        """`a::b` of a class that has run, or of one it inherits; `::a` of the top; MISSING if nobody set it."""
        class_name, _, leaf = name.removeprefix("::").rpartition("::")
        if not class_name:
            value = self.top.variables.get(leaf, MISSING)
            return self.top_variable(leaf) if value is MISSING else value
        if class_name == "settings":
            return self._setting(leaf)
        frame = self.frames.get(class_name)
        while frame is not None:
            value = frame.scope.variables.get(leaf, MISSING)
            if value is not MISSING:
                return value
            frame = frame.parent_class
        return MISSING

    def _setting(self, name: str) -> Any:
        answer = self.inputs.ask(Constant("settings"))
        own = {
            "environment": self.settings.environment,
            "strict": self.settings.strict,
            "strict_variables": self.settings.strict_variables,
            "storeconfigs": False,
        }
        known = Hash.of((own if answer is ABSENT else own | answer).items())
        return known if name == "all_local" else known.get(name, MISSING)

    def variable(self, scope: Scope, name: str) -> Any:
        found = self.qualified(name) if "::" in name else scope.find(name)
        if found is MISSING:
            source, span = self.place
            return self._unknown(name, source or Source("", ""), span or Span(0, 0))
        return found

    def variable_names(self, scope: Scope) -> list[str]:
        """The names of all variables that are visible from a scope and not undef; asks for the names of all facts."""
        names: dict[str, None] = {}
        around: Scope | None = scope
        while around is not None:
            names.update((name, None) for name, value in around.variables.items() if value is not None)
            around = around.parent
        return [*names, *(name for name in self._node.names() if name not in names)]

    def replace_variable(self, scope: Scope, name: str, before: Any, now: Any) -> None:
        """What a template has made of a variable; a parameter's value is the same object in Puppet, so it changes too."""
        around: Scope | None = scope
        while around is not None and name not in around.variables:
            around = around.parent
        if around is None or around.variables[name] is not before:
            return
        around.variables[name] = now
        resource = around.frame.resource
        parameter = resource.parameters.get(name) if resource is not None else None
        if parameter is not None and parameter.value is before:
            parameter.value = now

    def kept(self, scope: Scope) -> dict[str, Any]:
        """What templates have set in the class or define around a scope."""
        return self._kept.setdefault(id(scope.frame), {})

    def has_variable(self, scope: Scope, name: str) -> bool:
        return (self.qualified(name) if "::" in name else scope.find(name)) is not MISSING

    def is_fact(self, scope: Scope, name: str, top_only: bool) -> bool:
        """Whether a variable is of the node's data, so that accesses below it are questions."""
        around: Scope | None = self.top if top_only else scope
        while around is not None:
            if name in around.variables:
                return False
            around = around.parent
        return self._node.is_fact(name)

    def is_fact_name(self, name: str) -> bool:
        return self._node.has(name)

    def fact_value(self, name: str, path: tuple[str | int, ...], whole: bool = False) -> Any:
        found = self._node.value(name, path, whole)
        if isinstance(found, Unknown):
            self.has_unknowns = True
        return found

    def fact_kind(self, name: str, path: tuple[str | int, ...]) -> str:
        """What lies below a variable of the node's data: absent, string, hash, other."""
        return self._node.kind(name, path)

    # Values that are not known

    def concrete(self, value: Any, span: Span | None = None) -> Any:
        """The value with its holes asked for, at any depth. Raises for a future or a deferred call."""
        if type(value) is str or not holds_unknown(value):
            return value
        known = replace(value, self._ask)
        if holds_unknown(known):  # a text with a Deferred in it
            raise issues.NOT_KNOWN_YET.error(value=str(known))
        return known

    def concrete_top(self, value: Any) -> Any:
        """As concrete, for the value itself only: what it holds inside stays open."""
        return self.concrete(value) if isinstance(value, Unknown) else value

    def _ask(self, unknown: Unknown) -> Any:
        if isinstance(unknown, Hole):
            return self._node.ask(unknown.root, unknown.path)
        raise issues.NOT_KNOWN_YET.error(value=str(unknown))

    def fitting(self, value: Any, wanted: datatypes.Type) -> Any:
        """The value as a check against a type may see it: open where every string that is not empty will do, else asked for."""
        if isinstance(value, STRINGS) and wanted.accepts(_NON_EMPTY_STRING):
            return value
        if self.has_unknowns and isinstance(value, Hole | Joined):
            return self.concrete(value)
        return value

    def defer(self, name: str, args: Sequence[Any]) -> Any:
        self.has_unknowns = True
        return DeferredCall(name, tuple(args))

    # Functions and types

    def call_loaded(
        self,
        scope: Scope,
        name: str,
        args: Sequence[Any],
        block: Any = None,
        source: Source | None = None,
        span: Span | None = None,
    ) -> Any:
        """Calls a function that is not built in: of the Puppet language, or one that a module brings as Ruby. Raises if there is none."""
        found = self.loader.function_named(name)
        if found is not None:
            return found.call(scope, args, block)
        native = self._native.get(name)
        if native is None:
            native = self._native[name] = self._native_function(name)
        if span is not None:
            self.place = (source, span)
        return native.call(self, scope, args, block, span)

    def has_function(self, scope: Scope, name: str) -> bool:
        is_here = registry.find(name) is not None or self.loader.function_named(name) is not None
        return is_here or self.loader.ruby_function(name) is not None

    def _native_function(self, name: str) -> Function:
        """Our own version of a function that some module of the path has as Ruby."""
        path = self.loader.ruby_function(name)
        if path is None:
            known = [each for each, _ in registry.functions()] + list(self.loader.functions)
            raise issues.UNKNOWN_FUNCTION.error(name=name, guess=did_you_mean(name, known))
        found = native_functions.find(name)
        if found is None:
            module = path.partition("/lib/puppet/")[0].rpartition("/")[2]
            raise function_issues.RUBY_FUNCTION.error(name=name, module=module, path=path)
        return found

    def call_function(self, scope: Scope, name: str, args: Sequence[Any], block: Any = None) -> Any:
        if name.startswith("$"):  # as Deferred has it: the value of a variable, and what the arguments name below it
            return call_by_name(scope, "dig", (self.variable(scope, name[1:]), *args), None)
        return call_by_name(scope, name, tuple(args), block)

    def indexed(self, scope: Scope, kind: datatypes.Type, keys: tuple[Any, ...]) -> Any:
        """`Type[keys]`."""
        return datatypes.index(kind, keys)

    def resource_parameter(self, type_name: Any, title: str, name: Any) -> Any:
        """A parameter of a declared resource. Raises where the resource or the parameter does not exist."""
        resource = self.catalog.resource(str(type_name).lower(), title)
        value = resource.value(name)
        if value is None:
            is_own = resource.definition is not None and name in resource.definition.names
            if not is_own and not self.types_known.has_parameter(resource.type_name, name):
                raise issues.UNKNOWN_RESOURCE_PARAMETER.error(reference=resource.ref, name=name)
            if resource.definition is not None and not is_metaparameter(name) and not is_own:
                raise issues.UNKNOWN_RESOURCE_PARAMETER.error(reference=resource.ref, name=name)
        return value

    # Files

    def module_directory(self, scope: Scope, name: str) -> str | None:
        return self.loader.module_directory(name)

    def shown_path(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._directory()}/{path}"

    def environment_path(self, path: str) -> str | None:
        """An absolute path as the inputs name it; None if it lies outside of the environment and its module paths."""
        base = self._directory()
        if base and path.startswith(f"{base}/"):
            return path[len(base) + 1 :]
        inside = any(path.startswith(f"{root}/") for root in self.settings.module_path if root.startswith("/"))
        return path if inside else None

    def _directory(self) -> str:
        answer = self.inputs.ask(Constant("environment_path"))
        return "" if answer is ABSENT else str(answer)

    def now(self) -> Timestamp:
        """The moment the version was deployed; there is no other clock."""
        answer = self.inputs.ask(Constant("deployed_at"))
        return Timestamp(0 if answer is ABSENT else from_seconds(answer))

    def parse_type(self, scope: Scope, text: str) -> datatypes.Type:
        return self.type_names.parse(text)

    def render_epp(self, scope: Scope, source: Source, parameters: Hash | None, *, inline: bool) -> Any:
        return render(self, scope, source, parameters, inline)

    def render_erb(self, scope: Scope, source: Source) -> Any:
        from precast.lang.ruby.erb import (
            template,  # a third of all the language's code, and many manifests never need it
        )

        return template.render(self, scope, source)
