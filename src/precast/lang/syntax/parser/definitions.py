"""Definitions: classes, defines, nodes, functions and types. Each is an expression too, and is listed by the program."""

from precast.base.spans import Span
from precast.lang.issues import syntax as issues
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.core import PREFIX, Parser
from precast.lang.syntax.parser.literals import entries, hash_literal, key, reference, string
from precast.lang.syntax.parser.parameters import parameters, return_type


def _class(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    name = _qualified(p, _definition_name(p))
    header = p.span_from(start)
    declared = parameters(p, ")") if _took_parenthesis(p) else ()
    parent = None
    if p.took("inherits"):
        parent = "default" if p.took("default") else _definition_name(p).removeprefix("::")
    outer = p.namespace
    p.namespace = name
    body = p.block()
    p.namespace = outer
    return _listed(p, ast.HostClassDefinition(header, name, declared, parent, body))


def _define(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    name = _qualified(p, _definition_name(p))
    header = p.span_from(start)
    declared = parameters(p, ")") if _took_parenthesis(p) else ()
    body = _outside(p)
    return _listed(p, ast.ResourceTypeDefinition(header, name, declared, body))


def _function(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    name = p.values[p.at]
    if p.kinds[p.at] not in (t.NAME, t.WORD, t.REFERENCE):
        p.unexpected("the name of a function")
    p.at += 1
    header = p.span_from(start)
    declared = parameters(p, ")") if _took_parenthesis(p) else ()
    returned = return_type(p)
    body = _outside(p)
    return _listed(p, ast.FunctionDefinition(header, name, declared, returned, body))


def _definition_name(p: Parser) -> str:
    kind = p.kinds[p.at]
    if kind in (t.STRING, t.STRING_START):
        p.fail(issues.QUOTED_NAME, p.token_span())
    if kind == "class":
        p.fail(issues.CLASS_AS_NAME, p.token_span())
    if kind not in (t.NAME, t.WORD, t.REFERENCE):
        p.unexpected("a name")
    p.at += 1
    return p.values[p.at - 1]


def _qualified(p: Parser, name: str) -> str:
    """The complete name of what is defined inside a class."""
    return f"{p.namespace}::{name}" if p.namespace else name


def _outside(p: Parser) -> ast.Block:
    """A block in which definitions are not named after the class around it."""
    outer = p.namespace
    p.namespace = ""
    body = p.block()
    p.namespace = outer
    return body


def _took_parenthesis(p: Parser) -> bool:
    return p.took("(") or p.took(t.GROUP_START)


def _listed(p: Parser, node: ast.Definition) -> ast.Definition:
    p.definitions.append(node)
    return node


# Nodes


def _node(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    matches = [_host(p)]
    while p.took(",") and p.kinds[p.at] not in ("{", "inherits"):
        matches.append(_host(p))
    parent = _host(p) if p.took("inherits") else None
    header = p.span_from(start)
    body = p.block()
    return _listed(p, ast.NodeDefinition(header, tuple(matches), parent, body))


def _host(p: Parser) -> ast.Node:
    kind = p.kinds[p.at]
    if kind in (t.STRING, t.STRING_START):
        return string(p)
    if kind in (t.REGEXP, "default"):
        return PREFIX[kind](p)
    start = p.starts[p.at]
    parts = [_host_part(p)]
    while p.took("."):
        parts.append(_host_part(p))
    return ast.LiteralString(p.span_from(start), ".".join(parts))


def _host_part(p: Parser) -> str:
    if p.kinds[p.at] not in (t.NAME, t.NUMBER):
        p.unexpected("the name of a host", "names with other characters than letters and digits need quotes")
    p.at += 1
    return p.values[p.at - 1]


# Types


def _type(p: Parser) -> ast.Node:
    following = p.kinds[p.at + 1]
    if following in ("(", t.GROUP_START):
        p.at += 1
        return ast.QualifiedName(Span(p.starts[p.at - 1], p.ends[p.at - 1]), "type")
    start = p.starts[p.at]
    p.at += 1
    written = p.values[p.at]
    name = reference(p)
    header = p.span_from(start)
    if p.kinds[p.at] == "[":
        return _type_mapping(p, header, name)
    if p.took("="):
        return _listed(p, ast.TypeAliasDefinition(header, written, _aliased(p)))
    parent = p.take(t.REFERENCE) if p.took("inherits") else None
    if p.kinds[p.at] != "{":
        p.unexpected("'='", "an alias is: type Name = Type")
    p.block()
    return _listed(p, ast.TypeDefinition(header, name.name, parent))


def _type_mapping(p: Parser, header: Span, name: ast.QualifiedReference) -> ast.Node:
    p.at += 1
    keys = entries(p, "]", key)
    left = ast.Access(p.span_from(name.span.start), name, keys)
    p.take("=")
    return _listed(p, ast.TypeMapping(header, left, _aliased(p)))


def _aliased(p: Parser) -> ast.Node:
    """The right side of an alias: a type, or a hash (perhaps after the parent's name) that describes an Object type."""
    kind = p.kinds[p.at]
    if kind == "{":
        described = hash_literal(p)
        return _object(described.span, described)
    if kind in ("[", t.LIST_START):
        return PREFIX[kind](p)
    if kind != t.REFERENCE:
        p.unexpected("a type")
    name = reference(p)
    if p.kinds[p.at] == "{":
        described = hash_literal(p)
        if name.name == "TypeSet":
            return ast.Access(Span(name.span.start, described.span.end), name, (described,))
        if name.name != "Object":
            parent = ast.QualifiedName(name.span, "parent")
            described = ast.LiteralHash(described.span, (*described.entries, ast.KeyedEntry(name.span, parent, name)))
        return _object(Span(name.span.start, described.span.end), described)
    if p.kinds[p.at] == "[":
        p.at += 1
        keys = entries(p, "]", key)
        return ast.Access(p.span_from(name.span.start), name, keys)
    return name


def _object(span: Span, described: ast.LiteralHash) -> ast.Node:
    return ast.Access(span, ast.QualifiedReference(span, "Object"), (described,))


PREFIX.update(
    {
        "class": _class,
        "define": _define,
        "function": _function,
        "node": _node,
        "type": _type,
    }
)
