"""Translates resource declarations, defaults and overrides. Definitions translate to nothing: the loader handles them."""

from collections.abc import Callable, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.compiler.overrides import Attribute
from precast.lang.compiler.resources import flatten
from precast.lang.evaluator.arithmetic import kind_with_article
from precast.lang.evaluator.translation import Code, Translator, place, translates, unwrap
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.syntax import ast
from precast.lang.values.base import DEFAULT, Hash, to_string

AttributesCode = Callable[[Scope], list[Attribute]]


@translates(
    ast.HostClassDefinition,
    ast.ResourceTypeDefinition,
    ast.NodeDefinition,
    ast.FunctionDefinition,
    ast.TypeAliasDefinition,
    ast.TypeMapping,
)
def translate_definition(to: Translator, node: ast.Node) -> Code:
    return to.constant(None)


@translates(ast.PlanDefinition, ast.TypeDefinition)
def translate_unsupported(to: Translator, node: ast.Node) -> Code:
    to.fail(issues.NOT_SUPPORTED, node, what="plan" if isinstance(node, ast.PlanDefinition) else "type definition")


def attributes(to: Translator, operations: Sequence[ast.Operation]) -> AttributesCode:
    """Code for `name => value`, `name +> value` and `* => hash`."""
    codes = tuple(
        (operation.name if isinstance(operation, ast.AttributeOp) else None, to.code(operation.value), operation)
        for operation in operations
    )

    def code(scope: Scope) -> list[Attribute]:
        evaluated: list[Attribute] = []
        for name, value, operation in codes:
            given = value(scope)
            if name is not None:
                evaluated.append((name, given, isinstance(operation, ast.AttributeOp) and operation.op == "+>"))
                continue
            given = scope.compilation.concrete_top(given)
            if not isinstance(given, Hash):
                to.fail(issues.SPLAT_NEEDS_HASH, operation, got=kind_with_article(given))
            for key, item in given.items():
                attribute = scope.compilation.concrete(key)
                if not isinstance(attribute, str):
                    to.fail(issues.ATTRIBUTE_NAME, operation, got=kind_with_article(attribute))
                evaluated.append((attribute, item, False))
        return evaluated

    return code


def unique(to: Translator, node: ast.Node, given: list[Attribute]) -> dict[str, Attribute]:
    """The attributes by name. Raises if a name occurs twice."""
    by_name: dict[str, Attribute] = {}
    for attribute in given:
        if attribute[0] in by_name:
            to.fail(issues.ATTRIBUTE_TWICE, node, name=attribute[0])
        by_name[attribute[0]] = attribute
    return by_name


@translates(ast.Resource)
def translate_resource(to: Translator, node: ast.Resource) -> Code:
    type_name = _type_name(to, node.type_name)
    bodies = tuple(
        (to.code(body.title), to.concrete_for(body.title), attributes(to, body.operations), body)
        for body in node.bodies
    )
    exported, virtual = node.form == "exported", node.form != "regular"
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        name = type_name(scope)
        compilation = scope.compilation
        if exported:
            compilation.complain_without_exports(issues.EXPORT_IGNORED, source, span)
        seen: set[Any] = set()
        evaluated = []
        defaults: dict[str, Attribute] = {}
        for title, concrete, operations, body in bodies:
            titles = _titles(to, body, concrete(scope, title(scope)), seen)
            given = unique(to, body, operations(scope))
            if DEFAULT in titles:
                defaults = given
                titles = [title for title in titles if title is not DEFAULT]
            evaluated.append((titles, given, body))
        references: list[Any] = []
        for titles, given, body in evaluated:
            merged = {**defaults, **given} if defaults else given
            for resource_title in titles:
                try:
                    references.append(
                        compilation.catalog.declare(
                            scope, name, resource_title, merged.values(), virtual, exported, source, body.span
                        )
                    )
                except PrecastError as error:
                    raise place(error, source, body.span) from None
        return tuple(references)

    return code


def _titles(to: Translator, body: ast.ResourceBody, given: Any, seen: set[Any]) -> list[Any]:
    """The titles of a body: each is a string or `default`, and unique in the expression."""
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
        value = code(scope)
        if is_type:
            if isinstance(value, datatypes.ClassType) and value.class_name is None:
                return "class"
            if isinstance(value, datatypes.ResourceType) and value.title is None and value.type_name is not None:
                return value.type_name.lower()
        to.fail(issues.NO_RESOURCE_TYPE, node, got=datatypes.infer(value).generalized())
        return None

    return evaluated


@translates(ast.ResourceDefaults)
def translate_resource_defaults(to: Translator, node: ast.ResourceDefaults) -> Code:
    reference = to.code(node.type_ref)
    operations = attributes(to, node.operations)
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        type_ref = reference(scope)
        if scope.compilation.type_names.is_defining:
            return _object_definition(type_ref, operations(scope))
        if isinstance(type_ref, datatypes.ClassType) and type_ref.class_name is None:
            name = "class"
        elif isinstance(type_ref, datatypes.ResourceType) and type_ref.title is None and type_ref.type_name is not None:
            name = type_ref.type_name.lower()
        else:
            to.fail(issues.NO_RESOURCE_TYPE, node.type_ref, got=datatypes.infer(type_ref).generalized())
        try:
            scope.compilation.catalog.set_defaults(scope, name, unique(to, node, operations(scope)).values())
        except PrecastError as error:
            raise place(error, source, span) from None
        return type_ref

    return code


def _object_definition(parent: Any, given: list[Attribute]) -> Hash:
    """`Parent { attributes => … }` in a type definition describes an Object type."""
    described = Hash.of((name, value) for name, value, _ in given)
    if isinstance(parent, datatypes.ObjectType) and not parent.label:
        return described
    return Hash.of((("parent", parent), *((name, value) for name, value in described.items() if name != "parent")))


@translates(ast.ResourceOverride)
def translate_resource_override(to: Translator, node: ast.ResourceOverride) -> Code:
    references = to.code(node.resources)
    operations = attributes(to, node.operations)
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        overridden = references(scope)
        given = list(unique(to, node, operations(scope)).values())
        for resource_ref in flatten(overridden):
            if not isinstance(resource_ref, datatypes.ResourceType) or resource_ref.title is None:
                to.fail(issues.OVERRIDE_NEEDS_RESOURCE, node, got=_shown(resource_ref))
            try:
                scope.compilation.catalog.override(scope, resource_ref, given, source, span)
            except PrecastError as error:
                raise place(error, source, span) from None
        return overridden

    return code


def _shown(value: Any) -> str:
    return f"{value}-Type" if isinstance(value, datatypes.Type) else kind_with_article(value)
