"""Calls functions of Ruby files: selects the dispatch, converts values, and reports errors at the call.

Arguments are concrete: Ruby code may look at anything. A function of the newer kind sees the top scope, one of the older kind the scope
of the call, as in Puppet.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Span
from precast.lang.datatypes import Type, mismatch
from precast.lang.functions.host import Block, Host
from precast.lang.functions.mismatches import mismatch_error
from precast.lang.functions.ruby.declarations import FunctionClass, LegacyFunction, RubyDispatch
from precast.lang.functions.ruby.files import RanFile
from precast.lang.functions.signatures import Parameter, Signature
from precast.lang.issues import compiler as compiler_issues
from precast.lang.issues import erb as issues
from precast.lang.issues import functions as function_issues
from precast.lang.ruby.execution import Execution, Jump
from precast.lang.ruby.legacy_values import to_legacy
from precast.lang.ruby.methods.dispatch import call_method
from precast.lang.ruby.objects import Proc, RubyClass, RubyObject
from precast.lang.ruby.values import Instance, RubyScope, RubySet, Symbol, from_ruby, to_ruby

_ALIAS_DEPTH = 5


class RubyFunction:
    """A function of a Ruby file in one compile."""

    def __init__(self, name: str, path: str, ran: RanFile, function: "FunctionClass | LegacyFunction") -> None:
        self.name = name
        self._path = path
        self._execution = ran.execution
        self._function = function
        self._instance: Any = None
        self._dispatches: list[tuple[RubyDispatch, ResolvedSignature]] | None = None

    def call(
        self, host: Host, scope: Any, args: Sequence[Any], block: Block | None = None, span: Span | None = None
    ) -> Any:
        """Call the function. Raises its errors without a position in the manifest; the hint names the place in the Ruby file."""
        given = [host.concrete(arg, span) for arg in args] if host.has_unknowns else list(args)
        execution = self._execution
        before = execution.scope, execution.steps, execution.depth
        execution.steps = 0
        try:
            if isinstance(self._function, LegacyFunction):
                execution.scope = scope
                return self._call_legacy(self._function, given)
            execution.scope = execution.host.top  # type: ignore[attr-defined]
            return self._call_modern(host, self._function, scope, given, block)
        except RecursionError:
            raise issues.TOO_DEEP.error() from None
        except PrecastError as error:
            raise self._at_the_call(error) from error
        finally:
            execution.scope, execution.steps, execution.depth = before

    def _at_the_call(self, error: PrecastError) -> PrecastError:
        """Return an error that the call site places, with the place in the Ruby file in its hint."""
        if error.source is None or error.span is None or error.source.path != self._path:
            return error
        placed = error.copy()
        line = error.source.position(error.span.start).line
        placed.hint, placed.source, placed.span = f"{error.hint}; see {self._path}:{line}", None, None
        return placed

    def _call_legacy(self, function: LegacyFunction, args: list[Any]) -> Any:
        arity, count = function.arity, len(args)
        if (arity >= 0 and count != arity) or (arity < 0 and count < -arity - 1):
            wanted = str(arity) if arity >= 0 else f"at least {-arity - 1}"
            raise function_issues.REFUSED.error(
                name=self.name, reason=f"Wrong number of arguments given ({count} for {wanted})"
            )
        given = [to_ruby(to_legacy(arg)) for arg in args]
        assert function.block.call_as is not None
        try:
            result = function.block.call_as(RubyScope(), None, (given,))
        except Jump as jump:  # `return` leaves the function
            result = jump.value
        return to_puppet(self._execution, result) if function.is_rvalue else None

    def _call_modern(
        self, host: Host, function: FunctionClass, scope: Any, args: list[Any], block: Block | None
    ) -> Any:
        if self._instance is None:
            self._instance = call_method(self._execution, function, "new", [], None)
        own_call = function.find("call")
        if own_call is None:
            return self._select(host, function, scope, args, block)
        # The function replaces `call`, and reaches its dispatches through `dispatcher`.
        function.select = lambda _, given, proc: to_ruby(
            self._select(host, function, scope, [from_ruby(arg) for arg in given], block)
        )
        proc = None if block is None else as_proc(block)
        result = own_call.call(self._execution, self._instance, [RubyScope(scope), *map(to_ruby, args)], proc)
        return to_puppet(self._execution, result)

    def _select(self, host: Host, function: FunctionClass, scope: Any, args: list[Any], block: Block | None) -> Any:
        """Run the first dispatch that accepts the arguments. Raises LANG-400 or LANG-401 if none does."""
        for dispatch, signature in self._signatures(host, function):
            if signature.accepts_count(len(args)) and signature.make_check(len(args))(args, block):
                return self._run(dispatch, signature, scope, args, block)
        signatures = [signature for dispatch, signature in self._signatures(host, function) if not dispatch.is_mismatch]
        raise mismatch_error(self.name, signatures, args, block)

    def _run(
        self, dispatch: RubyDispatch, signature: "ResolvedSignature", scope: Any, args: list[Any], block: Block | None
    ) -> Any:
        given = [to_ruby(arg) for arg in args]
        for at, what in dispatch.injected:
            given.insert(at, RubyScope(scope) if what == "scope" else {})
        execution, proc = self._execution, None if block is None else as_proc(block)
        result = call_method(execution, self._instance, dispatch.method_name, given, proc)
        if dispatch.is_mismatch:
            raise function_issues.REFUSED.error(name=self.name, reason=str(result))
        value = to_puppet(execution, result)
        wanted = signature.return_type
        if wanted is not None and not wanted.check(value):
            reason = mismatch.describe("value", wanted, value)
            raise compiler_issues.WRONG_RESULT.error(what=f"function '{self.name}'", reason=reason)
        return value

    def _signatures(self, host: Host, function: FunctionClass) -> "list[tuple[RubyDispatch, ResolvedSignature]]":
        if self._dispatches is None:
            declared = function.dispatches or [_default_dispatch(function)]
            aliases = function.aliases
            self._dispatches = [(each, ResolvedSignature(each.signature(), host, aliases)) for each in declared]
        return self._dispatches


class ResolvedSignature(Signature):
    """A signature whose types may be aliases of modules or local types of the function."""

    def __init__(self, given: Signature, host: Host, aliases: dict[str, str]) -> None:
        super().__init__("")
        self.parameters = given.parameters
        self.block_text, self.block_optional, self.return_text = (
            given.block_text,
            given.block_optional,
            given.return_text,
        )
        self.min_args, self.max_args = given.min_args, given.max_args
        self._host, self._aliases = host, aliases

    def _resolve(self, text: str) -> Type:
        for _ in range(_ALIAS_DEPTH):
            before = text
            for name, meaning in self._aliases.items():
                text = re.sub(rf"\b{re.escape(name)}\b(?!::)", lambda match, meaning=meaning: meaning, text)  # type: ignore[misc]
            if text == before:
                break
        return self._host.parse_type(None, text)

    @cached_property
    def types(self) -> tuple[Type, ...]:
        return tuple(self._resolve(parameter.type_text) for parameter in self.parameters)

    @cached_property
    def block_type(self) -> Type | None:
        return self._resolve(self.block_text) if self.block_text else None

    @cached_property
    def return_type(self) -> Type | None:
        return self._resolve(self.return_text) if self.return_text else None


def _default_dispatch(function: FunctionClass) -> RubyDispatch:
    """Return the dispatch of a function without one: the method of its name, with arguments of any type."""
    name = function.name.rpartition("::")[2]
    found = function.find(name)
    if found is None:
        raise issues.NO_METHOD.error(name=name, receiver=f"the function {function.name}", subject="value")
    made, arity = RubyDispatch(name), found.arity
    required = arity if arity >= 0 else -arity - 1
    made.parameters = [Parameter("Any", f"param{at}") for at in range(required)]
    if arity < 0:
        made.parameters.append(Parameter("Any", "more", True, True))
    made.block_text, made.block_optional = "Callable", True
    return made


def as_proc(block: Block) -> Proc:
    """Return a lambda of the manifest as a block of Ruby."""
    arity = block.min_args if block.max_args == block.min_args else -block.min_args - 1
    return Proc(arity, lambda *args: to_ruby(block.call(*map(from_ruby, args))))


def to_puppet(execution: Execution, value: Any) -> Any:
    """Return what a function returns as a value of Puppet. Raises InputError LANG-901 for an object of Ruby."""
    if isinstance(value, RubyObject | RubyClass | Proc | RubyScope) or (
        isinstance(value, Instance) and not isinstance(value, RubySet)
    ):
        raise issues.NOT_IN_SUBSET.error(construct="an object of Ruby as the value of a function")
    if isinstance(value, list):
        return tuple(to_puppet(execution, item) for item in value)
    return None if isinstance(value, Symbol) and value.name == "undef" else from_ruby(value)
