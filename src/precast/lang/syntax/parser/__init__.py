"""From text to tree: `parse` for manifests, `parse_epp` for templates. Raises InputError at the first syntax error.

The lexer gives flat tokens; a Pratt parser with Puppet's precedences makes the tree. The parser accepts everything that Puppet's own
grammar accepts; the checker finds the rest.
"""

from precast.base.spans import Source, Span
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.epp import lex_epp
from precast.lang.syntax.lexer import lex
from precast.lang.syntax.parser import definitions, epp, literals, operators, resources
from precast.lang.syntax.parser.core import Parser

# Importing these modules fills the parser's tables.
__all__ = ["definitions", "epp", "literals", "operators", "parse", "parse_epp", "resources"]


def parse(source: Source) -> ast.Program:
    """Parse a manifest."""
    tokens = lex(source)
    parser = Parser(source, tokens)
    statements = parser.parse_statements()
    if parser.kinds[parser.at] != t.END:
        parser.fail_unexpected()
    body = ast.Block(Span(0, len(source.text)), statements)
    return _program(source, parser, body, tokens)


def parse_epp(source: Source) -> ast.Program:
    """Parse a template: the body of the program is an EppExpression."""
    tokens = lex_epp(source)
    parser = Parser(source, tokens)
    body = epp.parse_template(parser)
    return _program(source, parser, body, tokens)


def _program(source: Source, parser: Parser, body: ast.Block | ast.EppExpression, tokens: t.Tokens) -> ast.Program:
    definitions = sorted(parser.definitions, key=lambda node: node.span.start)
    warnings = tuple(ast.Suspicion(Span(start, end), text) for start, end, text in tokens.warnings)
    return ast.Program(Span(0, len(source.text)), source, body, tuple(definitions), warnings)
