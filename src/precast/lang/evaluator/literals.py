"""Literals, strings with interpolation, variables, and lists with splats."""

from collections.abc import Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.lang.evaluator.translation import Code, Translator, place, translates, unwrap
from precast.lang.functions.sequences import sequence
from precast.lang.issues import checks as issues_checks
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Scope
from precast.lang.syntax import ast
from precast.lang.syntax.checker.heredocs import problem_with
from precast.lang.values.base import DEFAULT, EmptyArray, Hash, Iterator, Regexp, Rich, to_string
from precast.lang.values.unknowns import has_unknown_text, join


@translates(ast.LiteralUndef)
def translate_undef(to: Translator, node: ast.LiteralUndef) -> Code:
    return to.constant(None)


@translates(ast.LiteralDefault)
def translate_default(to: Translator, node: ast.LiteralDefault) -> Code:
    return to.constant(DEFAULT)


@translates(ast.LiteralBoolean, ast.LiteralInteger, ast.LiteralFloat, ast.LiteralString, ast.QualifiedName)
def translate_scalar(to: Translator, node: Any) -> Code:
    return to.constant(node.value)


@translates(ast.LiteralRegexp)
def translate_regexp(to: Translator, node: ast.LiteralRegexp) -> Code:
    return to.constant(Regexp(node.pattern))


@translates(ast.Parenthesized)
def translate_parenthesized(to: Translator, node: ast.Parenthesized) -> Code:
    return to.code(node.expression)


@translates(ast.Heredoc)
def translate_heredoc(to: Translator, node: ast.Heredoc) -> Code:
    text = to.code(node.text)
    if not node.syntax or isinstance(node.text, ast.LiteralString):
        return text

    def code(scope: Scope) -> Any:
        value = text(scope)
        problem = problem_with(node.syntax, value) if isinstance(value, str) else None
        if problem is not None:
            to.fail(issues_checks.INVALID_HEREDOC, node, syntax=node.syntax, problem=problem)
        return value

    return code


@translates(ast.ReservedWord)
def translate_reserved_word(to: Translator, node: ast.ReservedWord) -> Code:
    def code(scope: Scope) -> Any:
        to.fail(issues.RESERVED_WORD, node, word=node.word)

    return code


@translates(ast.ConcatenatedString)
def translate_concatenated(to: Translator, node: ast.ConcatenatedString) -> Code:
    codes = to.codes(node.parts)
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        parts = []
        is_known = True
        for part_code in codes:
            value = part_code(scope)
            if type(value) is not str:
                if isinstance(value, tuple | Hash | Rich) and has_unknown_text(value):
                    is_known = False
                else:
                    try:
                        value = to_string(value)
                    except PrecastError as error:
                        raise place(error, source, span) from None
            parts.append(value)
        if is_known:
            return "".join(parts)
        scope.compilation.has_unknowns = True
        return join(parts)

    return code


@translates(ast.Splat)
def translate_splat(to: Translator, node: ast.Splat) -> Code:
    operand = to.code(node.operand)
    return lambda scope: unfold(scope.compilation.concrete_top(operand(scope)))


def unfold(value: Any) -> tuple[Any, ...]:
    """The values that a splat of a value stands for."""
    if isinstance(value, tuple):
        return value
    if value is None:
        return ()
    if isinstance(value, Hash):
        return tuple(value.items())
    if isinstance(value, Iterator):
        return tuple(sequence(value))
    return (value,)


def elements(to: Translator, nodes: Sequence[ast.Node]) -> Code:
    """Code that gives the values of the nodes as a tuple, with splats unfolded."""
    codes = to.codes(nodes)
    splats = [isinstance(unwrap(node), ast.Splat) for node in nodes]
    if not any(splats):
        constants = [to.constant_of(code) for code in codes]
        if MISSING not in constants:
            return to.constant(tuple(constants))
        if len(codes) == 1:
            only = codes[0]
            return lambda scope: (only(scope),)
        return lambda scope: tuple([code(scope) for code in codes])
    pairs = tuple(zip(codes, splats, strict=True))

    def code(scope: Scope) -> Any:
        values: list[Any] = []
        for element, is_splat in pairs:
            if is_splat:
                values.extend(element(scope))
            else:
                values.append(element(scope))
        return tuple(values)

    return code


@translates(ast.LiteralList)
def translate_literal_list(to: Translator, node: ast.LiteralList) -> Code:
    # Each empty array is an object of its own, which Python's () is not: a template may add to it.
    return elements(to, node.elements) if node.elements else lambda scope: EmptyArray()


@translates(ast.LiteralHash)
def translate_literal_hash(to: Translator, node: ast.LiteralHash) -> Code:
    entries = tuple((to.code(entry.key), to.code(entry.value)) for entry in node.entries)
    constants = [(to.constant_of(key), to.constant_of(value)) for key, value in entries]
    if not any(MISSING in pair for pair in constants):
        return to.constant(Hash.of(constants))

    def code(scope: Scope) -> Any:
        compilation = scope.compilation
        return Hash.of((compilation.concrete_top(key(scope)), value(scope)) for key, value in entries)

    return code


@translates(ast.Variable)
def translate_variable(to: Translator, node: ast.Variable) -> Code:
    name, source, span = node.name, to.source, node.span
    if name.isdigit():
        index = int(name)
        return lambda scope: scope.match_group(index)
    if "::" in name:
        return lambda scope: scope.compilation.qualified_value(scope, name, source, span)

    def code(scope: Scope) -> Any:
        around: Scope | None = scope
        while around is not None:
            value = around.variables.get(name, MISSING)
            if value is not MISSING:
                return value
            around = around.parent
        return scope.compilation.top_value(name, source, span)

    return code


@translates(ast.QualifiedReference)
def translate_qualified_reference(to: Translator, node: ast.QualifiedReference) -> Code:
    from precast.lang import datatypes

    name, source, span = node.name, to.source, node.span
    core = datatypes.core(name)
    if core is not None:
        return to.constant(core)
    return lambda scope: scope.compilation.type_names.named(name, source, span)


@translates(ast.Block)
def translate_block(to: Translator, node: ast.Block) -> Code:
    codes = to.codes(node.statements)
    if not codes:
        return to.constant(None)
    if len(codes) == 1:
        return codes[0]
    *before, last = codes
    earlier = tuple(before)

    source = to.source
    spans = tuple(statement.span for statement in node.statements)

    def code(scope: Scope) -> Any:
        index = 0
        try:
            for statement in earlier:
                statement(scope)
                index += 1
            return last(scope)
        except PrecastError as error:  # the statement is the widest place; usually an inner expression has set one
            raise place(error, source, spans[index]) from None

    return code
