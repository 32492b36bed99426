"""Closures of calls, blocks and the definitions of methods and classes."""

from typing import Any

from precast.base.errors import PrecastError
from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.closures import CALL_ERRORS, Bind, Closure, ClosureBuilder
from precast.lang.ruby.evaluation.frames import Frame, LocalScope
from precast.lang.ruby.evaluation.methods import Binder, UserMethod, arity_of
from precast.lang.ruby.execution import Jump
from precast.lang.ruby.methods.constants import find_constant
from precast.lang.ruby.methods.dispatch import call_method, call_on_self, call_super, to_proc
from precast.lang.ruby.objects import Constant, Proc, RubyClass
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.nodes import Node, Parameter
from precast.lang.ruby.values import Symbol

# Methods that change a string in place, besides those whose names end in `!`.
_CHANGES = frozenset(("<<", "concat", "replace", "insert", "prepend", "clear", "[]="))
# Nodes to which a string that a method changes in place can be assigned.
_STORABLE = (nodes.Name, nodes.Ivar, nodes.Global, nodes.Const)


class Calls(ClosureBuilder):
    """The part of the compiler for calls and for what can be called."""

    def _call(self, node: nodes.Call) -> Closure:
        if node.name == "raise" and node.receiver is None:
            return self._plain_call(node)
        return self._plain_call(node) if node.receiver is None else self._method_call(node)

    def _plain_call(self, node: nodes.Call) -> Closure:
        args, name = self.compile_items(node.args), node.name
        block = None if node.block is None else self._block_argument(node.block)

        def run(frame: Frame) -> Any:
            if block is None:
                return call_on_self(frame, name, args(frame), None)
            given = args(frame)
            return self._with_block(block(frame), lambda proc: call_on_self(frame, name, given, proc))

        return self.with_position(node, run)

    def _method_call(self, node: nodes.Call) -> Closure:
        assert node.receiver is not None
        receiver, args, name, is_safe = (
            self.compile(node.receiver),
            self.compile_items(node.args),
            node.name,
            node.is_safe,
        )
        block = None if node.block is None else self._block_argument(node.block)
        store = self.compile_store(node.receiver) if self._may_change(node.receiver, name) else None

        def run(frame: Frame) -> Any:
            try:
                value = receiver(frame)
                if is_safe and value is None:
                    return None
                if store is not None and isinstance(value, str):
                    proc = None if block is None else block(frame)
                    return _change_string(frame, value, name, args(frame), proc, store)
                if block is None:
                    return call_method(frame.execution, value, name, args(frame), None)
                given = args(frame)
                return self._with_block(
                    block(frame), lambda proc: call_method(frame.execution, value, name, given, proc)
                )
            except PrecastError as error:
                if error.span is None:
                    error.source, error.span = self.source, node.span
                raise
            except CALL_ERRORS as error:
                raise self.bad_call(node, error) from error

        return run

    def _may_change(self, receiver: Node, name: str) -> bool:
        """Return whether a call may change a string that a variable or an element of a collection holds."""
        if name not in _CHANGES and name[-1] != "!":
            return False
        if isinstance(receiver, nodes.Name):
            return self.scope.find(receiver.name) is not None
        return _is_storable(receiver)

    @staticmethod
    def _with_block(proc: Proc | None, call: Any) -> Any:
        """Call with a block; `break` in the block ends the call."""
        try:
            return call(proc)
        except Jump as jump:
            if jump.kind == "break" and jump.tag is proc:
                return jump.value
            raise

    def _block_argument(self, node: Node) -> Closure:
        """Return the closure of a block, or of the value that `&` passes as one."""
        if isinstance(node, nodes.Block):
            return self._block(node)
        if isinstance(node, nodes.Name) and node.name == "&":
            return lambda frame: frame.home.block
        closure = self.compile(node)
        return lambda frame: to_proc(frame.execution, closure(frame))

    def _block(self, node: nodes.Block) -> Closure:
        outer, loop, self.in_loop = self.scope, self.in_loop, False
        self.scope = scope = LocalScope(outer)
        binder = self._binder(node.parameters)
        body = self.compile(node.body)
        self.scope, self.in_loop = outer, loop
        bind = binder.bind_method if node.is_lambda else binder.bind_block
        arity, is_lambda = arity_of(node.parameters), node.is_lambda
        single = binder.is_simple and len(node.parameters) == 1 and not is_lambda
        place = scope.names.get(node.parameters[0].name, 0) if single else 0

        def make(frame: Frame) -> Proc:
            def call(*args: Any) -> Any:
                inner = frame.inner(scope, proc)
                if single:
                    inner.slots[place] = args[0] if args else None
                else:
                    bind(inner, args, None)
                return finish(inner)

            def call_as(this: Any, definee: RubyClass | None, args: tuple[Any, ...], block: Proc | None = None) -> Any:
                inner = frame.inner(scope, proc)
                inner.this = this
                inner.definee = definee if definee is not None else inner.definee
                bind(inner, args, block)
                return finish(inner)

            def finish(inner: Frame) -> Any:
                try:
                    return body(inner)
                except Jump as jump:
                    if (jump.kind == "next" and jump.tag is proc) or (
                        is_lambda and jump.kind in ("return", "break") and jump.lambda_tag is proc
                    ):
                        return jump.value
                    raise

            proc = Proc(arity, call, call_as, is_lambda)
            return proc

        return make

    def _method_definition(self, node: nodes.MethodDefinition) -> Closure:
        outer, loop, self.in_loop = self.scope, self.in_loop, False
        self.scope = scope = LocalScope()
        binder = self._binder(node.parameters)
        body = self.compile(_without_last_return(node.body))
        self.scope, self.in_loop = outer, loop
        name, arity, bind = node.name, arity_of(node.parameters), binder.bind_method

        def make(frame: Frame) -> Symbol:
            owner = frame.definee
            method = UserMethod(name, scope, bind, body, arity, owner)
            method.modules = frame.modules
            if node.is_of_self and isinstance(frame.this, RubyClass):
                frame.this.own_methods[name] = method
            elif owner is None:
                frame.execution.methods[name] = method
            elif owner.is_singleton_open:
                owner.own_methods[name] = method
            else:
                owner.methods[name] = method
            return Symbol(name)

        return make

    def _class_definition(self, node: nodes.ClassDefinition) -> Closure:
        outer, loop, self.in_loop = self.scope, self.in_loop, False
        self.scope = scope = LocalScope()
        parent = None if node.parent is None else self.compile(node.parent)
        body = self.compile(node.body)
        self.scope, self.in_loop = outer, loop

        def run(frame: Frame) -> Any:
            if not node.name:
                return _open_singleton(frame, scope, body)
            opened = _class_named(frame, node, None if parent is None else parent(frame))
            inner = Frame(frame.execution, scope, opened, frame.home)
            inner.definee = opened if isinstance(opened, RubyClass) else frame.definee
            inner.modules = (*frame.modules, opened) if isinstance(opened, RubyClass) else frame.modules
            return body(inner)

        return self.with_position(node, run)

    def _yield(self, node: nodes.Yield) -> Closure:
        args = self.compile_items(node.args)

        def run(frame: Frame) -> Any:
            return frame.execution.yield_to(frame.home.block, *args(frame))

        return self.with_position(node, run)

    def _super(self, node: nodes.Super) -> Closure:
        args = None if node.args is None else self.compile_items(node.args)

        def run(frame: Frame) -> Any:
            home = frame.home
            if home.method is None:
                raise issues.NOT_IN_SUBSET.error(construct="super outside of a method")
            given = list(home.args) if args is None else args(frame)
            return call_super(frame.execution, frame.this, home.method, given, home.block)

        return self.with_position(node, run)

    def compile_parameters(self, parameters: tuple[Parameter, ...], is_method: bool = False) -> Bind:
        binder = self._binder(parameters)
        return binder.bind_method if is_method else binder.bind_block

    def _binder(self, parameters: tuple[Parameter, ...]) -> Binder:
        places = [self.scope.add(each.name) if each.name else -1 for each in parameters]
        inner = {
            at: _spreading(self._binder(each.inner).bind_block) for at, each in enumerate(parameters) if each.inner
        }
        defaults = {at: self.compile(each.default) for at, each in enumerate(parameters) if each.default is not None}
        return Binder(parameters, places, defaults, inner)


