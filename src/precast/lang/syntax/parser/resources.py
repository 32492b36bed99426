"""Resources in every form: declared, virtual, exported, their defaults and overrides, and collectors.

The content of the braces decides: bodies with titles make the expression before them a resource; attributes alone make a type's
defaults or a reference's override. After a plain name they are not a resource but a hash, as in Puppet.
"""

from precast.base.spans import Span
from precast.lang.issues import syntax as issues
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.advice import NO_TITLE, attribute_advice, resource_advice
from precast.lang.syntax.parser.core import INFIX, POSTFIX, RESOURCE, STATEMENT_CALLS, Parser

_FORMS: dict[str, ast.Form] = {"@": "virtual", "@@": "exported"}


def _parse_resource(p: Parser, head: ast.Node | None) -> ast.Node:
    """Parse the resource whose type expression is `head`, or which begins here with `@`, `@@` or `class`."""
    form: ast.Form = "regular"
    start = head.span.start if head is not None else p.starts[p.at]
    if head is None:
        if p.kinds[p.at] in _FORMS:
            form = _FORMS[p.kinds[p.at]]
            p.at += 1
        head = _parse_class_word(p) if p.kinds[p.at] == "class" else p.parse_expression()
        if p.kinds[p.at] != "{":
            p.fail_unexpected("'{'", "write a virtual or exported resource as @type { 'title': … }")
    if p.kinds[p.at + 1] == "}" and _may_be_empty(head):
        return _parse_untitled(p, form, head, start)
    opening = p.at
    p.at += 1
    if _begins_attributes(p) or p.kinds[p.at] == ",":
        p.at = opening
        return _parse_untitled(p, form, head, start)
    bodies = _parse_bodies(p)
    return ast.Resource(p.span_from(start), form, head, bodies)


def _parse_untitled(p: Parser, form: ast.Form, head: ast.Node, start: int) -> ast.Node:
    """Parse attributes without a title."""
    opening = p.at
    p.at += 1
    operations = _parse_operations(p)
    if _begins_attributes(p):
        p.fail_unexpected("','", "a comma is missing before it")
    p.expect("}", "write attributes as name => value, separated by commas")
    span = p.span_from(start)
    if type(head) is ast.QualifiedReference:
        return ast.ResourceDefaults(span, form, head, operations)
    if type(head) is ast.Access:
        return ast.ResourceOverride(span, form, head, operations)
    if form != "regular":
        name = "Virtual (@)" if form == "virtual" else "Exported (@@)"
        p.fail(issues.NOT_VIRTUAL, Span(start, head.span.end), form=name)
    if type(head) is not ast.QualifiedName:
        p.fail(issues.NOT_A_RESOURCE, head.span, advice=resource_advice(p.tokens, start, opening))
    return _parse_name_and_hash(p, head, operations, opening)


def _parse_class_word(p: Parser) -> ast.Node:
    span = p.token_span()
    p.at += 1
    return ast.QualifiedName(span, "class")


def _may_be_empty(head: ast.Node) -> bool:
    return not (type(head) is ast.QualifiedName and head.value == "class")


def _begins_attributes(p: Parser) -> bool:
    kind, following = p.kinds[p.at], p.kinds[p.at + 1]
    if kind == "*":
        return following == "=>"
    return (kind == t.NAME or kind in t.KEYWORDS) and following in ("=>", "+>")


def _parse_name_and_hash(
    p: Parser, head: ast.QualifiedName, operations: tuple[ast.Operation, ...], opening: int
) -> ast.Node:
    """`name { key => value }`: a call without parentheses with a hash, or two statements."""
    pairs = []
    for operation in operations:
        if not isinstance(operation, ast.AttributeOp) or operation.op != "=>":
            p.fail(issues.NOT_A_RESOURCE, head.span, advice=NO_TITLE)
        pairs.append(ast.KeyedEntry(operation.span, ast.LiteralString(operation.span, operation.name), operation.value))
    argument = ast.LiteralHash(p.span_from(p.starts[opening]), tuple(pairs))
    span = p.span_from(head.span.start)
    if head.value in STATEMENT_CALLS:
        return ast.Call(span, head, (argument,), None, True)
    return ast.Block(span, (head, argument))


def _parse_bodies(p: Parser) -> tuple[ast.ResourceBody, ...]:
    """`title: attributes; …` and the closing brace."""
    bodies = []
    while True:
        title = p.parse_expression()
        p.expect(":", "write a resource as type { 'title': attribute => value, … }")
        bodies.append(ast.ResourceBody(title.span, title, _parse_operations(p)))
        if p.accept("}"):
            return tuple(bodies)
        if _begins_attributes(p):
            p.fail_unexpected("','", "a comma is missing before it")
        if p.kinds[p.at] != ";":
            p.fail_unexpected("'}'", attribute_advice(p.tokens, p.at) if p.kinds[p.at] != t.END else "")
        p.at += 1
        if p.accept("}"):
            return tuple(bodies)


def _parse_operations(p: Parser) -> tuple[ast.Operation, ...]:
    """Parse `name => value, * => hash, …`, up to the first token that does not begin an attribute.

    Puppet's grammar also accepts a comma before the first attribute.
    """
    kinds = p.kinds
    operations: list[ast.Operation] = []
    p.accept(",")
    while _begins_attributes(p):
        at = p.at
        name, op = p.values[at], kinds[at + 1]
        p.at = at + 2
        value = p.parse_expression()
        if kinds[at] == "*":
            operations.append(ast.AttributesOp(Span(p.starts[at], value.span.end), value))
        else:
            operations.append(ast.AttributeOp(Span(p.starts[at], p.ends[at]), name, op, value))
        if kinds[p.at] != ",":
            break
        p.at += 1
    return tuple(operations)


def _parse_collector(p: Parser, left: ast.Node) -> ast.Node:
    is_virtual = p.kinds[p.at] == "<|"
    closing = "|>" if is_virtual else "|>>"
    p.at += 1
    query = None if p.kinds[p.at] == closing else p.parse_expression()
    p.expect(closing)
    operations: tuple[ast.Operation, ...] = ()
    if p.accept("{"):
        operations = _parse_operations(p)
        p.expect("}", "write attributes as name => value, separated by commas")
    form: ast.Form = "virtual" if is_virtual else "exported"
    return ast.Collector(p.span_from(left.span.start), form, left, query, operations)


RESOURCE.append(_parse_resource)
INFIX["<|"] = INFIX["<<|"] = (POSTFIX, _parse_collector)
