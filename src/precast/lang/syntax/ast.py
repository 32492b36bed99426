"""The tree of a Puppet program: frozen nodes, each with its place in the text, no logic.

Nodes carry Puppet's own model names, so that whoever knows Puppet's language finds them. A pass over the tree is one module with
one dispatch on `type(node)`. Spans count in the whole source file, also inside interpolation, heredocs and EPP. The span of a
definition (class, define, function, node, type alias) is its header, the span of every other node is all of it.

Names are as written, except that those of nested definitions are complete: `class a { class b { } }` defines `a` and `a::b`.
Defined names that begin with `::` are refused by the checker.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from precast.base.spans import Source, Span

Form = Literal["regular", "virtual", "exported"]


class Node(Struct, frozen=True):
    """Anything in the tree."""

    span: Span


# Literals


class LiteralUndef(Node, frozen=True):
    """`undef`."""


class LiteralDefault(Node, frozen=True):
    """`default`, as a value or as a case, selector or title."""


class LiteralBoolean(Node, frozen=True):
    value: bool


class LiteralInteger(Node, frozen=True):
    value: int
    radix: int


class LiteralFloat(Node, frozen=True):
    value: float


class LiteralString(Node, frozen=True):
    value: str


class LiteralRegexp(Node, frozen=True):
    """The pattern between the slashes, in Ruby's notation."""

    pattern: str


class QualifiedName(Node, frozen=True):
    """A bare word: a name in lower case, perhaps with `::`. As a value it is a string."""

    value: str


class QualifiedReference(Node, frozen=True):
    """A name in upper case (`File`, `My::Type`), as written, without leading `::`: a type."""

    name: str


class ReservedWord(Node, frozen=True):
    """A word kept for later (`application`, `site`, `private`, …): an error wherever it is evaluated."""

    word: str


class ConcatenatedString(Node, frozen=True):
    """A string with interpolation: the text is the string form of each part, joined."""

    parts: "tuple[Expression, ...]"


class Heredoc(Node, frozen=True):
    """A heredoc; `syntax` is what stands after the colon of its tag, or empty."""

    syntax: str
    text: LiteralString | ConcatenatedString


class LiteralList(Node, frozen=True):
    elements: "tuple[Expression, ...]"


class KeyedEntry(Node, frozen=True):
    key: "Expression"
    value: "Expression"


class LiteralHash(Node, frozen=True):
    entries: tuple[KeyedEntry, ...]


class Variable(Node, frozen=True):
    """`$name`; digits for a match variable. A leading `::` is kept: it means the top scope alone."""

    name: str


# Expressions


class Parenthesized(Node, frozen=True):
    expression: "Expression"


class Not(Node, frozen=True):
    operand: "Expression"


class Minus(Node, frozen=True):
    operand: "Expression"


class Splat(Node, frozen=True):
    """`*x`: the elements of an array, in the place of one argument, element, case or title."""

    operand: "Expression"


class Arithmetic(Node, frozen=True):
    """`+ - * / % << >>`."""

    op: str
    left: "Expression"
    right: "Expression"


class Comparison(Node, frozen=True):
    """`== != < > <= >=`."""

    op: str
    left: "Expression"
    right: "Expression"


class Match(Node, frozen=True):
    """`=~ !~`."""

    op: str
    left: "Expression"
    right: "Expression"


class In(Node, frozen=True):
    left: "Expression"
    right: "Expression"


class And(Node, frozen=True):
    left: "Expression"
    right: "Expression"


class Or(Node, frozen=True):
    left: "Expression"
    right: "Expression"


class Assignment(Node, frozen=True):
    """`=`, and `+= -=` which are always an error. The checker has seen to it that the target can be assigned."""

    op: str
    target: "Expression"
    value: "Expression"


class Relationship(Node, frozen=True):
    """`-> ~> <- <~`, which group from the left: the value of `a -> b` is `b`."""

    op: str
    left: "Expression"
    right: "Expression"


class Access(Node, frozen=True):
    """`left[keys]`."""

    left: "Expression"
    keys: "tuple[Expression, ...]"


class Parameter(Node, frozen=True):
    """Of a class, define, function, lambda or EPP template. `captures_rest` is `*$name`."""

    name: str
    type_expr: "Expression | None"
    default: "Expression | None"
    captures_rest: bool


class Lambda(Node, frozen=True):
    parameters: tuple[Parameter, ...]
    return_type: "Expression | None"
    body: "Block"


class Call(Node, frozen=True):
    """`name(…)`, `name …` as a statement, or `Type(…)`, which is `Type.new(…)`; the functor says which."""

    functor: "Expression"
    arguments: "tuple[Expression, ...]"
    block: Lambda | None
    is_statement: bool


class CallMethod(Node, frozen=True):
    """`receiver.name(…)`."""

    receiver: "Expression"
    name: str
    arguments: "tuple[Expression, ...]"
    block: Lambda | None


