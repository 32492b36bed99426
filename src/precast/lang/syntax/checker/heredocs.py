"""Checks the text of a heredoc against the syntax in its tag, such as `@(END:json)`; json, pp, epp and base64 are checked.

Static text is checked with its program, text with interpolation when it is evaluated.
"""

import base64
import json
import re
from typing import NoReturn

from precast.base.errors import InputError
from precast.base.spans import Source
from precast.lang.syntax.parser import parse, parse_epp


def problem_with(syntax: str, text: str) -> str | None:
    """The problem with a text of this syntax; None if there is none."""
    check = _CHECKS.get(syntax.rpartition("+")[2])
    return check(text) if check is not None else None


def _json(text: str) -> str | None:
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        return f"JSON syntax checker: Cannot parse invalid JSON string. {problem}"
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"unexpected token at '{constant}'")


def _base64(text: str) -> str | None:
    try:
        base64.b64decode(re.sub(r"\s", "", text), validate=True)
    except ValueError as problem:
        return f"Base64 syntax checker: Cannot parse invalid Base64 string - {problem}"
    return None


def _manifest(text: str) -> str | None:
    from precast.lang.syntax.checker import check  # imported late: the checker calls this module

    try:
        errors = check(parse(Source("heredoc", text))).errors
    except InputError as problem:
        return f"PP syntax checker: {problem.message}"
    return f"PP syntax checker: {errors[0].message}" if errors else None


def _template(text: str) -> str | None:
    from precast.lang.syntax.checker import check  # see above

    try:
        errors = check(parse_epp(Source("heredoc", text))).errors
    except InputError as problem:
        return f"EPP syntax checker: {problem.message}"
    return f"EPP syntax checker: {errors[0].message}" if errors else None


_CHECKS = {"json": _json, "base64": _base64, "pp": _manifest, "epp": _template}
