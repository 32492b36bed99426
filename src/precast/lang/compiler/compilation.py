"""The state of one compile, which closures and functions reach through `scope.compilation`.

It holds the inputs, the log, the loader, the catalog under construction and the top scope. Nothing in it outlives the compile, so a
compile in a warm process reads and logs exactly what one in a fresh process does.
"""

import posixpath
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from precast.base.errors import Issue
from precast.base.spans import Source, Span
from precast.lang import datatypes, puppet_settings
from precast.lang.compiler.catalog_operations import CatalogOperations
from precast.lang.compiler.epp_templates import render
from precast.lang.compiler.fact_choices import FactChoices
from precast.lang.compiler.facts import NodeVariables
from precast.lang.compiler.loader import Loader
from precast.lang.compiler.resources import Resource
from precast.lang.compiler.suggestions import did_you_mean
from precast.lang.compiler.types.known_types import KnownTypes, is_metaparameter
from precast.lang.compiler.types.type_codes import TypeCodes
from precast.lang.compiler.types.type_names import TypeNames
from precast.lang.evaluator.calls import call_by_name
from precast.lang.functions import registry
from precast.lang.functions.registry import Function
from precast.lang.inputs import ABSENT, Constant, Inputs
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Frame, Scope, new_frame
from precast.lang.settings import LogLine, Settings
from precast.lang.values.base import Hash, Unknown
from precast.lang.values.secret_texts import render_noted
from precast.lang.values.times import Timestamp, from_seconds
from precast.lang.values.unknowns import STRINGS, DeferredCall, Hole, UnknownText, has_unknown, replace

if TYPE_CHECKING:
    from precast.lang.functions.ruby.calls import RubyFunction
    from precast.lang.hiera.lookups import Lookups

# These variables are known in every scope; they are undef if nothing set them.
_ALWAYS = frozenset(("module_name", "caller_module_name", "title", "name"))
_NON_EMPTY_STRING = datatypes.parse_type("String[1]")


