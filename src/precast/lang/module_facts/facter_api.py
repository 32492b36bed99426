"""`Facter` as modules use it: `add`, `value`, the words of a resolution's block, messages."""

from typing import Any, Final

from precast.lang.issues import erb as issues
from precast.lang.module_facts.collection import CustomFact
from precast.lang.module_facts.resolutions import Aggregate, Confine, Resolution
from precast.lang.module_facts.tables import fact_class
from precast.lang.module_facts.values import confine_values, to_ruby
from precast.lang.ruby.errors import raised
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, plain_text
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.values import Instance, Symbol, inspect, plain_key

Args = list[Any]
# The version of Facter whose rules these facts follow; code compares with it.
FACTER_VERSION: Final = "4.3.0"


class RubyFact(Instance):
    """What `Facter.fact` returns."""

    kind_name = "Facter::Util::Fact"

    def __init__(self, name: str) -> None:
        self.name = name


def _options(execution: Execution, args: Args) -> dict[str, Any]:
    """The options of a call, by name: its last argument, if that is a hash."""
    given = args[-1] if args and isinstance(args[-1], dict) else {}
    options = {plain_text(execution, plain_key(key)): value for key, value in given.items()}
    if isinstance(kind := options.get("type"), Symbol):
        options["type"] = kind.name
    return options


@fact_class("Facter", "add")
def _add(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyFact:
    fact = execution.facts.add(plain_text(execution, args[0]), _options(execution, args[1:]), block)
    return RubyFact(fact.name)


@fact_class("Facter", "define_fact")
def _define_fact(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyFact:
    made = RubyFact(execution.facts.fact_named(plain_text(execution, args[0])).name)
    if block is not None and block.call_as is not None:
        block.call_as(made, None, (made,))
    return made


@method("Facter::Util::Fact", "define_resolution", "add")
def _define_resolution(execution: Any, this: RubyFact, args: Args, block: Proc | None) -> Any:
    fact: CustomFact = execution.facts.fact_named(this.name)
    name = plain_text(execution, args[0]) if args and not isinstance(args[0], dict) else None
    return execution.facts.add_resolution(fact, name, _options(execution, args), block)


@method("Facter::Util::Fact", "value")
def _fact_value(execution: Any, this: RubyFact, args: Args, block: Proc | None) -> Any:
    return execution.facts.value(this.name)


@method("Facter::Util::Fact", "name")
def _fact_name(execution: Any, this: RubyFact, args: Args, block: Proc | None) -> Any:
    return Symbol(this.name)


@fact_class("Facter", "value")
def _value(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return execution.facts.value(plain_text(execution, args[0]))


@fact_class("Facter", "fact", "[]")
def _fact(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyFact | None:
    name = plain_text(execution, args[0])
    return RubyFact(name) if execution.facts.has(name) else None


@fact_class("Facter", "to_hash", "collection", "list", "each")
def _all_facts(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="all facts at once; ask for each with Facter.value")


@fact_class("Facter", "core_value")
def _core_value(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return to_ruby(execution.facts.machine.get(plain_text(execution, args[0]).lower()))


@fact_class("Facter", "version")
def _version(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    return FACTER_VERSION


@fact_class(
    "Facter",
    "loadfacts",
    "search",
    "search_external",
    "flush",
    "clear",
    "reset",
    "clear_messages",
    "debugging",
    "trace",
)
def _ignore(execution: Any, this: Constant, args: Args, block: Proc | None) -> None:
    """Do nothing: all files are loaded, and each collection begins afresh."""


@fact_class("Facter", "debugging?", "trace?", "http_debug?")
def _is_debugging(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return False


@fact_class("Facter Puppet", "debug", "debugonce", "info", "notice", "show_time")
def _debug(execution: Any, this: Constant, args: Args, block: Proc | None) -> None:
    """Do nothing: only warnings are told."""


@fact_class(
    "Facter Puppet",
    "warn",
    "warnonce",
    "error",
    "err",
    "warning",
    "alert",
    "crit",
    "emerg",
    "warn_once",
    "deprecation_warning",
)
def _warn(execution: Any, this: Constant, args: Args, block: Proc | None) -> None:
    execution.facts.tell(plain_text(execution, args[-1]) if args else "")


@fact_class("Facter", "log_exception")
def _log_exception(execution: Any, this: Constant, args: Args, block: Proc | None) -> None:
    given = args[1] if len(args) > 1 and isinstance(args[1], str) else getattr(args[0], "message", args[0])
    execution.facts.tell(plain_text(execution, given))


@method("Facter::Util::Resolution", "setcode")
def _setcode(execution: Execution, this: Resolution, args: Args, block: Proc | None) -> Resolution:
    if not args and block is None:
        raise raised("ArgumentError", "You must pass either code or a block")
    this.code = plain_text(execution, args[0]) if args and args[0] is not None else block
    return this


def _confine(execution: Execution, this: Resolution, args: Args, block: Proc | None) -> None:
    if args and isinstance(args[0], dict):
        for key, values in args[0].items():
            this.confines.append(Confine(plain_text(execution, plain_key(key)), confine_values(values), None))
    elif block is not None:
        this.confines.append(
            Confine(plain_text(execution, args[0]) if args and args[0] is not None else None, [], block)
        )


def _has_weight(execution: Execution, this: Resolution, args: Args, block: Proc | None) -> Resolution:
    if not isinstance(args[0], int):
        raise raised("ArgumentError", f"comparison of Integer with {inspect(args[0])} failed")
    this.given_weight = args[0]
    return this


def _timeout(execution: Execution, this: Resolution, args: Args, block: Proc | None) -> Any:
    if args:
        this.timeout_s = float(args[0])
    return this.timeout_s


def _name(execution: Execution, this: Resolution, args: Args, block: Proc | None) -> Any:
    if args:
        this.name = plain_text(execution, args[0])
    return this.name


def _on_flush(execution: Execution, this: Resolution, args: Args, block: Proc | None) -> None:
    """Do nothing: each collection begins afresh."""


def _fact_of(execution: Execution, this: Resolution, args: Args, block: Proc | None) -> RubyFact:
    return RubyFact(this.fact)


for _kind in ("Facter::Util::Resolution", "Facter::Core::Aggregate"):
    for _names, _function in (
        (("confine",), _confine),
        (("has_weight", "weight="), _has_weight),
        (("timeout", "timeout=", "limit"), _timeout),
        (("name", "name="), _name),
        (("on_flush",), _on_flush),
        (("fact",), _fact_of),
    ):
        method(_kind, *_names)(_function)


@method("Facter::Core::Aggregate", "chunk")
def _chunk(execution: Execution, this: Aggregate, args: Args, block: Proc | None) -> Aggregate:
    if block is None:
        raise raised("ArgumentError", "Facter::Core::Aggregate#chunk requires a block")
    if not args or not isinstance(args[0], Symbol):
        raise raised("ArgumentError", "Facter::Core::Aggregate#expected chunk name to be a Symbol")
    options = _options(execution, args[1:])
    needed = options.pop("require", None)
    if options:
        raise raised("ArgumentError", f"Unexpected options passed to Facter::Core::Aggregate#chunk: {list(options)}")
    this.add_chunk(args[0], needed if isinstance(needed, list) else [] if needed is None else [needed], block)
    return this


@method("Facter::Core::Aggregate", "aggregate")
def _aggregate(execution: Execution, this: Aggregate, args: Args, block: Proc | None) -> Aggregate:
    if block is None:
        raise raised("ArgumentError", "Facter::Core::Aggregate#aggregate requires a block")
    this.combine = block
    return this
