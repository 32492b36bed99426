"""The closure compiler: one closure for each node of a tree, which takes a frame and returns a value."""

from collections.abc import Callable
from typing import Any

from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.assignments import Assignments
from precast.lang.ruby.evaluation.calls import Calls
from precast.lang.ruby.evaluation.closures import Closure
from precast.lang.ruby.evaluation.control import Control
from precast.lang.ruby.evaluation.literals import Literals
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node


class ClosureCompiler(Literals, Assignments, Calls, Control):
    """Compiles the tree of one source."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._compile_by_type: dict[type, Callable[[Any], Closure]] = {
            nodes.Literal: self._literal,
            nodes.Text: self._text,
            nodes.Output: self._output,
            nodes.Interpolation: self._interpolation,
            nodes.ArrayLiteral: self._array,
            nodes.HashLiteral: self._hash,
            nodes.RangeLiteral: self._range,
            nodes.Name: self._name,
            nodes.Ivar: self._ivar,
            nodes.Global: self._global,
            nodes.Const: self._constant,
            nodes.Block: self._block,
            nodes.MethodDefinition: self._method_definition,
            nodes.Call: self._call,
            nodes.And: self._and,
            nodes.Or: self._or,
            nodes.Not: self._not,
            nodes.Defined: self._defined,
            nodes.If: self._if,
            nodes.While: self._while,
            nodes.For: self._for,
            nodes.Case: self._case,
            nodes.Assign: self._assign,
            nodes.AssignMany: self._assign_many,
            nodes.Jump: self._jump,
            nodes.Begin: self._begin,
            nodes.Self: self._self,
            nodes.ClassDefinition: self._class_definition,
            nodes.Yield: self._yield,
            nodes.Super: self._super,
            nodes.Sequence: self._sequence,
        }

    def compile(self, node: Node) -> Closure:
        """Return the closure of a node. Raises InputError LANG-901 for a node that is only allowed inside others."""
        compile_node = self._compile_by_type.get(type(node))
        if compile_node is None:
            raise issues.NOT_IN_SUBSET.error(self.source, node.span, construct="this construct")
        return compile_node(node)
