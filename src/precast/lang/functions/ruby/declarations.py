"""What a Ruby file declares as functions: `Puppet::Functions.create_function` with its dispatches, and the older `newfunction`."""

from typing import Any

from precast.lang.functions.signatures import Parameter, Signature
from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, of_class, plain_text, to_str
from precast.lang.ruby.objects import Constant, Proc, RubyClass
from precast.lang.ruby.values import Instance, Symbol

Args = list[Any]
INTERNAL = "Puppet::Functions::InternalFunction"


class RubyDispatch(Instance):
    """One `dispatch`: the method that runs, and its signature."""

    kind_name = "Dispatch"

    def __init__(self, method_name: str) -> None:
        self.method_name = method_name
        self.parameters: list[Parameter] = []
        self.block_text = ""
        self.block_optional = False
        self.return_text = ""
        self.injected: list[tuple[int, str]] = []  # where the scope or a cache goes among the arguments
        self.is_mismatch = False

    def signature(self) -> Signature:
        made = Signature("")
        made.parameters = list(self.parameters)
        made.block_text, made.block_optional, made.return_text = self.block_text, self.block_optional, self.return_text
        made.min_args = sum(1 for each in self.parameters if not each.optional)
        made.max_args = None if any(each.repeated for each in self.parameters) else len(self.parameters)
        return made


class FunctionClass(RubyClass):
    """The class that `create_function` makes."""

    def __init__(self, name: str, parent: Constant) -> None:
        super().__init__(name, parent)
        self.dispatches: list[RubyDispatch] = []
        self.aliases: dict[str, str] = {}  # texts of local types by their names
        self.select: Any = None  # calls the method of the dispatch that accepts the arguments


class LegacyFunction:
    """A function of the older kind: a block that gets the arguments as one array."""

    def __init__(self, name: str, block: Proc, *, is_rvalue: bool, arity: int) -> None:
        self.name = name
        self.block = block
        self.is_rvalue = is_rvalue
        self.arity = arity


def declared(execution: Execution) -> dict[str, Any]:
    """Return the functions that a file has declared so far, by their names."""
    functions: dict[str, Any] = execution.globals.setdefault("\0functions", {})
    return functions


@of_class("Puppet::Functions", "create_function", "create_loaded_function")
def _create(execution: Execution, this: Constant, args: Args, block: Proc | None) -> FunctionClass:
    name = plain_text(execution, args[0])
    parent = args[1] if len(args) > 1 and isinstance(args[1], Constant) else Constant("Puppet::Functions::Function")
    made = FunctionClass(name, parent)
    if block is None or block.call_as is None:
        raise ValueError("create_function needs a block")
    block.call_as(made, made, (made,))
    declared(execution)[name] = made
    return made


@of_class("Puppet::Parser::Functions", "newfunction")
def _newfunction(execution: Execution, this: Constant, args: Args, block: Proc | None) -> None:
    name = plain_text(execution, args[0])
    options = args[1] if len(args) > 1 and isinstance(args[1], dict) else {}
    kind, arity = options.get(Symbol("type")), options.get(Symbol("arity"), -1)
    if block is None:
        raise ValueError("newfunction needs a block")
    is_rvalue = isinstance(kind, Symbol) and kind.name == "rvalue"
    declared(execution)[name] = LegacyFunction(name, block, is_rvalue=is_rvalue, arity=int(arity))


@method("Class of code", "dispatch")
def _dispatch(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    made = RubyDispatch(plain_text(execution, args[0]))
    if not isinstance(this, FunctionClass) or block is None or block.call_as is None:
        raise issues.NOT_IN_SUBSET.error(construct="dispatch outside of create_function")
    block.call_as(made, None, (made,))
    this.dispatches.append(made)


@method("Class of code", "argument_mismatch")
def _argument_mismatch(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    _dispatch(execution, this, args, block)
    assert isinstance(this, FunctionClass)
    this.dispatches[-1].is_mismatch = True


@method("Class of code", "local_types")
def _local_types(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    if not isinstance(this, FunctionClass) or block is None or block.call_as is None:
        raise issues.NOT_IN_SUBSET.error(construct="local_types outside of create_function")
    block.call_as(LocalTypes(this), None, ())


class RubyDispatcher(Instance):
    """The value of `self.class.dispatcher` in functions that replace `call`."""

    kind_name = "Dispatcher"

    def __init__(self, function: FunctionClass) -> None:
        self.function = function


@method("Class of code", "dispatcher")
def _dispatcher(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> RubyDispatcher:
    assert isinstance(this, FunctionClass)
    return RubyDispatcher(this)


@method("Dispatcher", "dispatch")
def _run_dispatch(execution: Execution, this: RubyDispatcher, args: Args, block: Proc | None) -> Any:
    return this.function.select(args[1], args[2], block)


class LocalTypes(Instance):
    """The value of self inside of `local_types`."""

    kind_name = "LocalTypes"

    def __init__(self, function: FunctionClass) -> None:
        self.function = function


@method("LocalTypes", "type")
def _type(execution: Execution, this: LocalTypes, args: Args, block: Proc | None) -> None:
    name, _, text = to_str(args[0]).partition("=")
    this.function.aliases[name.strip()] = text.strip()


def _declare_parameters() -> None:
    kinds = {
        "param": (False, False), "required_param": (False, False), "optional_param": (True, False),
        "repeated_param": (True, True), "optional_repeated_param": (True, True), "required_repeated_param": (False, True),
    }  # fmt: skip
    for name, (optional, repeated) in kinds.items():

        def run(
            execution: Execution,
            this: RubyDispatch,
            args: Args,
            block: Proc | None,
            optional: bool = optional,
            repeated: bool = repeated,
        ) -> None:
            this.parameters.append(Parameter(to_str(args[0]), plain_text(execution, args[1]), optional, repeated))

        method("Dispatch", name)(run)
    for name, is_optional in (("block_param", False), ("required_block_param", False), ("optional_block_param", True)):

        def run_block(
            execution: Execution, this: RubyDispatch, args: Args, block: Proc | None, is_optional: bool = is_optional
        ) -> None:
            this.block_text = args[0] if len(args) > 0 and isinstance(args[0], str) else "Callable"
            this.block_optional = is_optional

        method("Dispatch", name)(run_block)


_declare_parameters()


@method("Dispatch", "return_type")
def _return_type(execution: Execution, this: RubyDispatch, args: Args, block: Proc | None) -> None:
    this.return_text = to_str(args[0])


@method("Dispatch", "scope_param")
def _scope_param(execution: Execution, this: RubyDispatch, args: Args, block: Proc | None) -> None:
    this.injected.append((len(this.parameters) + len(this.injected), "scope"))


@method("Dispatch", "cache_param")
def _cache_param(execution: Execution, this: RubyDispatch, args: Args, block: Proc | None) -> None:
    this.injected.append((len(this.parameters) + len(this.injected), "cache"))
