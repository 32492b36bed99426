"""dig, get, getvar: functions that return a value inside arrays and hashes by its path."""

import re
from typing import Any, Final

from precast.lang import datatypes
from precast.lang.datatypes.library import ERROR
from precast.lang.functions.host import Call
from precast.lang.functions.mismatches import mismatch_error
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.inputs import ABSENT
from precast.lang.issues import functions as issues
from precast.lang.ruby.puppet_text import ruby_inspect
from precast.lang.ruby.stdlib.digits import integer
from precast.lang.values.base import Hash, Object

DIG = Function(
    "dig",
    "Returns the value at a path of keys and indices; undef as soon as a value on the path is undef.",
    unknowns=Unknowns.FLOW,
)
GET = Function(
    "get",
    "Returns the value at a dotted path such as 'a.0.b', or a default. A block gets the error if a value on the path is not a "
    "collection.",
    unknowns=Unknowns.FLOW,
)
GETVAR = Function(
    "getvar",
    "Returns the value of a variable by name, or at a dotted path inside it, or a default.",
    unknowns=Unknowns.FLOW,
)
_SEGMENT: Final = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([^.'"\s][^.'"]*?))\s*(?=\.|$)""")


@DIG.dispatch("Optional[Collection] data, Any *arg")
def dig(data: Any, *path: Any) -> Any:
    walked: list[Any] = []
    for step in path:
        if data is None:
            return None
        if isinstance(data, Hash):
            data = data.lookup(step)
        elif isinstance(data, tuple):
            data = None if step is None else _element(data, step, [*walked, step])
        else:
            raise issues.NO_COLLECTION.error(path=ruby_inspect(tuple(walked)), type=str(datatypes.infer(data)))
        walked.append(step)
    return data


def _element(data: tuple[Any, ...], step: Any, walked: list[Any]) -> Any:
    if not isinstance(step, int) or isinstance(step, bool):
        raise issues.NO_INDEX.error(path=ruby_inspect(tuple(walked)), type=str(datatypes.infer(step)))
    return data[step] if -len(data) <= step < len(data) else None


def segments(path: str) -> list[Any]:
    """Return the steps of a dotted path; digits are an Integer, quotes protect dots. Raises LANG-418."""
    steps: list[Any] = []
    at = 0
    while at < len(path):
        match = _SEGMENT.match(path, at)
        if match is None:
            raise issues.BAD_PATH.error(path=path)
        quoted, doubled, plain = match.groups()
        step = quoted if quoted is not None else doubled if doubled is not None else plain
        steps.append(integer(plain) if plain is not None and re.fullmatch(r"-?\d+", plain) else step)
        at = match.end()
        if at < len(path):
            if at + 1 == len(path):
                raise issues.BAD_PATH.error(path=path)
            at += 1
    return steps


@GET.dispatch("Any value, String dotted_string, Any default_value?, Callable[1, 1] &block?", pure=False)
def _get(call: Call, value: Any, path: str, default: Any = None) -> Any:
    return _navigate(call, value, segments(path), default)


def _navigate(call: Call, value: Any, steps: list[Any], default: Any) -> Any:
    if not steps:
        return default if value is None else value
    if not (value is None or isinstance(value, tuple | Hash)):
        raise mismatch_error("dig", [dispatch.signature for dispatch in DIG.dispatches], (value, *steps), None)
    try:
        result = dig(value, *steps)
    except Exception as error:
        if call.block is None or not (issues.NO_COLLECTION.matches(error) or issues.NO_INDEX.matches(error)):
            raise
        return call.block.call(_error_value(error, value, steps))
    return default if result is None else result


def _error_value(error: Exception, value: Any, steps: list[Any]) -> Object:
    """Return the Error that the block gets: how far the path led, and the type of the value there."""
    walked = []
    for step in steps:
        if not isinstance(value, Hash) and not (isinstance(value, tuple) and isinstance(step, int)):
            break
        value = dig(value, step)
        walked.append(step)
    code = "EXPECTED_COLLECTION"
    if isinstance(value, tuple):
        code = "EXPECTED_INTEGER_INDEX"
        value = steps[len(walked)]
        walked.append(value)
    details = Hash.of((("walked_path", tuple(walked)), ("value_type", datatypes.infer(value))))
    parts = (("msg", str(error)), ("kind", "SLICE_ERROR"), ("details", details), ("issue_code", code))
    return Object(ERROR, Hash.of(parts))


_VARIABLE: Final = r"Pattern[/\A(?:::)?(?:[a-z]\w*::)*[a-z_]\w*(?:\.|\Z)/]"


@GETVAR.dispatch(f"{_VARIABLE} get_string, Any default_value?, Callable[1, 1] &block?", pure=False)
def _getvar(call: Call, path: str, default: Any = None) -> Any:
    name, dot, rest = path.partition(".")
    plain = name.removeprefix("::")
    if dot and "::" not in plain and call.host.is_fact(call.scope, plain, plain != name):
        return _below_fact(call, plain, segments(rest), default)
    if not call.host.has_variable(call.scope, name):
        return default
    value = call.host.variable(call.scope, name)
    if not dot:
        return default if value is None else value
    return _navigate(call, value, segments(rest), default)


def _below_fact(call: Call, name: str, steps: list[Any], default: Any) -> Any:
    """Return the value below a fact, asked for by its whole path; if that is absent, by the longest path that exists."""
    for depth in range(len(steps), -1, -1):
        value = call.host.fact_value(name, tuple(steps[:depth]), whole=depth < len(steps))
        if value is not ABSENT:
            return _navigate(call, value, steps[depth:], default)
    return default


@GETVAR.dispatch("String get_string, Any default_value?, Callable &block?", pure=False)
def _getvar_misnamed(call: Call, path: str, default: Any = None) -> Any:
    raise issues.BAD_VARIABLE_NAME.error(name=path)
