"""Renders EPP templates: an inline one without parameters sees the variables around it, all others the top scope alone."""

from typing import TYPE_CHECKING, Any

from precast.base import digests
from precast.base.spans import Source
from precast.lang.compiler.guesses import did_you_mean
from precast.lang.datatypes import mismatch
from precast.lang.evaluator.templates import TemplateCode
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.syntax.checker import check
from precast.lang.syntax.parser import parse_epp
from precast.lang.values.core import Hash, Sensitive, to_string
from precast.lang.values.unknowns import join, stays_open

if TYPE_CHECKING:
    from precast.lang.compiler.run import Run

_templates: dict[tuple[str, str], TemplateCode] = {}
_TEMPLATES_KEPT = 5_000


def template(source: Source) -> TemplateCode:
    """A template's code, made once for its text."""
    key = (source.path, digests.of_bytes(source.text.encode()))
    found = _templates.get(key)
    if found is None:
        if len(_templates) >= _TEMPLATES_KEPT:
            _templates.clear()
        program = parse_epp(source)
        findings = check(program)
        if findings.errors:
            raise findings.errors[0]
        found = _templates[key] = TemplateCode(program)
    return found


def render(run: "Run", scope: Scope, source: Source, parameters: Hash | None, inline: bool) -> Any:
    """The text of a template: a String, an unknown value, or a Sensitive if it puts one out."""
    code = template(source)
    sees_local = inline and code.parameters is None and parameters is None
    inner = scope.inner({}) if sees_local else Scope(run, scope.frame, run.top, {})
    _bind(run, inner, code, parameters or Hash())
    run.output.append([])
    try:
        code.body(inner)
    finally:
        pieces = run.output.pop()
    secret = any(isinstance(piece, Sensitive) for piece in pieces)
    plain = [piece.unwrap() if isinstance(piece, Sensitive) else piece for piece in pieces]
    if any(map(stays_open, plain)):
        run.has_unknowns = True
        text = join(plain)
    else:
        text = to_text(plain)
    return Sensitive(text) if secret else text


def to_text(pieces: list[Any]) -> str:
    return "".join(piece if type(piece) is str else to_string(piece) for piece in pieces)


def _bind(run: "Run", scope: Scope, code: TemplateCode, given: Hash) -> None:
    variables = scope.variables
    if code.parameters is None:
        variables.update(given)
        return
    names = [parameter.name for parameter in code.parameters]
    for name in given:
        if name not in names:
            raise issues.TEMPLATE_PARAMETER_UNKNOWN.error(name=name, guess=did_you_mean(str(name), names))
    for parameter in code.parameters:
        value = given.get(parameter.name)
        if value is None:
            if parameter.default is not None:
                value = parameter.default(scope)
            elif parameter.name not in given:
                raise issues.TEMPLATE_PARAMETER_MISSING.error(name=parameter.name)
        if parameter.is_typed:
            wanted = parameter.type_in(scope)
            value = run.fitting(value, wanted)
            if not wanted.check(value):
                reason = mismatch.describe(f"parameter '{parameter.name}'", wanted, value)
                raise issues.TEMPLATE_PARAMETER_MISMATCH.error(reason=reason)
        variables[parameter.name] = value
