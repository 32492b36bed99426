"""Calls: functions by name, methods, and `Type(…)`, with splats and lambdas."""

from collections.abc import Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang import datatypes
from precast.lang.control_flow import ControlFlow
from precast.lang.evaluator import fact_paths
from precast.lang.evaluator.lambdas import LambdaCode
from precast.lang.evaluator.literals import elements
from precast.lang.evaluator.translation import Code, Translator, place, translates, unwrap
from precast.lang.functions import library, registry
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Scope
from precast.lang.syntax import ast
from precast.lang.syntax.walking import variables
from precast.lang.values.base import ActiveObject, Object, has_sensitive
from precast.lang.values.uris import PARTS, URI

library.load()
# Functions whose result may be a secret that their arguments have chosen.
_CHOOSERS = frozenset(("lookup", "hiera", "hiera_array", "hiera_hash", "precast::secret"))


@translates(ast.Call)
def translate_call(to: Translator, node: ast.Call) -> Code:
    functor = unwrap(node.functor)
    block = LambdaCode(to, node.block) if node.block is not None else None
    if isinstance(functor, ast.QualifiedName | ast.LiteralString):
        arguments, name = elements(to, node.arguments), functor.value.removeprefix("::")
        ordinary = _with_choice(to, name, node.arguments, _call_named(to, name, arguments, block, node.span), node.span)
        is_reader = name in fact_paths.READERS and block is None
        return fact_paths.translate_fact_read(to, name, node.arguments, node.span, ordinary) if is_reader else ordinary
    if isinstance(functor, ast.QualifiedReference | ast.Access):
        kind, rest = to.code(functor), elements(to, node.arguments)
        return _call_named(to, "new", lambda scope: (kind(scope), *rest(scope)), block, node.span)
    to.fail(issues.NOT_CALLABLE, functor)
    return None


@translates(ast.CallMethod)
def translate_method_call(to: Translator, node: ast.CallMethod) -> Code:
    receiver = elements(to, (node.receiver,))
    rest = elements(to, node.arguments)
    block = LambdaCode(to, node.block) if node.block is not None else None
    call_function = _CallSite(to.source, node.span, node.name, block)

    def code(scope: Scope) -> Any:
        given = receiver(scope)
        if given and isinstance(given[0], ActiveObject):
            method = given[0].function(node.name)
            if method is not None:
                return method(rest(scope), None if block is None else block.at(scope))
        if given and isinstance(given[0], Object | URI):
            attribute = _member(given[0], node.name)
            if attribute is not MISSING:
                return attribute
        return call_function(scope, (*given, *rest(scope)))

    if node.name in fact_paths.READERS and block is None:
        return fact_paths.translate_fact_read(to, node.name, (node.receiver, *node.arguments), node.span, code)
    return code


def _member(value: Object | URI, name: str) -> Any:
    """An attribute of an object; MISSING if it has no attribute with that name."""
    if isinstance(value, URI):
        return getattr(value, name) if name in PARTS else MISSING
    if name in value.type.attributes:
        return value.attributes.get(name)
    if name == "message" and value.type == datatypes.ERROR:
        return value.attributes.get("msg")
    return MISSING


def _with_choice(to: Translator, name: str, arguments: Sequence[ast.Node], call: Code, span: Span) -> Code:
    """A call that reports facts which choose a secret: those in its arguments, if its result has one."""
    names = tuple(dict.fromkeys(each for node in arguments for each in variables(node))) if name in _CHOOSERS else ()
    if not names:
        return call
    source = to.source

    def code(scope: Scope) -> Any:
        value = call(scope)
        if has_sensitive(value):
            try:
                scope.compilation.fact_choices.check(scope, names, f"an argument of {name}")
            except PrecastError as error:
                raise place(error, source, span) from None
        return value

    return code


def _call_named(to: Translator, name: str, arguments: Code, block: LambdaCode | None, span: Span) -> Code:
    invoke = _CallSite(to.source, span, name, block)
    return lambda scope: invoke(scope, arguments(scope))


class _CallSite:
    """One call in the source: finds a built-in function once, calls the function, and places its errors."""

    __slots__ = ("block", "builtin", "name", "source", "span")

    def __init__(self, source: Source, span: Span, name: str, block: LambdaCode | None) -> None:
        self.source = source
        self.span = span
        self.name = name
        self.block = block
        self.builtin = registry.find(name)

    def __call__(self, scope: Scope, args: tuple[Any, ...]) -> Any:
        block = None if self.block is None else self.block.at(scope)
        compilation = scope.compilation
        try:
            if self.builtin is not None and self.name not in compilation.loader.hidden_functions:
                compilation.place = (self.source, self.span)
                return self.builtin.call(compilation, scope, args, block, self.span)
            return compilation.call_loaded(scope, self.name, args, block, self.source, self.span)
        except PrecastError as error:
            raise place(error, self.source, self.span) from None
        except ControlFlow as jump:
            if jump.span is None:
                jump.source, jump.span = self.source, self.span
            raise
        except RecursionError:
            raise issues.TOO_DEEP.error(self.source, self.span, name=self.name) from None


def call_by_name(scope: Scope, name: str, args: tuple[Any, ...], block: Any) -> Any:
    """Call a function by a computed name; errors come without a place."""
    builtin = registry.find(name)
    if builtin is not None and name not in scope.compilation.loader.hidden_functions:
        return builtin.call(scope.compilation, scope, args, block, None)
    return scope.compilation.call_loaded(scope, name, args, block)
