"""Which expressions only produce a value: as a statement they have no effect."""

from typing import Final

from precast.lang.syntax import ast

_PURE: Final = frozenset(
    (
        ast.LiteralUndef, ast.LiteralDefault, ast.LiteralBoolean, ast.LiteralInteger, ast.LiteralFloat, ast.LiteralString,
        ast.LiteralRegexp, ast.QualifiedName, ast.QualifiedReference, ast.ReservedWord, ast.ConcatenatedString, ast.Heredoc,
        ast.LiteralList, ast.LiteralHash, ast.Variable, ast.Not, ast.Minus, ast.Splat, ast.Arithmetic, ast.Comparison, ast.In,
        ast.And, ast.Or, ast.Access, ast.Selector,
    )
)  # fmt: skip


def has_no_effect(node: ast.Node) -> bool:
    """Whether a node is useless as a statement. A match sets variables and so has an effect, as in Puppet."""
    kind = type(node)
    if kind in _PURE:
        return True
    if isinstance(node, ast.Parenthesized):
        return has_no_effect(node.expression)
    if isinstance(node, ast.Block):
        return all(map(has_no_effect, node.statements))
    if isinstance(node, ast.If | ast.Unless):
        return (
            has_no_effect(node.condition)
            and has_no_effect(node.then)
            and (node.otherwise is None or has_no_effect(node.otherwise))
        )
    if isinstance(node, ast.Case):
        return has_no_effect(node.subject) and all(
            all(map(has_no_effect, option.values)) and has_no_effect(option.body) for option in node.options
        )
    return False


def advice(node: ast.Node, following: ast.Node | None) -> str:
    """A hint about the probable intention."""
    if isinstance(node, ast.QualifiedName):
        if following is not None:
            return f"to call the function write {node.value}(…); a resource is {node.value} {{ 'title': … }}"
        return f"to call the function write {node.value}()"
    if isinstance(node, ast.Comparison) and node.op == "==" and isinstance(node.left, ast.Variable):
        return "to assign write ="
    if isinstance(node, ast.LiteralHash):
        return "a brace at the beginning of a statement begins a hash"
    return "remove it, or use its value"
