"""Parses types from text, for the signatures of functions and for `Type.new`: uses the language's parser and accepts only literals."""

import functools
from collections.abc import Callable

from precast.base.spans import Source
from precast.lang.datatypes.base import Type
from precast.lang.datatypes.construction.access import index
from precast.lang.datatypes.core_types import core
from precast.lang.datatypes.references import ResourceType, TypeReference
from precast.lang.issues import types as issues
from precast.lang.syntax import ast
from precast.lang.syntax.parser import parse
from precast.lang.values.base import DEFAULT, Hash, Regexp, Value

Resolve = Callable[[str], Type | None]


@functools.lru_cache(maxsize=2048)
def parse_type(text: str) -> Type:
    """Parse the text of a core type. Raises LANG-260."""
    return parse_type_in(text, core)


def parse_type_in(text: str, resolve: Resolve) -> Type:
    """Parse the text of a type, with names resolved by the caller. Raises LANG-260."""
    body = parse(Source("type", text)).body
    value = _value(body, text, resolve)
    if not isinstance(value, Type):
        raise issues.NO_TYPE_IN_TEXT.error(text=text)
    return value


def _value(node: ast.Node | None, text: str, resolve: Resolve) -> Value:
    if isinstance(node, ast.Block) and len(node.statements) == 1:
        return _value(node.statements[0], text, resolve)
    if isinstance(node, ast.QualifiedReference):
        resolved = resolve(node.name)
        return resolved if resolved is not None else TypeReference(node.name)
    if isinstance(node, ast.Access):
        target = _value(node.left, text, resolve)
        arguments = tuple(_value(key, text, resolve) for key in node.keys)
        if isinstance(target, TypeReference):
            return index(ResourceType(target.reference), arguments)
        return index(target, arguments) if isinstance(target, Type) else None
    if isinstance(node, ast.LiteralList):
        return tuple(_value(item, text, resolve) for item in node.elements)
    if isinstance(node, ast.LiteralHash):
        return Hash.of((_value(e.key, text, resolve), _value(e.value, text, resolve)) for e in node.entries)
    return _literal(node, text)


def _literal(node: ast.Node | None, text: str) -> Value:
    if isinstance(node, ast.LiteralRegexp):
        return Regexp(node.pattern)
    if isinstance(node, ast.LiteralDefault):
        return DEFAULT
    if isinstance(node, ast.LiteralUndef):
        return None
    if isinstance(
        node, ast.LiteralString | ast.LiteralInteger | ast.LiteralFloat | ast.LiteralBoolean | ast.QualifiedName
    ):
        return node.value
    if isinstance(node, ast.Minus) and isinstance(node.operand, ast.LiteralInteger | ast.LiteralFloat):
        return -node.operand.value
    raise issues.NO_TYPE_IN_TEXT.error(text=text)