def _spreading(bind: Bind) -> Bind:
    """Return a function that spreads an array over parameters in parentheses, even over a single one."""
    return lambda frame, args, block: bind(frame, tuple(args[0]), block)


def _is_storable(node: Node) -> bool:
    if isinstance(node, nodes.Call):
        return node.name == "[]" and node.receiver is not None
    return isinstance(node, _STORABLE)


def _change_string(frame: Frame, value: str, name: str, args: list[Any], proc: Proc | None, store: Any) -> Any:
    """Call a method that changes a string in place: strings do not change here, so the variable gets the result."""
    if name[-1] == "!":
        result = call_method(frame.execution, value, name[:-1], args, proc)
        store(frame, result)
        return None if result == value else result
    if name == "[]=":
        result = call_method(frame.execution, value, "with_part", args, proc)
    elif name == "clear":
        result = ""
    else:
        result = call_method(frame.execution, value, name, args, proc)
    store(frame, result)
    return result


def _without_last_return(body: Node) -> Node:
    """Return a body whose last statement is a value instead of a `return` of it, which would cost an exception."""
    match body:
        case nodes.Sequence(statements=statements) if statements:
            return nodes.Sequence(body.span, (*statements[:-1], _without_last_return(statements[-1])))
        case nodes.Jump(kind="return", value=value):
            return nodes.Literal(body.span, None) if value is None else value
        case nodes.If(condition=condition, then=then, otherwise=otherwise):
            last = None if otherwise is None else _without_last_return(otherwise)
            return nodes.If(body.span, condition, _without_last_return(then), last)
        case nodes.Case(subject=subject, whens=whens, otherwise=otherwise):
            options = tuple(nodes.When(when.values, _without_last_return(when.body)) for when in whens)
            return nodes.Case(
                body.span, subject, options, None if otherwise is None else _without_last_return(otherwise)
            )
    return body


