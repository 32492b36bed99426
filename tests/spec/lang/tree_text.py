"""Writes a program's tree as real Puppet dumps its own, so that the two can be compared.

Puppet's dump does not distinguish a statement from a call, omits parentheses and an empty else, and prints strings without escapes:
`same` compares after removing blanks, quotes and `::` on both sides.
"""

import re
from collections.abc import Iterable

from precast.lang.syntax import ast

_OPERATORS = {"In": "in", "And": "&&", "Or": "||", "Not": "!", "Minus": "-", "Splat": "unfold"}
_RADIX = {16: "0x%X", 8: "0%o", 10: "%d"}


def same(left: str, right: str) -> bool:
    return _bare(left) == _bare(right)


def _bare(text: str) -> str:
    text = re.sub(r"\(str ('[^']*')\)", r"\1", text)
    return re.sub(r"\s+|'|::", "", text).replace("(invoke", "(call")


def tree_text(program: ast.Program) -> str:
    """The dump of a whole program."""
    body = program.body
    if isinstance(body, ast.EppExpression):
        return _form("lambda", _parameters(body.parameters or ()), f"(epp {_text(body.body)})")
    if not body.statements:
        return ":nop"
    return _statement_or_block(body)


def _form(*parts: str) -> str:
    return f"({' '.join(part for part in parts if part)})"


def _texts(nodes: Iterable[ast.Node]) -> str:
    return " ".join(map(_text, nodes))


def _statement_or_block(node: ast.Node) -> str:
    if isinstance(node, ast.Block) and len(node.statements) == 1:
        return _text(node.statements[0])
    return _text(node)


def _parameters(parameters: Iterable[ast.Parameter]) -> str:
    shown = _texts(parameters)
    return f"(parameters {shown})" if shown else ""


def _returned(node: ast.Node | None) -> str:
    return f"(return_type {_text(node)})" if node is not None else ""


def _text(node: ast.Node) -> str:
    for describe in (_literal, _collection, _operation, _choice, _call, _resource, _definition):
        text = describe(node)
        if text is not None:
            return text
    raise AssertionError(f"no text for {type(node).__name__}")


def _literal(node: ast.Node) -> str | None:
    match node:
        case ast.LiteralUndef():
            return ":undef"
        case ast.LiteralDefault():
            return ":default"
        case ast.LiteralBoolean(value=value):
            return str(value).lower()
        case ast.LiteralInteger(value=value, radix=radix):
            return _RADIX[radix] % value
        case ast.LiteralFloat(value=value):
            return repr(value)
        case ast.LiteralString(value=value) | ast.QualifiedName(value=value):
            return str(value)
        case ast.LiteralRegexp(pattern=pattern):
            return "/" + pattern.replace("/", "\\/") + "/"
        case ast.QualifiedReference(name=name):
            return name
        case ast.ReservedWord(word=word):
            return f"(reserved {word})"
        case ast.Variable(name=name):
            return f"${name}"
    return None


def _collection(node: ast.Node) -> str | None:
    match node:
        case ast.ConcatenatedString(parts=parts):
            return _form("cat", *(_part(part) for part in parts))
        case ast.Heredoc(syntax=syntax, text=text):
            return f"(@({syntax}) {_text(text)})"
        case ast.LiteralList(elements=elements):
            return _form("[]", _texts(elements))
        case ast.LiteralHash(entries=entries):
            return _form("{}", *(f"({_text(entry.key)} {_text(entry.value)})" for entry in entries))
    return None


def _part(node: ast.Node) -> str:
    """Text of a string is written as it is, an interpolation as (str …); a string literal between ${ and } looks like text here."""
    return _text(node) if isinstance(node, ast.LiteralString) else f"(str {_text(node)})"


def _operation(node: ast.Node) -> str | None:
    match node:
        case ast.Parenthesized(expression=expression):
            return _text(expression)
        case ast.Not(operand=operand) | ast.Minus(operand=operand) | ast.Splat(operand=operand):
            return _form(_OPERATORS[type(node).__name__], _text(operand))
        case ast.In(left=left, right=right) | ast.And(left=left, right=right) | ast.Or(left=left, right=right):
            return _form(_OPERATORS[type(node).__name__], _text(left), _text(right))
        case (
            ast.Arithmetic(op=op, left=left, right=right)
            | ast.Comparison(op=op, left=left, right=right)
            | ast.Match(op=op, left=left, right=right)
            | ast.Relationship(op=op, left=left, right=right)
            | ast.Assignment(op=op, target=left, value=right)
        ):
            return _form(op, _text(left), _text(right))
        case ast.Access(left=left, keys=(key,)):
            return _form("slice", _text(left), _text(key))
        case ast.Access(left=left, keys=keys):
            return _form("slice", _text(left), f"({_texts(keys)})")
    return None


