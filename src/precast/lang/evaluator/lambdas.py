"""Parameters and bodies, as lambdas, functions, classes, defines and templates share them.

The type of a parameter is evaluated when it is first needed and, unless it names something that the environment defines, only once.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang import datatypes
from precast.lang.control_flow import Next, Return
from precast.lang.datatypes import Type, mismatch
from precast.lang.datatypes.base import Size
from precast.lang.datatypes.callables import CallableType, parameters_of
from precast.lang.datatypes.collections import ArrayType
from precast.lang.evaluator.translation import Code, Translator, place
from precast.lang.functions.mismatches import count_mismatch
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.syntax import ast

if TYPE_CHECKING:
    from precast.lang.functions.host import Block


def has_no_variable(node: ast.Node) -> bool:
    """Whether a type expression gives the same type wherever one compile evaluates it."""
    if isinstance(node, ast.Variable | ast.Call | ast.CallMethod):
        return False
    for field in node.__struct_fields__:
        inner = getattr(node, field)
        for child in inner if isinstance(inner, tuple) else (inner,):
            if isinstance(child, ast.Node) and not has_no_variable(child):
                return False
    return True


class ParameterCode:
    """A translated parameter."""

    __slots__ = ("_fixed", "_is_static", "_type", "captures_rest", "default", "name", "source", "span")

    def __init__(self, to: Translator, node: ast.Parameter) -> None:
        self.name = node.name
        self.source = to.source
        self.span = node.span
        self.captures_rest = node.captures_rest
        self.default = to.code(node.default) if node.default is not None else None
        self._type = to.code(node.type_expr) if node.type_expr is not None else None
        fixed = to.constant_of(self._type) if self._type is not None else None
        self._fixed: Type | None = fixed if isinstance(fixed, Type) else None
        self._is_static = node.type_expr is not None and has_no_variable(node.type_expr)

    @property
    def is_typed(self) -> bool:
        return self._type is not None

    def type_in(self, scope: Scope) -> Type:
        """The declared type; Any if there is none. Raises if the expression does not give a type."""
        if self._fixed is not None:
            return self._fixed
        if self._type is None:
            return datatypes.ANY
        known: Type | None = scope.compilation.types.get(self)
        if known is not None:
            return known
        declared = self._type(scope)
        if not isinstance(declared, Type):
            raise issues.NOT_A_TYPE.error(self.source, self.span, value=datatypes.infer(declared))
        if self._is_static:
            scope.compilation.types[self] = declared
        return declared


class Parameters:
    """The parameters of a lambda or function, and how arguments are bound to them."""

    __slots__ = ("all", "is_plain", "max_args", "min_args", "names")

    def __init__(self, to: Translator, nodes: Sequence[ast.Parameter]) -> None:
        self.all = tuple(ParameterCode(to, node) for node in nodes)
        self.names = tuple(parameter.name for parameter in self.all)
        required = [parameter for parameter in self.all if parameter.default is None and not parameter.captures_rest]
        self.min_args = len(required)
        self.max_args: int | None = len(self.all)
        if self.all and self.all[-1].captures_rest:
            self.max_args = None
        self.is_plain = self.min_args == self.max_args and not any(parameter.is_typed for parameter in self.all)

    def bind(self, scope: Scope, args: Sequence[Any], what: str) -> dict[str, Any]:
        """Bind arguments to variables of `scope`, in which the body will run. Raises if the arguments do not fit.

        Arguments beyond the last parameter are dropped, as in Puppet's lambdas; a function checks their number beforehand.
        """
        bound: dict[str, Any] = scope.variables
        if self.is_plain and len(args) == len(self.names):
            bound.update(zip(self.names, args, strict=True))
            return bound
        for index, parameter in enumerate(self.all):
            value = self._value(scope, parameter, index, args, what)
            bound[parameter.name] = self._check(scope, parameter, value, what)
        return bound

    def _value(self, scope: Scope, parameter: ParameterCode, index: int, args: Sequence[Any], what: str) -> Any:
        if parameter.captures_rest:
            rest = tuple(args[index:])
            if parameter.default is not None and (not rest or rest == (None,)):
                value = parameter.default(scope)
                return value if isinstance(value, tuple) else (value,)
            return rest
        if index < len(args):
            return args[index]
        if parameter.default is not None:
            return parameter.default(scope)
        raise issues.MISSING_ARGUMENT.error(parameter.source, parameter.span, name=parameter.name)

    def _check(self, scope: Scope, parameter: ParameterCode, value: Any, what: str) -> Any:
        if not parameter.is_typed:
            return value
        wanted = parameter.type_in(scope)
        if parameter.captures_rest:
            return self._check_rest(scope, parameter, wanted, value, what)
        value = scope.compilation.concrete_for_type(value, wanted)
        if not wanted.check(value):
            reason = mismatch.describe(f"parameter '{parameter.name}'", wanted, value)
            raise issues.WRONG_ARGUMENTS.error(what=what, reason=reason)
        return value

    def _check_rest(self, scope: Scope, parameter: ParameterCode, wanted: Type, values: Any, what: str) -> Any:
        """`Array[T, 1, 3] *$x` describes all remaining arguments, `T *$x` each of them."""
        if isinstance(wanted, ArrayType):
            whole = scope.compilation.concrete_for_type(values, wanted)
            if not wanted.size.holds(len(whole)):
                before = len(self.all) - 1
                high = None if wanted.size.high is None else before + wanted.size.high
                reason = count_mismatch(before + wanted.size.low, high, before + len(whole))
                raise issues.WRONG_ARGUMENTS.error(what=what, reason=reason)
            wanted = wanted.element
        checked = tuple(scope.compilation.concrete_for_type(value, wanted) for value in values)
        for value in checked:
            if not wanted.check(value):
                reason = mismatch.describe(f"parameter '{parameter.name}'", wanted, value)
                raise issues.WRONG_ARGUMENTS.error(what=what, reason=reason)
        return checked

    def callable_type(self, scope: Scope) -> Type:
        """The Callable type of a lambda or function with these parameters."""
        types = [parameter.type_in(scope) for parameter in self.all]
        if self.all and self.all[-1].captures_rest and isinstance(types[-1], ArrayType):
            types[-1] = types[-1].element
        size = None if self.min_args == self.max_args else Size(self.min_args, self.max_args)
        return CallableType(parameters_of(tuple(types), size))


class LambdaCode:
    """A translated lambda, made once; `at` binds it to its scope."""

    __slots__ = ("body", "parameters", "return_type", "source", "span")

    def __init__(self, to: Translator, node: ast.Lambda) -> None:
        self.parameters = Parameters(to, node.parameters)
        self.body = to.code(node.body)
        self.return_type = to.code(node.return_type) if node.return_type is not None else None
        self.source = to.source
        self.span = node.span

    def at(self, scope: Scope) -> "Lambda":
        return Lambda(self, scope)


class Lambda:
    """A lambda bound to its scope; a function receives it as its block."""

    __slots__ = ("call", "code", "scope")

    def __init__(self, code: LambdaCode, scope: Scope) -> None:
        self.code = code
        self.scope = scope
        self.call: Callable[..., Any] = self._quick() if code.parameters.is_plain else self._call

    @property
    def min_args(self) -> int:
        return self.code.parameters.min_args

    @property
    def max_args(self) -> int | None:
        return self.code.parameters.max_args

    @property
    def type(self) -> Type:
        return self.code.parameters.callable_type(self.scope)

    def _quick(self) -> Callable[..., Any]:
        """A faster call for parameters without types and defaults, which most lambdas have."""
        names, body, around = self.code.parameters.names, self.code.body, self.scope
        compilation, frame = around.compilation, around.frame
        if self.code.return_type is not None:
            return self._call

        def call(*args: Any) -> Any:
            if len(args) != len(names):
                return self._call(*args)
            try:
                return body(Scope(compilation, frame, around, dict(zip(names, args, strict=True))))
            except Next as jump:
                return jump.value

        return call

    def _call(self, *args: Any) -> Any:
        inner = self.scope.inner({})
        try:
            self.code.parameters.bind(inner, args, "block")
        except PrecastError as error:
            raise place(error, self.code.source, self.code.span) from None
        try:
            value = self.code.body(inner)
        except Next as jump:
            value = jump.value
        return check_result(inner, self.code.return_type, value, "lambda", self.code.source, self.code.span)


def check_result(scope: Scope, return_type: Code | None, value: Any, what: str, source: Source, span: Span) -> Any:
    """The value, if it has the declared return type. Raises if it does not."""
    if return_type is None:
        return value
    wanted = return_type(scope)
    value = scope.compilation.concrete_for_type(value, wanted)
    if not wanted.check(value):
        reason = mismatch.describe("", wanted, value).strip()
        raise issues.WRONG_RESULT.error(source, span, what=what, reason=reason)
    return value


class UserFunction:
    """A function written in Puppet: it sees its parameters and the top scope."""

    __slots__ = ("body", "name", "parameters", "return_type", "source", "span")

    def __init__(self, to: Translator, node: ast.FunctionDefinition) -> None:
        self.name = node.name
        self.parameters = Parameters(to, node.parameters)
        self.body = to.code(node.body)
        self.return_type = to.code(node.return_type) if node.return_type is not None else None
        self.source = to.source
        self.span = node.span

    def call(self, scope: Scope, args: Sequence[Any], block: "Block | None") -> Any:
        if block is not None:
            raise issues.WRONG_ARGUMENTS.error(what=f"'{self.name}'", reason="does not expect a block")
        compilation = scope.compilation
        inner = Scope(compilation, compilation.top.frame, compilation.top, {})
        count, parameters = len(args), self.parameters
        if count < parameters.min_args or (parameters.max_args is not None and count > parameters.max_args):
            reason = count_mismatch(parameters.min_args, parameters.max_args, count)
            raise issues.WRONG_ARGUMENTS.error(what=f"'{self.name}'", reason=reason)
        parameters.bind(inner, args, f"'{self.name}'")
        try:
            value = self.body(inner)
        except (Next, Return) as jump:
            value = jump.value
        return check_result(inner, self.return_type, value, self.name, self.source, self.span)
