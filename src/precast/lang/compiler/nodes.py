"""The node block that matches, and the classes an operator gave the node."""

from typing import TYPE_CHECKING

from precast.lang.compiler.definitions import node_title
from precast.lang.compiler.resources import Resource
from precast.lang.inputs import ABSENT, Classification, NodeBlock, TrustedPath
from precast.lang.issues import compiler as issues
from precast.lang.scope import Frame, new_frame
from precast.lang.values.core import from_data

if TYPE_CHECKING:
    from precast.lang.compiler.run import Run


def evaluate_node(run: "Run") -> None:
    """Runs the node block that matches, then includes the classes given. Raises where there are blocks and none matches."""
    blocks = run.loader.nodes
    if blocks:
        matchers = tuple(matcher for block in blocks for matcher in block.matchers)
        answer = run.inputs.ask(NodeBlock(matchers))
        if answer is ABSENT:
            raise issues.NO_NODE_BLOCK.error(name=run.inputs.ask(TrustedPath(("certname",))))
        index, captures = answer
        block = next(each for each in blocks if matchers[index] in each.matchers)
        title = node_title(matchers[index])
        resource = Resource("node", title, run.top.frame, source=block.source, span=block.span)
        run.catalog.add(resource)
        run.catalog.classes.append(title)
        frame = Frame(title, resource, run.top.frame, "", is_open=True)
        scope = new_frame(run, frame, run.top)
        scope.variables.update(title=title, name=title)
        scope.matches = tuple(captures) or None
        block.body(scope)
    _include_given(run)


def _include_given(run: "Run") -> None:
    given = run.inputs.ask(Classification())["classes"]
    plain = [name.lower() for name, parameters in given.items() if not parameters]
    for name, parameters in given.items():
        if parameters:
            attributes = [(key, from_data(value), False) for key, value in parameters.items()]
            run.catalog.declare(run.top, "class", name, attributes, False, False, None, None)
    run.catalog.include(run.top, plain)
