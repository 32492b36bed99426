"""The typed parameters of a plan: what is declared, and the values that a start gives.

    parameters:
      version: {type: 'Pattern[/^\\d+\\.\\d+$/]', description: the release to install}
      workers: {type: 'Integer[1, 64]', default: 4}

A value must fit its type. A command line knows only texts, so a text whose type accepts no such text is read as JSON: `--param workers=8`
gives the number, and for a `String` the text `8`. The same holds for every caller, so the rule is here and nowhere else.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from precast.base.errors import PrecastError
from precast.lang.datatypes import mismatch
from precast.lang.datatypes.base import ANY, Type
from precast.lang.datatypes.scalars import FloatType
from precast.lang.values.base import from_data
from precast.net.model.compiler import guess
from precast.plans import issues
from precast.plans.model import Plan, PlanProblem
from precast.plans.values.parameter_types import BadType, parse_parameter_type

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,99}")
_KEYS: Final = ("type", "default", "description")
_NOTHING: Final = object()
# In this order: a boolean is a number for Python.
_KINDS: Final[Mapping[str, Any]] = {"Boolean": bool, "Numeric": int | float, "Array": list, "Hash": dict}


class Parameter(NamedTuple):
    """A declared parameter; without a default a value must be given."""

    name: str
    type: Type = ANY
    default: Any = None
    has_default: bool = False
    description: str = ""


def read_parameters(plan: Plan) -> list[Parameter]:
    """The parameters that a plan declares. Raises InputError PLAN-050 to PLAN-052 for the first that is invalid."""
    return [_read_parameter(name, declared) for name, declared in plan.parameters.items()]


def find_parameter_problems(plan: Plan) -> list[PlanProblem]:
    """Every invalid declaration of a parameter."""
    problems = []
    for name, declared in plan.parameters.items():
        try:
            _read_parameter(name, declared)
        except PrecastError as error:
            problems.append(PlanProblem(None, error.code, error.message, error.hint))
    return problems


def check_parameters(plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every parameter of a plan: those given, and defaults.

    Raises InputError PLAN-050 to PLAN-052 for a declaration, and PLAN-053 to PLAN-055 for a value.
    """
    parameters = {parameter.name: parameter for parameter in read_parameters(plan)}
    for name in given:
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise issues.UNKNOWN_PARAMETER.error(name=name, guess=guess(name, parameters), known=known)
    return {name: _choose_value(parameter, given.get(name, _NOTHING)) for name, parameter in parameters.items()}


def _read_parameter(name: str, declared: Any) -> Parameter:
    if not _NAME.fullmatch(name):
        raise issues.BAD_PARAMETER_NAME.error(name=repr(name[:100]))
    if not isinstance(declared, Mapping):
        raise issues.BAD_DECLARATION.error(name=name, reason="it is not a mapping")
    for key in declared:
        if key not in _KEYS:
            raise issues.BAD_DECLARATION.error(name=name, reason=f"{key!r} has no meaning here{guess(str(key), _KEYS)}")
    parameter = Parameter(name, _read_type(name, declared.get("type", "Any")))
    if "default" in declared:
        parameter = parameter._replace(default=declared["default"], has_default=True)
        if not _fits(parameter.type, parameter.default):
            reason = mismatch.describe("the default", parameter.type, from_data(parameter.default))
            raise issues.BAD_DECLARATION.error(name=name, reason=reason)
    return parameter._replace(description=str(declared.get("description") or ""))


def _read_type(name: str, text: Any) -> Type:
    try:
        if not isinstance(text, str):
            raise BadType("a type is a text, such as 'Integer[1, 64]'")
        return parse_parameter_type(text)
    except BadType as error:
        raise issues.BAD_PARAMETER_TYPE.error(name=name, reason=error) from None


def _choose_value(parameter: Parameter, given: Any) -> Any:
    if given is _NOTHING:
        if not parameter.has_default:
            raise issues.MISSING_PARAMETER.error(name=parameter.name, type=parameter.type.text)
        return parameter.default
    value = _convert(parameter.type, given)
    if not _fits(parameter.type, value):
        reason = mismatch.describe("", parameter.type, from_data(value))
        raise issues.BAD_PARAMETER_VALUE.error(name=parameter.name, reason=reason, type=parameter.type.text)
    return value


def _convert(wanted: Type, given: Any) -> Any:
    """The given value; a text that does not fit as the JSON value that it is, if that fits or is what the type is about."""
    if not isinstance(given, str) or _fits(wanted, given):
        return given
    try:
        value = msgspec.json.decode(given)
    except (msgspec.DecodeError, RecursionError):
        return given
    if isinstance(wanted, FloatType) and type(value) is int:
        value = float(value)
    return value if _fits(wanted, value) or _is_about(wanted, value) else given


def _is_about(wanted: Type, value: Any) -> bool:
    """Whether a type accepts some values of this kind, and no others: `Integer[1, 8]` is about numbers, so 9 is a wrong number."""
    kind = next((name for name, python in _KINDS.items() if isinstance(value, python)), "Undef")
    return parse_parameter_type(f"Optional[{kind}]").accepts(wanted)


def _fits(wanted: Type, value: Any) -> bool:
    return wanted.check(from_data(value))