class If(Node, frozen=True):
    """`elsif` is an If in `otherwise`."""

    condition: "Expression"
    then: "Block"
    otherwise: "Block | If | None"


class Unless(Node, frozen=True):
    condition: "Expression"
    then: "Block"
    otherwise: "Block | None"


class CaseOption(Node, frozen=True):
    values: "tuple[Expression, ...]"
    body: "Block"


class Case(Node, frozen=True):
    subject: "Expression"
    options: tuple[CaseOption, ...]


class SelectorEntry(Node, frozen=True):
    matching: "Expression"
    value: "Expression"


class Selector(Node, frozen=True):
    """`subject ? { … }`."""

    subject: "Expression"
    entries: tuple[SelectorEntry, ...]


class Block(Node, frozen=True):
    """Statements in order; the value is that of the last one, undef if there is none."""

    statements: "tuple[Expression, ...]"


# Resources


class AttributeOp(Node, frozen=True):
    """`name => value` or `name +> value`; the span is that of the name."""

    name: str
    op: str
    value: "Expression"


class AttributesOp(Node, frozen=True):
    """`* => hash`."""

    value: "Expression"


Operation: TypeAlias = AttributeOp | AttributesOp


class ResourceBody(Node, frozen=True):
    """One `title: attributes`; the title may be an array or `default`; its span is that of the title."""

    title: "Expression"
    operations: tuple[Operation, ...]


class Resource(Node, frozen=True):
    """`type { title: … }`; the type name is an expression that gives a name or a type (`file`, `'file'`, `$t`, `File`)."""

    form: Form
    type_name: "Expression"
    bodies: tuple[ResourceBody, ...]


class ResourceDefaults(Node, frozen=True):
    """`File { mode => … }`."""

    form: Form
    type_ref: "Expression"
    operations: tuple[Operation, ...]


class ResourceOverride(Node, frozen=True):
    """`File['/x'] { mode => … }`."""

    form: Form
    resources: "Expression"
    operations: tuple[Operation, ...]


class Collector(Node, frozen=True):
    """`File <| query |>` (virtual) or `File <<| query |>>` (exported).

    The query is an ordinary expression of `==`, `!=`, `and`, `or` and parentheses; None collects everything.
    """

    form: Form
    type_expr: "Expression"
    query: "Expression | None"
    operations: tuple[Operation, ...]


# Definitions


class HostClassDefinition(Node, frozen=True):
    name: str
    parameters: tuple[Parameter, ...]
    parent: str | None
    body: Block


class ResourceTypeDefinition(Node, frozen=True):
    """`define`."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block


class NodeDefinition(Node, frozen=True):
    """Matches are LiteralString, ConcatenatedString, LiteralRegexp or LiteralDefault; dotted names are LiteralString."""

    matches: "tuple[Expression, ...]"
    parent: "Expression | None"
    body: Block


class FunctionDefinition(Node, frozen=True):
    name: str
    parameters: tuple[Parameter, ...]
    return_type: "Expression | None"
    body: Block


class PlanDefinition(Node, frozen=True):
    """A Bolt plan: only its name is kept, since plans in Puppet's language are not supported."""

    name: str


class TypeAliasDefinition(Node, frozen=True):
    """`type Name = expression`."""

    name: str
    type_expr: "Expression"


class TypeDefinition(Node, frozen=True):
    """`type Name inherits Parent { … }`, reserved in Puppet and never evaluated."""

    name: str
    parent: str | None


class TypeMapping(Node, frozen=True):
    """`type Runtime[…] = expression`."""

    type_expr: "Expression"
    mapping: "Expression"


Definition: TypeAlias = (
    HostClassDefinition
    | ResourceTypeDefinition
    | NodeDefinition
    | FunctionDefinition
    | PlanDefinition
    | TypeAliasDefinition
    | TypeDefinition
    | TypeMapping
)


# EPP


class RenderString(Node, frozen=True):
    """Text of a template, put out as it is."""

    value: str


class RenderExpr(Node, frozen=True):
    """`<%= expression %>`."""

    expression: "Expression"


class EppExpression(Node, frozen=True):
    """A template; `parameters` is None if it declares none, which lets it see the caller's variables."""

    parameters: tuple[Parameter, ...] | None
    body: Block


# Any node may stand where an expression is expected; what may not is refused by the checker, with a better word.
Expression: TypeAlias = Node


class Suspicion(Node, frozen=True):
    """What Puppet warns of while it reads the text."""

    message: str


class Program(Node, frozen=True):
    """A whole file. `definitions` are all of it in the order of the text, nested ones too; they stand in `body` as well."""

    source: Source
    body: Block | EppExpression
    definitions: tuple[Definition, ...]
    warnings: tuple[Suspicion, ...]
