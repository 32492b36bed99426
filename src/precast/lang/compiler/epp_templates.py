"""Renders EPP templates: an inline one is evaluated in the scope around it, one of a file in the top scope."""

from typing import TYPE_CHECKING, Any

from precast.base import digests
from precast.base.spans import Source
from precast.lang.compiler.suggestions import did_you_mean
from precast.lang.datatypes import mismatch
from precast.lang.evaluator.templates import TemplateCode
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.syntax.checker import check
from precast.lang.syntax.parser import parse_epp
from precast.lang.values.base import Hash, Sensitive, to_string
from precast.lang.values.unknowns import has_unknown_text, join

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation

_templates: dict[tuple[str, str], TemplateCode] = {}
_MAX_TEMPLATES = 5_000


def translate_template(source: Source) -> TemplateCode:
    """Parse, check and translate a template; done once per text. Raises the first error found."""
    key = (source.path, digests.of_bytes(source.text.encode()))
    code = _templates.get(key)
    if code is None:
        if len(_templates) >= _MAX_TEMPLATES:
            _templates.clear()
        program = parse_epp(source)
        findings = check(program)
        if findings.errors:
            raise findings.errors[0]
        code = _templates[key] = TemplateCode(program)
    return code


def render(compilation: "Compilation", scope: Scope, source: Source, parameters: Hash | None, inline: bool) -> Any:
    """Render a template: a String; a value that is filled in later if the output contains one (`catalog.unknown`); or a Sensitive."""
    code = translate_template(source)
    inner = (scope if inline else compilation.top).inner({})
    _bind(compilation, inner, code, parameters or Hash())
    compilation.output.append([])
    try:
        code.body(inner)
    finally:
        pieces = compilation.output.pop()
    secret = any(isinstance(piece, Sensitive) for piece in pieces)
    plain = [piece.unwrap() if isinstance(piece, Sensitive) else piece for piece in pieces]
    if any(map(has_unknown_text, plain)):
        compilation.has_unknowns = True
        text = join(plain)
    else:
        text = to_text(plain)
    return Sensitive(text) if secret else text


def to_text(pieces: list[Any]) -> str:
    return "".join(piece if type(piece) is str else to_string(piece) for piece in pieces)


def _bind(compilation: "Compilation", scope: Scope, code: TemplateCode, given: Hash) -> None:
    variables = scope.variables
    if code.parameters is None:
        variables.update(given)
        return
    names = [parameter.name for parameter in code.parameters]
    for name, value in given.items():
        if name not in names and value is not None:
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
            value = compilation.concrete_for_type(value, wanted)
            if not mismatch.fits_parameter(wanted, value):
                reason = mismatch.describe(f"parameter '{parameter.name}'", wanted, value)
                raise issues.TEMPLATE_PARAMETER_MISMATCH.error(reason=reason)
        variables[parameter.name] = value
