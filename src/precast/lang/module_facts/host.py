"""What else facts ask of the node: ENV, accounts, the host's name, the time, numbers of the process."""

from typing import Any

from precast.lang.functions.ruby.puppet_classes import RubyTime
from precast.lang.module_facts.node import Account, Group
from precast.lang.module_facts.tables import fact_class
from precast.lang.ruby.errors import raised
from precast.lang.ruby.methods.constants import is_builtin
from precast.lang.ruby.methods.dispatch import method, plain_text, to_str
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.values import Instance, Symbol, inspect
from precast.lang.values.times import Timestamp

Args = list[Any]


# ENV


@fact_class("ENV", "[]")
def _variable(execution: Any, this: Constant, args: Args, block: Proc | None) -> str | None:
    value: str | None = execution.environment.get(to_str(args[0]))
    return value


@fact_class("ENV", "fetch")
def _fetch(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    name = to_str(args[0])
    if name in execution.environment:
        return execution.environment[name]
    if block is not None:
        return execution.yield_to(block, name)
    if len(args) > 1:
        return args[1]
    raise raised("KeyError", f"key not found: {inspect(name)}")


@fact_class("ENV", "[]=", "store")
def _set_variable(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    if args[1] is None:
        execution.environment.pop(to_str(args[0]), None)
    else:
        execution.environment[to_str(args[0])] = to_str(args[1])
    return args[1]


@fact_class("ENV", "delete")
def _delete_variable(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return execution.environment.pop(to_str(args[0]), None)


@fact_class("ENV", "key?", "has_key?", "include?", "member?")
def _has_variable(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return to_str(args[0]) in execution.environment


@fact_class("ENV", "to_h", "to_hash", "dup", "clone")
def _variables(execution: Any, this: Constant, args: Args, block: Proc | None) -> dict[str, str]:
    return dict(execution.environment)


@fact_class("ENV", "keys")
def _variable_names(execution: Any, this: Constant, args: Args, block: Proc | None) -> list[str]:
    return list(execution.environment)


# Accounts


class Entry(Instance):
    """An entry of the user or group database."""

    def __init__(self, kind_name: str, fields: dict[str, Any]) -> None:
        self.kind_name = kind_name
        self.fields = fields


def _user(account: Account) -> Entry:
    fields = {
        "name": account.name, "passwd": "x", "uid": account.uid, "gid": account.gid, "gecos": account.comment, "dir": account.home,
        "shell": account.shell,
    }  # fmt: skip
    return Entry("Etc::Passwd", fields)


def _group(group: Group) -> Entry:
    return Entry("Etc::Group", {"name": group.name, "passwd": "x", "gid": group.gid, "mem": list(group.members)})


def _declare_fields() -> None:
    for kind, names in (
        ("Etc::Passwd", ("name", "passwd", "uid", "gid", "gecos", "dir", "shell")),
        ("Etc::Group", ("name", "passwd", "gid", "mem")),
    ):
        for field in names:

            def run(execution: Any, this: Entry, args: Args, block: Proc | None, field: str = field) -> Any:
                return this.fields[field]

            method(kind, field)(run)


_declare_fields()


@fact_class("Etc", "getpwnam")
def _getpwnam(execution: Any, this: Constant, args: Args, block: Proc | None) -> Entry:
    account = execution.node.account(to_str(args[0]))
    if account is None:
        raise raised("ArgumentError", f"can't find user for {args[0]}")
    return _user(account)


@fact_class("Etc", "getpwuid")
def _getpwuid(execution: Any, this: Constant, args: Args, block: Proc | None) -> Entry:
    number = int(args[0]) if args else execution.node.ids()[0]
    account = execution.node.account(number)
    if account is None:
        raise raised("ArgumentError", f"can't find user for {number}")
    return _user(account)


@fact_class("Etc", "getgrnam")
def _getgrnam(execution: Any, this: Constant, args: Args, block: Proc | None) -> Entry:
    group = execution.node.group(to_str(args[0]))
    if group is None:
        raise raised("ArgumentError", f"can't find group for {args[0]}")
    return _group(group)


@fact_class("Etc", "getgrgid")
def _getgrgid(execution: Any, this: Constant, args: Args, block: Proc | None) -> Entry:
    number = int(args[0]) if args else execution.node.ids()[1]
    group = execution.node.group(number)
    if group is None:
        raise raised("ArgumentError", f"can't find group for {number}")
    return _group(group)


# The process and the host


@fact_class("Process", "uid", "euid")
def _uid(execution: Any, this: Constant, args: Args, block: Proc | None) -> int:
    return int(execution.node.ids()[0])


@fact_class("Process", "gid", "egid")
def _gid(execution: Any, this: Constant, args: Args, block: Proc | None) -> int:
    return int(execution.node.ids()[1])


@fact_class("Process", "pid")
def _pid(execution: Any, this: Constant, args: Args, block: Proc | None) -> int:
    return int(execution.node.ids()[2])


@fact_class("Socket", "gethostname")
def _hostname(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    return str(execution.node.hostname())


@fact_class("Time", "now")
def _now(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyTime:
    return RubyTime(Timestamp(execution.node.now_ns()))


@method("Time", "-")
def _minus(execution: Any, this: RubyTime, args: Args, block: Proc | None) -> Any:
    other = args[0]
    if isinstance(other, RubyTime):
        return (this.moment.ns - other.moment.ns) / 1_000_000_000
    return RubyTime(Timestamp(this.moment.ns - round(float(other) * 1_000_000_000)))


@method("Time", "+")
def _plus(execution: Any, this: RubyTime, args: Args, block: Proc | None) -> RubyTime:
    return RubyTime(Timestamp(this.moment.ns + round(float(args[0]) * 1_000_000_000)))


@method("Time", "<=>")
def _compare(execution: Any, this: RubyTime, args: Args, block: Proc | None) -> int | None:
    if not isinstance(args[0], RubyTime):
        return None
    return (this.moment.ns > args[0].moment.ns) - (this.moment.ns < args[0].moment.ns)


def _declare_comparisons() -> None:
    for operator, wanted in (("<", (-1,)), ("<=", (-1, 0)), (">", (1,)), (">=", (1, 0)), ("==", (0,))):

        def run(
            execution: Any, this: RubyTime, args: Args, block: Proc | None, wanted: tuple[int, ...] = wanted
        ) -> bool:
            return _compare(execution, this, args, None) in wanted

        method("Time", operator)(run)


_declare_comparisons()


@fact_class("Module Object Kernel Class", "const_get")
def _const_get(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    name = plain_text(execution, args[0])
    if name in execution.constants:
        return execution.constants[name]
    if is_builtin(name):
        return Constant(name)
    raise raised("NameError", f"uninitialized constant {name}")


@fact_class("Module Object Kernel Class", "const_defined?")
def _const_defined(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    name = plain_text(execution, args[0])
    return name in execution.constants or is_builtin(name)


@fact_class("RbConfig::CONFIG", "[]")
def _ruby_setting(execution: Any, this: Constant, args: Args, block: Proc | None) -> str | None:
    return {"host_os": "linux-gnu", "target_os": "linux", "ruby_version": "3.1.0", "ruby_install_name": "ruby"}.get(
        plain_text(execution, args[0])
    )


@fact_class("Symbol", "all_symbols")
def _all_symbols(execution: Any, this: Constant, args: Args, block: Proc | None) -> list[Symbol]:
    return []
