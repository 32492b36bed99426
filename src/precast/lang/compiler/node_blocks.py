"""Evaluates the node block that matches the node, and the classes that an operator assigned to the node."""

from typing import TYPE_CHECKING

from precast.lang.compiler.definitions import node_title
from precast.lang.compiler.resources import Resource
from precast.lang.inputs import ABSENT, Classification, MatchingNodeBlock, TrustedPath
from precast.lang.issues import compiler as issues
from precast.lang.scope import Frame, new_frame
from precast.lang.values.base import from_data

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation


def evaluate_node_block(compilation: "Compilation") -> None:
    """Run the node block that matches the node. Raises if there are blocks and none matches."""
    blocks = compilation.loader.nodes
    if not blocks:
        return
    matchers = tuple(matcher for block in blocks for matcher in block.matchers)
    answer = compilation.inputs.ask(MatchingNodeBlock(matchers))
    if answer is ABSENT:
        raise issues.NO_NODE_BLOCK.error(name=compilation.inputs.ask(TrustedPath(("certname",))))
    index, captures = answer
    block = next(block for block in blocks if matchers[index] in block.matchers)
    title = node_title(matchers[index])
    resource = Resource("node", title, compilation.top.frame, source=block.source, span=block.span)
    compilation.catalog.add(resource)
    compilation.catalog.classes.append(title)
    frame = Frame(title, resource, compilation.top.frame, "", is_open=True)
    scope = new_frame(compilation, frame, compilation.top)
    scope.variables.update(title=title, name=title, module_name="", caller_module_name="")
    scope.matches = tuple(captures) or None
    block.body(scope)


def include_assigned_classes(compilation: "Compilation") -> None:
    """Include the classes that an operator assigned to the node."""
    assigned = compilation.inputs.ask(Classification())["classes"]
    plain = [name.lower() for name, parameters in assigned.items() if not parameters]
    for name, parameters in assigned.items():
        if parameters:
            attributes = [(key, from_data(value), False) for key, value in parameters.items()]
            compilation.catalog.declare(compilation.top, "class", name, attributes, False, False, None, None)
    compilation.catalog.include(compilation.top, plain)