def _choice(node: ast.Node) -> str | None:
    match node:
        case ast.Block(statements=()):
            return "()"
        case ast.Block(statements=statements):
            return _form("block", _texts(statements))
        case ast.If() | ast.Unless():
            otherwise = node.otherwise
            is_empty = otherwise is None or (isinstance(otherwise, ast.Block) and not otherwise.statements)
            return _form(
                type(node).__name__.lower(),
                _text(node.condition),
                f"(then {_statement_or_block(node.then)})",
                "" if otherwise is None or is_empty else f"(else {_statement_or_block(otherwise)})",
            )
        case ast.Case(subject=subject, options=options):
            shown = (f"(when ({_texts(option.values)}) (then {_text(option.body)}))" for option in options)
            return _form("case", _text(subject), *shown)
        case ast.Selector(subject=subject, entries=entries):
            return _form("?", _text(subject), *(f"({_text(e.matching)} => {_text(e.value)})" for e in entries))
        case ast.RenderString(value=value):
            return f"(render-s {value})"
        case ast.RenderExpr(expression=expression):
            return f"(render {_text(expression)})"
    return None


def _call(node: ast.Node) -> str | None:
    match node:
        case ast.Call(functor=functor, arguments=arguments, block=block):
            return _form("call", _text(functor), _texts(arguments), _text(block) if block else "")
        case ast.CallMethod(receiver=receiver, name=name, arguments=arguments, block=block):
            return _form(
                "call-method", f"(. {_text(receiver)} {name})", _texts(arguments), _text(block) if block else ""
            )
        case ast.Lambda(parameters=parameters, return_type=returned, body=body):
            return _form("lambda", _parameters(parameters), _returned(returned), _text(body))
        case ast.Parameter(name=name, type_expr=type_expr, default=default, captures_rest=rest):
            kind = ("=" if default is not None else "") + ("t" if type_expr is not None else "")
            parts = (
                _text(type_expr) if type_expr is not None else "",
                ("*" if rest else "") + name,
                _text(default) if default is not None else "",
            )
            return _form(kind, *parts) if kind else parts[1]
    return None


def _resource(node: ast.Node) -> str | None:
    match node:
        case ast.AttributesOp(value=value):
            return f"(* => {_text(value)})"
        case ast.AttributeOp(name=name, op=op, value=value):
            return _form(name, op, _text(value))
        case ast.ResourceBody(title=title, operations=operations):
            return _form(_text(title), _texts(operations))
        case ast.Resource(form=form, type_name=head, bodies=bodies):
            return _form(_formed(form, "resource"), _text(head), _texts(bodies))
        case ast.ResourceDefaults(form=form, type_ref=head, operations=operations):
            return _form(_formed(form, "resource-defaults"), _text(head), _texts(operations))
        case ast.ResourceOverride(form=form, resources=head, operations=operations):
            return _form(_formed(form, "override"), _text(head), _texts(operations))
        case ast.Collector(form=form, type_expr=head, query=query):  # Puppet's dump omits the attributes
            marks = "<| |>" if form == "virtual" else "<<| |>>"
            return _form("collect", _text(head), _form(marks, _text(query) if query is not None else ""))
    return None


def _formed(form: str, word: str) -> str:
    return word if form == "regular" else f"{form}-{word}"


def _definition(node: ast.Node) -> str | None:
    match node:
        case ast.HostClassDefinition(name=name, parameters=parameters, parent=parent, body=body):
            inherits = f"(inherits {parent})" if parent else ""
            return _form("class", name, inherits, _parameters(parameters), _text(body))
        case ast.ResourceTypeDefinition(name=name, parameters=parameters, body=body):
            return _form("define", name, _parameters(parameters), _text(body))
        case ast.NodeDefinition(matches=matches, parent=parent_node, body=body):
            above = f"(parent {_text(parent_node)})" if parent_node is not None else ""
            return _form("node", f"(matches {_texts(matches)})", above, _text(body))
        case ast.FunctionDefinition(name=name, parameters=parameters, return_type=returned, body=body):
            return _form("function", name, _parameters(parameters), _returned(returned), _text(body))
        case ast.TypeAliasDefinition(name=name, type_expr=type_expr):
            return _form("type-alias", name, _text(type_expr))
        case ast.TypeDefinition(name=name, parent=parent):
            return _form("type-definition", name, parent or "", "()")
        case ast.TypeMapping(type_expr=type_expr, mapping=mapping):
            return _form("type-mapping", _text(type_expr), _text(mapping))
    return None