class Compilation:
    """The state of one compile."""

    def __init__(self, inputs: Inputs, settings: Settings) -> None:
        self.inputs = inputs
        self.settings = settings
        self.logs: list[LogLine] = []
        self.loader = Loader(inputs, settings, self.log)
        self.known_types = KnownTypes(self.loader, inputs)
        self.catalog = CatalogOperations(self)
        self.frames: dict[str, Frame] = {}
        self.output: list[list[Any]] = []
        self.place: tuple[Source | None, Span | None] = (None, None)
        self.has_unknowns = False
        self.types: dict[Any, Any] = {}
        self._native_functions: dict[str, Function | RubyFunction] = {}
        self.main = Resource("class", "main", None)
        self._node = NodeVariables(inputs, settings)
        self._warned: set[str] = set()
        self._template_variables: dict[int, dict[str, Any]] = {}
        self._template_methods: dict[str, Any] = {}
        self.type_names = TypeNames(self)
        self.type_codes = TypeCodes(self)
        self.known_types.read_title = self.type_codes.names_of_title
        self.fact_choices = FactChoices(self)
        self._lookups: Lookups | None = None
        frame = Frame("", self.main, None, "", is_open=True)
        self.top = new_frame(self, frame, None)
        self.main.frame = frame

    @property
    def lookups(self) -> "Lookups":
        """Hiera lookups; the code is imported at the first lookup."""
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

    def at(self, source: Source, span: Span) -> "Compilation":
        """Set the current place in the source, and give this compilation."""
        self.place = (source, span)
        return self

    def complain(self, issue: Issue, always_warn: bool = False, **fields: object) -> None:
        """Report a doubtful construct: depending on the strictness nothing happens, a warning is logged, or an error is raised."""
        error = issue.error(*self.place, **fields)
        if self.settings.strict == "error" and not always_warn:
            raise error
        if self.settings.strict != "off" or always_warn:
            self.log("warning", error.message)

    def complain_without_exports(self, issue: Issue, source: Source | None, span: Span | None) -> None:
        """Warn of an export or a collector of exports if none are collected."""
        if not self.settings.storeconfigs:
            self.place = (source, span)
            self.complain(issue, always_warn=True)

    # Variables

    def top_variable(self, name: str) -> Any:
        """A variable that no scope defines: from the node's data, or MISSING."""
        value = self._node.get(name)
        if isinstance(value, Unknown):
            self.has_unknowns = True
        return value

    def top_value(self, name: str, source: Source, span: Span) -> Any:
        value = self.top_variable(name)
        return self._unknown_variable(name, source, span) if value is MISSING else value

    def _unknown_variable(self, name: str, source: Source, span: Span) -> Any:
        if name in _ALWAYS:
            return None
        error = issues.UNKNOWN_VARIABLE.error(source, span, name=name)
        if self.settings.strict_variables:
            raise error
        if self.settings.strict != "off":
            self.log("warning", error.message)
        return None

    def qualified_value(self, scope: Scope, name: str, source: Source, span: Span) -> Any:
        value = self.qualified(name)
        return self._unknown_variable(name, source, span) if value is MISSING else value

    def qualified(self, name: str) -> Any:
        """`a::b` of an evaluated class or of one it inherits; `::a` of the top scope; MISSING if it is not set."""
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
            **puppet_settings.DEFAULTS,
            "environment": self.settings.environment,
            "strict": self.settings.strict,
            "strict_variables": self.settings.strict_variables,
            "storeconfigs": self.settings.storeconfigs,
        }
        known = Hash.of((own if answer is ABSENT else own | answer).items())
        return known if name == "all_local" else known.get(name, MISSING)

    def variable(self, scope: Scope, name: str) -> Any:
        value = self.qualified(name) if "::" in name else scope.find(name)
        if value is MISSING:
            source, span = self.place
            return self._unknown_variable(name, source or Source("", ""), span or Span(0, 0))
        return value

    def variable_names(self, scope: Scope) -> list[str]:
        """The names of all variables visible from a scope that are not undef; this asks for the names of all facts."""
        names: dict[str, None] = {}
        around: Scope | None = scope
        while around is not None:
            names.update((name, None) for name, value in around.variables.items() if value is not None)
            around = around.parent
        return [*names, *(name for name in self._node.names() if name not in names)]

    def replace_value(self, scope: Scope, before: Any, now: Any) -> None:
        """Replace an array or hash that Ruby code changed, in the variables around the code and the parameters that they came from.

        In Puppet all of them are one object. A literal that a define evaluates again is another object there, and the same here, so that
        only the scopes around the code count.
        """
        around: Scope | None = scope
        while around is not None:
            for name, value in around.variables.items():
                if value is before:
                    around.variables[name] = now
            resource = around.frame.resource
            for parameter in resource.parameters.values() if resource is not None else ():
                if parameter.value is before:
                    parameter.value = now
            around = around.parent

    def template_methods(self) -> dict[str, Any]:
        """The methods that templates have defined in this compile: later templates can call them."""
        return self._template_methods

    def template_variables(self, scope: Scope) -> dict[str, Any]:
        """The variables that templates have set in the class or define around a scope."""
        return self._template_variables.setdefault(id(scope.frame), {})

    def has_variable(self, scope: Scope, name: str) -> bool:
        return (self.qualified(name) if "::" in name else scope.find(name)) is not MISSING

    def is_fact(self, scope: Scope, name: str, top_only: bool) -> bool:
        """Whether a variable comes from the node's data, so that an access below it is a question to the inputs."""
        around: Scope | None = self.top if top_only else scope
        while around is not None:
            if name in around.variables:
                return False
            around = around.parent
        return self._node.is_fact(name)

    def is_fact_name(self, name: str) -> bool:
        return self._node.has(name)

    def fact_value(self, name: str, path: tuple[str | int, ...], whole: bool = False) -> Any:
        value = self._node.value(name, path, whole)
        if isinstance(value, Unknown):
            self.has_unknowns = True
        return value

    def fact_kind(self, name: str, path: tuple[str | int, ...]) -> str:
        """The kind of value at a path below a variable of the node's data: absent, string, hash or other."""
        return self._node.kind(name, path)

    # Unknown values

    def concrete(self, value: Any, span: Span | None = None) -> Any:
        """Replace the holes in a value, at any depth, by asking for them. Raises for a future or a deferred call."""
        if type(value) is str or not has_unknown(value):
            return value
        known = replace(value, self._ask)
        if has_unknown(known):  # a string that contains a Deferred
            raise issues.NOT_KNOWN_YET.error(value=str(known))
        return known

    def concrete_top(self, value: Any) -> Any:
        """As `concrete`, but only for the value itself: holes inside a container stay."""
        return self.concrete(value) if isinstance(value, Unknown) else value

    def _ask(self, unknown: Unknown) -> Any:
        if isinstance(unknown, Hole):
            return self._node.ask(unknown.root, unknown.path)
        raise issues.NOT_KNOWN_YET.error(value=str(unknown))

    def concrete_for_type(self, value: Any, wanted: datatypes.Type) -> Any:
        """The value to check against a type: a hole stays if the type accepts every non-empty string, else it is asked for."""
        if isinstance(value, STRINGS) and wanted.accepts(_NON_EMPTY_STRING):
            return value
        if self.has_unknowns and isinstance(value, Hole | UnknownText):
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
        """Call a function that is not built in: written in the Puppet language, or in Ruby in a module. Raises if there is none."""
        function = self.loader.function_named(name)
        if function is not None:
            return function.call(scope, args, block)
        native = self._native_functions.get(name)
        if native is None:
            native = self._native_functions[name] = self._native_function(scope, name)
        if span is not None:
            self.place = (source, span)
        return native.call(self, scope, args, block, span)

    def has_function(self, scope: Scope, name: str) -> bool:
        is_loaded = registry.find(name) is not None or self.loader.function_named(name) is not None
        return is_loaded or self.loader.ruby_function(name) is not None

    def _native_function(self, scope: Scope, name: str) -> "Function | RubyFunction":
        """What runs for a function that some module on the module path has in Ruby."""
        path = self.loader.ruby_function(name)
        if path is None:
            known = [known_name for known_name, _ in registry.functions()] + list(self.loader.functions)
            raise issues.UNKNOWN_FUNCTION.error(name=name, guess=did_you_mean(name, known))
        return self._function_in(scope, name, path)

    def _function_in(self, scope: Scope, name: str, path: str) -> "Function | RubyFunction":
        digest, text = self.inputs.text(path) or ("", "")
        # The Ruby subset is imported late: many manifests never need it.
        from precast.lang.functions.ruby.selection import RubyFile, select

        return select(self, scope, RubyFile(name, path, digest, text))

    def call_function(self, scope: Scope, name: str, args: Sequence[Any], block: Any = None) -> Any:
        if name.startswith("$"):  # a Deferred may name a variable; the arguments are then keys below its value
            return call_by_name(scope, "dig", (self.variable(scope, name[1:]), *args), None)
        return call_by_name(scope, name, tuple(args), block)

    def call_legacy_function(self, scope: Scope, name: str, args: Sequence[Any], block: Any = None) -> Any:
        """Call a function of the older kind that a module has in Ruby, even if it also has a newer one of this name."""
        path = (
            None
            if registry.find(name) is not None
            else self.loader.module_file(f"lib/puppet/parser/functions/{name}.rb")
        )
        if path is None or path == self.loader.ruby_function(name):
            return self.call_function(scope, name, args, block)
        key = f"legacy {name}"
        if key not in self._native_functions:
            self._native_functions[key] = self._function_in(scope, name, path)
        return self._native_functions[key].call(self, scope, args, block, None)

    def indexed(self, scope: Scope, kind: datatypes.Type, keys: tuple[Any, ...]) -> Any:
        """Evaluate `Type[keys]`."""
        return datatypes.index(kind, keys)

    def resource_parameter(self, type_name: Any, title: str, name: Any) -> Any:
        """A parameter of a declared resource. Raises if the resource or the parameter does not exist."""
        resource = self.catalog.resource(str(type_name).lower(), title)
        value = resource.value(name)
        if value is None:
            is_own = resource.definition is not None and name in resource.definition.names
            if not is_own and not self.known_types.has_parameter(resource.type_name, name):
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
        """An absolute path as the inputs name it; None if it is outside the environment and its module paths."""
        path, base = posixpath.normpath(path), self._directory()
        if base and path.startswith(f"{base}/"):
            return path[len(base) + 1 :]
        inside = any(path.startswith(f"{root}/") for root in self.settings.module_path if root.startswith("/"))
        return path if inside else None

    def _directory(self) -> str:
        answer = self.inputs.ask(Constant("environment_path"))
        return "" if answer is ABSENT else str(answer)

    def now(self) -> Timestamp:
        """The time of deployment of the version; a compile has no other clock."""
        answer = self.inputs.ask(Constant("deployed_at"))
        return Timestamp(0 if answer is ABSENT else from_seconds(answer))

    def parse_type(self, scope: Scope, text: str) -> datatypes.Type:
        return self.type_names.parse(text)

    def render_epp(self, scope: Scope, source: Source, parameters: Hash | None, *, inline: bool) -> Any:
        return render_noted(lambda: render(self, scope, source, parameters, inline))

    def render_erb(self, scope: Scope, source: Source) -> Any:
        from precast.lang.ruby.erb import (
            template,  # imported late: a third of the language's code, which many manifests never need
        )

        return render_noted(lambda: template.render(self, scope, source))
