"""The condition in `onlyif`: get, values and match, compared as Puppet's provider compares them."""

import operator
import re
from collections.abc import Callable
from typing import Any, Final

from precast.resources import issues_modules as issues
from precast.resources.augeas.commands import Command, parse_commands
from precast.resources.augeas.library import Tree

_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_ESCAPES: Final = {
    "\\": "\\", '"': '"', "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", "s": " ",
}  # fmt: skip
_SINGLE: Final = re.compile(r"'((?:\\['\\]|[^'\\])*)'")
_DOUBLE: Final = re.compile(
    r'"((?:[^"\\]|\\[\\"abtnvfres]|\\[0-7]{1,3}|\\x[0-9a-fA-F]{1,2}|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]{1,6}(?:\s[0-9a-fA-F]{1,6})*\})*)"'
)
_ESCAPE: Final = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|u\{([^}]*)\}|(.))")
_OPEN, _CLOSE, _COMMA = (re.compile(rf"\s*{sign}\s*") for sign in (r"\[", r"\]", ","))


def holds(tree: Tree, text: str, context: str) -> bool:
    """Whether a condition holds; a command that is none changes nothing about that. Raises InputError RESOURCE-231 and RESOURCE-232."""
    command = parse_commands(text, context)[0]
    if command[0] == "get":
        return _compare_value(tree.get(command[1]) or "", command[2], command[3])
    if command[0] not in ("values", "match"):
        return True
    found: list[str | None] = list(tree.match(command[1]))
    clause = _clause(command, context)
    if command[0] == "match" and clause[0] == "size":
        order = _ORDERS.get(clause[1])
        return order is not None and order(len(found), clause[2])
    if command[0] == "values":
        found = [tree.get(path) for path in found if path is not None]
    return _compare_list(found, clause, command)


def _clause(command: Command, context: str) -> Command:
    clauses = parse_commands(command[2], context)
    if not clauses:
        raise issues.BAD_AUGEAS_COMMAND.error(command=" ".join(map(str, command)), reason="it compares with nothing")
    return clauses[0]


def _compare_value(value: str, comparator: str, argument: str) -> bool:
    if comparator == "=~":
        from precast.lang.values.regexps import compile_regexp

        return compile_regexp(argument).search(value) is not None
    if comparator in ("<", "<=", ">=", ">") and _NUMBER.fullmatch(value) and _NUMBER.fullmatch(argument):
        return _ORDERS[comparator](float(value), float(argument))
    return _ORDERS[comparator](value.encode(errors="surrogateescape"), argument.encode(errors="surrogateescape"))


def _compare_list(found: list[str | None], clause: Command, command: Command) -> bool:
    verb: str = clause[0]
    argument: str = clause[1]
    if verb in ("include", "not_include"):
        return (argument in found) == (verb == "include")
    if verb not in ("==", "!="):
        return False
    wanted = parse_array(argument)
    if wanted is None:
        raise issues.BAD_AUGEAS_COMMAND.error(command=" ".join(map(str, command)), reason="the array is invalid")
    return (found == wanted) == (verb == "==")


def parse_array(text: str) -> list[str] | None:
    """The texts in an array in Ruby's notation; None if it is none."""
    if (opened := _OPEN.match(text)) is None:
        return None
    at, values = opened.end(), []
    while (match := _SINGLE.match(text, at) or _DOUBLE.match(text, at)) is not None:
        values.append(_unescape(match))
        at = match.end()
        if (comma := _COMMA.match(text, at)) is None:
            break
        at = comma.end()
    closed = _CLOSE.match(text, at)
    return values if closed is not None and closed.end() == len(text) else None


def _unescape(match: re.Match[str]) -> str:
    if match.re is _SINGLE:
        return re.sub(r"\\(['\\])", r"\1", match[1])
    return _ESCAPE.sub(_character, match[1])


def _character(match: re.Match[str]) -> str:
    octal, hexadecimal, short, long, letter = match.groups()
    if letter:
        return _ESCAPES[letter]
    if octal:
        return chr(int(octal, 8) & 0xFF)
    codes = long.split() if long else [hexadecimal or short]
    return "".join(chr(int(code, 16)) for code in codes)