def _open_singleton(frame: Frame, scope: LocalScope, body: Closure) -> Any:
    opened = frame.this
    if not isinstance(opened, RubyClass):
        raise issues.NOT_IN_SUBSET.error(construct="class << self outside of a class")
    inner = Frame(frame.execution, scope, opened, frame.home)
    inner.definee, inner.modules = opened, frame.modules
    opened.is_singleton_open = True
    try:
        return body(inner)
    finally:
        opened.is_singleton_open = False


def _class_named(frame: Frame, node: nodes.ClassDefinition, parent: Any) -> RubyClass | Constant:
    """Return the class or module that a definition opens, which is new unless it exists. A built-in module stays what it is."""
    *path, name = node.name.split("::")
    around = frame.this if isinstance(frame.this, Constant) and not frame.modules else None
    if around is not None and frame.execution.is_builtin(f"{around.name}::{node.name}"):
        return Constant(f"{around.name}::{node.name}")  # `module Parser` inside of `module Puppet`
    holder = find_constant(frame, "::".join(path)) if path else None
    known = _known_class(frame, holder, name)
    if known is not None:
        return known
    full = "::".join([*(each.name for each in frame.modules[-1:]), node.name])
    if frame.execution.is_builtin(node.name) and (isinstance(holder, Constant) or not frame.modules):
        if not node.is_module:
            raise issues.NOT_IN_SUBSET.error(construct=f"a definition inside of {node.name}")
        return Constant(node.name)
    if isinstance(holder, Constant):
        full = f"{holder.name}::{name}"
        inside = frame.execution.constants[full] = RubyClass(full, parent, node.is_module)
        return inside
    made = RubyClass(full, parent, node.is_module)
    if isinstance(parent, RubyClass):
        made.members, made.members_by_key = parent.members, parent.members_by_key
    if isinstance(holder, RubyClass):
        holder.constants[name] = made
    elif frame.modules:
        frame.modules[-1].constants[name] = made
    else:
        frame.execution.constants[name] = made
        if around is not None:
            frame.execution.constants[f"{around.name}::{node.name}"] = made
    return made


def _known_class(frame: Frame, holder: Any, name: str) -> RubyClass | None:
    if isinstance(holder, RubyClass):
        known = holder.constants.get(name)
    elif isinstance(holder, Constant):
        known = frame.execution.constants.get(f"{holder.name}::{name}")
    else:
        table = frame.modules[-1].constants if frame.modules else frame.execution.constants
        known = table.get(name)
    return known if isinstance(known, RubyClass) else None
