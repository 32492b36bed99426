"""Evaluates a class or define: makes its frame, binds its parameters, runs its body."""

import contextlib
from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError
from precast.lang.compiler.definitions import Definition
from precast.lang.compiler.resources import Parameter, Resource, reference
from precast.lang.compiler.suggestions import did_you_mean
from precast.lang.compiler.types import known_types
from precast.lang.control_flow import Next, Return
from precast.lang.datatypes import mismatch
from precast.lang.evaluator.lambdas import ParameterCode
from precast.lang.hiera.invocation import Invocation
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Frame, Scope, new_frame

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation


def evaluate_resource(compilation: "Compilation", resource: Resource) -> None:
    """Evaluate a class or define once. Errors about its parameters are placed at its declaration."""
    if resource.is_evaluated:
        return
    resource.is_evaluated = True
    definition = resource.definition
    assert definition is not None
    assert resource.frame is not None
    scope = _scope_of(compilation, resource, definition, resource.frame)
    try:
        _bind(compilation, scope, resource, definition)
    except PrecastError as error:
        if error.span is None:
            error.source, error.span = resource.source, resource.span
        raise
    with contextlib.suppress(Next, Return):
        definition.body(scope)


def _scope_of(compilation: "Compilation", resource: Resource, definition: Definition, declared_in: Frame) -> Scope:
    parent_class = _parent(compilation, definition)
    frame = Frame(definition.name, resource, parent_class or declared_in, definition.module_name)
    frame.parent_class = parent_class
    scope = new_frame(compilation, frame, parent_class.scope if parent_class is not None else open_scope(declared_in))
    resource.own_frame = frame
    if definition.is_class:
        compilation.frames[definition.name] = frame
        compilation.catalog.classes.append(definition.name)
    variables = scope.variables
    variables["title"] = resource.title_value
    name = resource.value("name")
    variables["name"] = resource.title_value if name is None else name
    if definition.module_name:
        variables["module_name"] = definition.module_name
    variables["caller_module_name"] = (parent_class or declared_in).module_name
    return scope


def _parent(compilation: "Compilation", definition: Definition) -> Frame | None:
    """The frame of the inherited class, which is evaluated first."""
    if definition.parent is None:
        return None
    parent = compilation.catalog.resources[reference("class", definition.parent)]
    evaluate_resource(compilation, parent)
    return compilation.frames[definition.parent]


def open_scope(frame: Frame) -> Scope:
    """The scope of the node block or of the top, whichever the frame is in."""
    around: Frame | None = frame
    while around is not None and not around.is_open:
        around = around.declared_in
    assert around is not None
    return around.scope


def _bind(compilation: "Compilation", scope: Scope, resource: Resource, definition: Definition) -> None:
    _check_names(resource, definition)
    from_data = _look_up(compilation, scope, resource, definition) if definition.is_class else ()
    variables = scope.variables
    for parameter in definition.parameters:
        name = parameter.name
        given = resource.parameters.get(name)
        value = None if given is None else given.value
        if value is None:
            value = _default(scope, resource, parameter, given is not None)
            if value is not None:
                resource.set(name, Parameter(value, scope.frame))
        if parameter.is_typed:
            value = _check_type(compilation, scope, resource, parameter, value, is_data=name in from_data)
        variables[name] = value


def _look_up(compilation: "Compilation", scope: Scope, resource: Resource, definition: Definition) -> list[str]:
    """Set the parameters of a class that have no value from Hiera, before any becomes a variable; give the names found.

    An undef in the data leaves the default.
    """
    invocation, names = Invocation(scope), []
    for parameter in definition.parameters:
        given = resource.parameters.get(parameter.name)
        if given is not None and given.value is not None:
            continue
        value = compilation.lookups.find(invocation, f"{definition.name}::{parameter.name}", None)
        if value is not MISSING and not (value is None and parameter.default is not None):
            resource.set(parameter.name, Parameter(value, scope.frame))
            names.append(parameter.name)
    return names


def _default(scope: Scope, resource: Resource, parameter: ParameterCode, is_undef: bool) -> Any:
    """The default of a parameter that neither the declaration nor the data set."""
    if parameter.default is not None:
        return parameter.default(scope)
    if is_undef:
        return None
    raise issues.PARAMETER_MISSING.error(ref=resource.ref, name=parameter.name)


def _check_type(
    compilation: "Compilation", scope: Scope, resource: Resource, parameter: ParameterCode, value: Any, *, is_data: bool
) -> Any:
    wanted = parameter.type_in(scope)
    value = compilation.concrete_for_type(value, wanted)
    if not mismatch.fits_parameter(wanted, value):
        reason = mismatch.describe(f"parameter '{parameter.name}'", wanted, value)
        if is_data:
            key = f"{scope.frame.name}::{parameter.name}"
            raise issues.DATA_MISMATCH.error(ref=resource.ref, reason=reason, key=key)
        raise issues.PARAMETER_MISMATCH.error(ref=resource.ref, reason=reason)
    return value


def _check_names(resource: Resource, definition: Definition) -> None:
    for name in resource.parameters:
        if name not in definition.names and name != "name" and not known_types.is_metaparameter(name):
            raise issues.PARAMETER_UNKNOWN.error(
                ref=resource.ref,
                name=name,
                guess=did_you_mean(name, sorted(definition.names)),
                known=", ".join(sorted(definition.names)) or "none",
            )
