"""The functions that log at a level, and `fail`."""

from typing import Any, NoReturn

from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.issues import functions as issues
from precast.lang.ruby.legacy_values import legacy_text
from precast.lang.values import unknowns

LEVELS = ("debug", "info", "notice", "warning", "err", "alert", "crit", "emerg")

FAIL = Function("fail", "Ends the compile with an error.", is_statement=True)


def _declare(level: str) -> None:
    function = Function(level, f"Logs its arguments at level {level}.", unknowns=Unknowns.FLOW, is_statement=True)

    @function.dispatch("Any *values >> Undef", pure=False)
    def log(call: Call, *values: Any) -> None:
        parts: list[Any] = []
        for value in values:
            parts += [value, " "]
        call.host.log(level, unknowns.join(parts[:-1]))


for _level in LEVELS:
    _declare(_level)


@FAIL.dispatch("Any *values")
def _fail(*values: Any) -> NoReturn:
    raise issues.FAILED.error(message=" ".join(map(legacy_text, values)) or "fail() was called without a message")
