"""EPP: text and code alternate. The compilation collects their output, that of the innermost template last."""

from typing import Any

from precast.lang.evaluator.lambdas import ParameterCode
from precast.lang.evaluator.translation import Code, Translator, translates
from precast.lang.scope import Scope
from precast.lang.syntax import ast


@translates(ast.RenderString)
def translate_render_string(to: Translator, node: ast.RenderString) -> Code:
    text = node.value

    def code(scope: Scope) -> Any:
        scope.compilation.output[-1].append(text)

    return code


@translates(ast.RenderExpr)
def translate_render_expression(to: Translator, node: ast.RenderExpr) -> Code:
    expression = to.code(node.expression)

    def code(scope: Scope) -> Any:
        scope.compilation.output[-1].append(expression(scope))

    return code


class TemplateCode:
    """A translated template; `parameters` is None if it declares none."""

    __slots__ = ("body", "parameters", "source", "span")

    def __init__(self, program: ast.Program) -> None:
        to = Translator(program.source)
        template = program.body
        assert isinstance(template, ast.EppExpression)
        self.source = program.source
        self.span = template.span
        self.body = to.code(template.body)
        self.parameters = (
            None
            if template.parameters is None
            else tuple(ParameterCode(to, parameter) for parameter in template.parameters)
        )


@translates(ast.EppExpression)
def translate_epp(to: Translator, node: ast.EppExpression) -> Code:
    return to.code(node.body)
