"""Definitions: classes, defines, nodes, functions and types. Each is also an expression, and the program lists them all."""

from precast.base.spans import Span
from precast.lang.issues import syntax as issues
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.core import PREFIX, Parser
from precast.lang.syntax.parser.literals import (
    parse_entries,
    parse_hash_literal,
    parse_key,
    parse_reference,
    parse_string,
)
from precast.lang.syntax.parser.parameters import parse_parameters, parse_return_type


def _parse_class(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    name = _qualify(p, _parse_definition_name(p))
    header = p.span_from(start)
    declared = parse_parameters(p, ")") if _accept_parenthesis(p) else ()
    parent = None
    if p.accept("inherits"):
        parent = "default" if p.accept("default") else _parse_definition_name(p).removeprefix("::")
    outer = p.namespace
    p.namespace = name
    body = p.parse_block()
    p.namespace = outer
    return _add_definition(p, ast.HostClassDefinition(header, name, declared, parent, body))


def _parse_define(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    name = _qualify(p, _parse_definition_name(p))
    header = p.span_from(start)
    declared = parse_parameters(p, ")") if _accept_parenthesis(p) else ()
    body = _parse_unqualified_block(p)
    return _add_definition(p, ast.ResourceTypeDefinition(header, name, declared, body))


def _parse_function(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    name = p.values[p.at]
    if p.kinds[p.at] not in (t.NAME, t.WORD, t.REFERENCE):
        p.fail_unexpected("the name of a function")
    p.at += 1
    header = p.span_from(start)
    declared = parse_parameters(p, ")") if _accept_parenthesis(p) else ()
    returned = parse_return_type(p)
    body = _parse_unqualified_block(p)
    return _add_definition(p, ast.FunctionDefinition(header, name, declared, returned, body))


def _parse_definition_name(p: Parser) -> str:
    kind = p.kinds[p.at]
    if kind in (t.STRING, t.STRING_START):
        p.fail(issues.QUOTED_NAME, p.token_span())
    if kind == "class":
        p.fail(issues.CLASS_AS_NAME, p.token_span())
    if kind not in (t.NAME, t.WORD, t.REFERENCE):
        p.fail_unexpected("a name")
    p.at += 1
    return p.values[p.at - 1]


def _qualify(p: Parser, name: str) -> str:
    """The complete name of a definition inside a class."""
    return f"{p.namespace}::{name}" if p.namespace else name


def _parse_unqualified_block(p: Parser) -> ast.Block:
    """A block whose definitions are not named after the class around it."""
    outer = p.namespace
    p.namespace = ""
    body = p.parse_block()
    p.namespace = outer
    return body


def _accept_parenthesis(p: Parser) -> bool:
    return p.accept("(") or p.accept(t.GROUP_START)


def _add_definition(p: Parser, node: ast.Definition) -> ast.Definition:
    p.definitions.append(node)
    return node


# Nodes


def _parse_node(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    matches = [_parse_host(p)]
    while p.accept(",") and p.kinds[p.at] not in ("{", "inherits"):
        matches.append(_parse_host(p))
    parent = _parse_host(p) if p.accept("inherits") else None
    header = p.span_from(start)
    body = p.parse_block()
    return _add_definition(p, ast.NodeDefinition(header, tuple(matches), parent, body))


def _parse_host(p: Parser) -> ast.Node:
    kind = p.kinds[p.at]
    if kind in (t.STRING, t.STRING_START):
        return parse_string(p)
    if kind in (t.REGEXP, "default"):
        return PREFIX[kind](p)
    start = p.starts[p.at]
    parts = [_parse_host_part(p)]
    while p.accept("."):
        parts.append(_parse_host_part(p))
    return ast.LiteralString(p.span_from(start), ".".join(parts))


def _parse_host_part(p: Parser) -> str:
    if p.kinds[p.at] not in (t.NAME, t.NUMBER):
        p.fail_unexpected("the name of a host", "a name with characters other than letters and digits needs quotes")
    p.at += 1
    return p.values[p.at - 1]


# Types


def _parse_type(p: Parser) -> ast.Node:
    following = p.kinds[p.at + 1]
    if following in ("(", t.GROUP_START):
        p.at += 1
        return ast.QualifiedName(Span(p.starts[p.at - 1], p.ends[p.at - 1]), "type")
    start = p.starts[p.at]
    p.at += 1
    written = p.values[p.at]
    name = parse_reference(p)
    header = p.span_from(start)
    if p.kinds[p.at] == "[":
        return _parse_type_mapping(p, header, name)
    if p.accept("="):
        return _add_definition(p, ast.TypeAliasDefinition(header, written, _parse_alias_value(p)))
    parent = p.expect(t.REFERENCE) if p.accept("inherits") else None
    if p.kinds[p.at] != "{":
        p.fail_unexpected("'='", "write an alias as type Name = Type")
    p.parse_block()
    return _add_definition(p, ast.TypeDefinition(header, name.name, parent))


def _parse_type_mapping(p: Parser, header: Span, name: ast.QualifiedReference) -> ast.Node:
    p.at += 1
    keys = parse_entries(p, "]", parse_key)
    left = ast.Access(p.span_from(name.span.start), name, keys)
    p.expect("=")
    return _add_definition(p, ast.TypeMapping(header, left, _parse_alias_value(p)))


def _parse_alias_value(p: Parser) -> ast.Node:
    """The right side of an alias: a type, or a hash (possibly after the parent's name) that describes an Object type."""
    kind = p.kinds[p.at]
    if kind == "{":
        described = parse_hash_literal(p)
        return _object(described.span, described)
    if kind in ("[", t.LIST_START):
        return PREFIX[kind](p)
    if kind != t.REFERENCE:
        p.fail_unexpected("a type")
    name = parse_reference(p)
    if p.kinds[p.at] == "{":
        described = parse_hash_literal(p)
        if name.name == "TypeSet":
            return ast.Access(Span(name.span.start, described.span.end), name, (described,))
        if name.name != "Object":
            parent = ast.QualifiedName(name.span, "parent")
            described = ast.LiteralHash(described.span, (*described.entries, ast.KeyedEntry(name.span, parent, name)))
        return _object(Span(name.span.start, described.span.end), described)
    if p.kinds[p.at] == "[":
        p.at += 1
        keys = parse_entries(p, "]", parse_key)
        return ast.Access(p.span_from(name.span.start), name, keys)
    return name


def _object(span: Span, described: ast.LiteralHash) -> ast.Node:
    return ast.Access(span, ast.QualifiedReference(span, "Object"), (described,))


PREFIX.update(
    {
        "class": _parse_class,
        "define": _parse_define,
        "function": _parse_function,
        "node": _parse_node,
        "type": _parse_type,
    }
)
