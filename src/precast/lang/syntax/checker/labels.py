"""The names of nodes in messages, in Puppet's words."""

from typing import Final

from precast.lang.syntax import ast

_LABELS: Final[dict[type[ast.Node], str]] = {
    ast.LiteralUndef: "'undef' expression",
    ast.LiteralDefault: "'default' expression",
    ast.LiteralBoolean: "Boolean",
    ast.LiteralInteger: "Literal Integer",
    ast.LiteralFloat: "Literal Float",
    ast.LiteralString: "String",
    ast.LiteralRegexp: "Regular Expression",
    ast.QualifiedName: "Name",
    ast.QualifiedReference: "Type-Name",
    ast.ConcatenatedString: "Double Quoted String",
    ast.Heredoc: "Heredoc",
    ast.LiteralList: "Array Expression",
    ast.LiteralHash: "Hash Expression",
    ast.Variable: "Variable",
    ast.Parenthesized: "Parenthesized Expression",
    ast.Not: "'not' expression",
    ast.Minus: "Unary Minus",
    ast.Splat: "Unfold",
    ast.In: "'in' expression",
    ast.And: "'and' expression",
    ast.Or: "'or' expression",
    ast.Access: "'[]' expression",
    ast.Lambda: "Lambda",
    ast.Call: "Function Call",
    ast.CallMethod: "Method call",
    ast.If: "'if' statement",
    ast.Unless: "'unless' Statement",
    ast.Case: "'case' statement",
    ast.Selector: "Selector Expression",
    ast.Block: "Block Expression",
    ast.Resource: "Resource Statement",
    ast.ResourceDefaults: "Resource Defaults Expression",
    ast.ResourceOverride: "Resource Override",
    ast.HostClassDefinition: "Host Class Definition",
    ast.ResourceTypeDefinition: "'define' expression",
    ast.NodeDefinition: "Node Definition",
    ast.FunctionDefinition: "Function Definition",
    ast.TypeAliasDefinition: "Type Alias",
    ast.TypeDefinition: "Type Definition",
    ast.TypeMapping: "Type Mapping",
    ast.EppExpression: "Epp Template",
    ast.RenderString: "Interpolated Epp String",
    ast.RenderExpr: "Interpolated Epp Expression",
}


def label(node: ast.Node) -> str:
    """The name of this kind of expression."""
    if isinstance(node, ast.Arithmetic | ast.Comparison | ast.Match | ast.Assignment | ast.Relationship):
        return f"'{node.op}' expression"
    if isinstance(node, ast.ReservedWord):
        return f"Reserved Word '{node.word}'"
    if isinstance(node, ast.Collector):
        return "Virtual Query" if node.form == "virtual" else "Exported Query"
    return _LABELS[type(node)]


def a_label(node: ast.Node, article: str = "a") -> str:
    """The name with its article: `a Literal Integer`, `an 'if' statement`; `A` at the beginning of a sentence."""
    name = label(node)
    return f"{article}n {name}" if name.lstrip("'[")[:1].lower() in "aeiou" else f"{article} {name}"
