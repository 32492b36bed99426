"""Resources and what is said about them: declarations, defaults, overrides; definitions do nothing here."""

from collections.abc import Callable, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.compiler.overrides import Attribute
from precast.lang.compiler.resources import flatten
from precast.lang.evaluator.arithmetic import a
from precast.lang.evaluator.translation import Code, Translator, place, translates, unwrap
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.syntax import ast
from precast.lang.values.core import DEFAULT, Hash, to_string

AttributesCode = Callable[[Scope], list[Attribute]]


@translates(
    ast.HostClassDefinition,
    ast.ResourceTypeDefinition,
    ast.NodeDefinition,
    ast.FunctionDefinition,
    ast.TypeAliasDefinition,
    ast.TypeMapping,
)
def definition(to: Translator, node: ast.Node) -> Code:
    return to.constant(None)


@translates(ast.PlanDefinition, ast.TypeDefinition)
def unsupported(to: Translator, node: ast.Node) -> Code:
    to.fail(issues.NOT_SUPPORTED, node, what="plan" if isinstance(node, ast.PlanDefinition) else "type definition")


def attributes(to: Translator, operations: Sequence[ast.Operation]) -> AttributesCode:
    """Code for `name => value`, `name +> value` and `* => hash`."""
    codes = tuple(
        (operation.name if isinstance(operation, ast.AttributeOp) else None, to.code(operation.value), operation)
        for operation in operations
    )

    def code(scope: Scope) -> list[Attribute]:
        found: list[Attribute] = []
        for name, value, operation in codes:
            given = value(scope)
            if name is not None:
                found.append((name, given, isinstance(operation, ast.AttributeOp) and operation.op == "+>"))
                continue
            given = scope.run.concrete_top(given)
            if not isinstance(given, Hash):
                to.fail(issues.SPLAT_NEEDS_HASH, operation, got=a(given))
            for key, each in given.items():
                attribute = scope.run.concrete(key)
                if not isinstance(attribute, str):
                    to.fail(issues.ATTRIBUTE_NAME, operation, got=a(attribute))
                found.append((attribute, each, False))
        return found

    return code


def unique(to: Translator, node: ast.Node, given: list[Attribute]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    for attribute in given:
        if attribute[0] in found:
            to.fail(issues.ATTRIBUTE_TWICE, node, name=attribute[0])
        found[attribute[0]] = attribute
    return found


@translates(ast.Resource)
def resource(to: Translator, node: ast.Resource) -> Code:
    type_name = _type_name(to, node.type_name)
    bodies = tuple(
        (to.code(body.title), to.known(body.title), attributes(to, body.operations), body) for body in node.bodies
    )
    exported, virtual = node.form == "exported", node.form != "regular"
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        name = type_name(scope)
        run = scope.run
        if exported:
            run.at(source, span).complain(issues.EXPORT_IGNORED, always_warn=True)
        seen: set[Any] = set()
        evaluated = []
        defaults: dict[str, Attribute] = {}
        for title, known, operations, body in bodies:
            titles = _titles(to, body, known(scope, title(scope)), seen)
            given = unique(to, body, operations(scope))
            if DEFAULT in titles:
                defaults = given
                titles = [each for each in titles if each is not DEFAULT]
            evaluated.append((titles, given, body))
        made: list[Any] = []
        for titles, given, body in evaluated:
            merged = {**defaults, **given} if defaults else given
            for each in titles:
                try:
                    made.append(
                        run.catalog.declare(scope, name, each, merged.values(), virtual, exported, source, body.span)
                    )
                except PrecastError as error:
                    raise place(error, source, body.span) from None
        return tuple(made)

    return code


def _titles(to: Translator, body: ast.ResourceBody, given: Any, seen: set[Any]) -> list[Any]:
    """The titles of a body, each a string or `default`, none twice in the expression."""
    if given is None:
        to.fail(issues.NO_TITLE, body)
    titles = flatten(given)
    for index, title in enumerate(titles):
        if title is None:
            to.fail(issues.NO_TITLE_AT, body, index=index)
        if not isinstance(title, str) and title is not DEFAULT:
            to.fail(issues.TITLE_NOT_STRING, body, index=index, got=datatypes.infer(title).generalized())
        if title == "":
            to.fail(issues.EMPTY_TITLE, body, index=index)
        if title in seen:
            to.fail(issues.TITLE_TWICE, body, title=to_string(title))
        seen.add(title)
    return titles


def _type_name(to: Translator, node: ast.Node) -> Callable[[Scope], str]:
    """The name of the type: a bare word, or a type without a title."""
    inner = unwrap(node)
    if isinstance(inner, ast.QualifiedName):
        name = inner.value.removeprefix("::")
        return lambda scope: name
    code = to.code(inner)
    is_type = isinstance(inner, ast.QualifiedReference) or (
        isinstance(inner, ast.Access) and isinstance(unwrap(inner.left), ast.QualifiedReference)
    )

    def evaluated(scope: Scope) -> str:
        found = code(scope)
        if is_type:
            if isinstance(found, datatypes.ClassType) and found.class_name is None:
                return "class"
            if isinstance(found, datatypes.ResourceType) and found.title is None and found.type_name is not None:
                return found.type_name.lower()
        to.fail(issues.NO_RESOURCE_TYPE, node, got=datatypes.infer(found).generalized())
        return None

    return evaluated


@translates(ast.ResourceDefaults)
def resource_defaults(to: Translator, node: ast.ResourceDefaults) -> Code:
    reference = to.code(node.type_ref)
    operations = attributes(to, node.operations)
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        found = reference(scope)
        if scope.run.type_names.is_defining:
            return _object_definition(found, operations(scope))
        if isinstance(found, datatypes.ClassType) and found.class_name is None:
            name = "class"
        elif isinstance(found, datatypes.ResourceType) and found.title is None and found.type_name is not None:
            name = found.type_name.lower()
        else:
            to.fail(issues.NO_RESOURCE_TYPE, node.type_ref, got=datatypes.infer(found).generalized())
        try:
            scope.run.catalog.set_defaults(scope, name, unique(to, node, operations(scope)).values())
        except PrecastError as error:
            raise place(error, source, span) from None
        return found

    return code


def _object_definition(parent: Any, given: list[Attribute]) -> Hash:
    """`Parent { attributes => … }` in the definition of a type: the description of an Object type."""
    described = Hash.of((name, value) for name, value, _ in given)
    if isinstance(parent, datatypes.ObjectType) and not parent.label:
        return described
    return Hash.of((("parent", parent), *((name, value) for name, value in described.items() if name != "parent")))


@translates(ast.ResourceOverride)
def resource_override(to: Translator, node: ast.ResourceOverride) -> Code:
    references = to.code(node.resources)
    operations = attributes(to, node.operations)
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        found = references(scope)
        given = list(unique(to, node, operations(scope)).values())
        for each in flatten(found):
            if not isinstance(each, datatypes.ResourceType) or each.title is None:
                to.fail(issues.OVERRIDE_NEEDS_RESOURCE, node, got=_shown(each))
            try:
                scope.run.catalog.override(scope, each, given, source, span)
            except PrecastError as error:
                raise place(error, source, span) from None
        return found

    return code


def _shown(value: Any) -> str:
    return f"{value}-Type" if isinstance(value, datatypes.Type) else a(value)
