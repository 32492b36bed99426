"""Commands of facts: `Facter::Core::Execution`, backquotes, `system`, Open3 and IO.popen. Each goes through the node's interface."""

import posixpath
import re
from typing import Any, Final

from precast.lang.module_facts.node import CommandResult, DeadlinePassed
from precast.lang.module_facts.tables import fact_class, fact_function
from precast.lang.ruby.errors import raised
from precast.lang.ruby.methods.dispatch import method, plain_text, to_str
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.values import Instance, Symbol, is_truthy, plain_key

Args = list[Any]
FACTER: Final = "Facter::Core::Execution Facter::Util::Resolution"
# Ruby starts a command without these itself, without a shell.
_SHELL: Final = re.compile(r"[*?{}\[\]<>()~&|\\$;'`\"\n#=%]")
_BUILTINS: Final = frozenset((
    "alias", "bg", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "fg", "getopts", "hash", "jobs", "kill", "printf",
    "pwd", "read", "set", "test", "times", "trap", "true", "type", "ulimit", "umask", "unalias", "unset", "wait", ":", ".", "[",
))  # fmt: skip
_QUOTED: Final = re.compile(r"\A(?:\"(.+?)\"|'(.+?)')(?:\s+(.*))?")


class ProcessStatus(Instance):
    """`$?`: how a command ended."""

    kind_name = "Process::Status"

    def __init__(self, code: int) -> None:
        self.code = code


# Facter's way


def which(execution: Any, name: str) -> str | None:
    """The path of a program, as Facter searches for it."""
    if name.startswith("/"):
        return name if _is_program(execution, name) else None
    for directory in [*execution.environment.get("PATH", "").split(":"), "/sbin", "/usr/sbin"]:
        path = posixpath.join(directory, name)
        if _is_program(execution, path):
            return path
    return None


def _is_program(execution: Any, path: str) -> bool:
    status = execution.node.status(path)
    return status is not None and status.kind == "file" and execution.node.may(path, "execute")


def expand(execution: Any, command: str) -> str | None:
    """The command with the path of its program; None if the program does not exist."""
    quoted = _QUOTED.match(command)
    if quoted is not None:
        program, rest = quoted[1] or quoted[2], quoted[3]
    else:
        program, _, after = command.partition(" ")
        rest = after or None
    path = which(execution, program) if program else None
    if path is None:
        return None
    shown = f"'{path}'" if re.search(r"\s", path) else path
    return shown if rest is None else f"{shown} {rest}"


_RAISE: Final = Symbol("raise")


def execute(
    execution: Any, command: str, on_fail: Any = _RAISE, *, expands: bool = True, timeout_s: float | None = None
) -> Any:
    """What a command prints, without blanks around it; `on_fail` if its program does not exist."""
    if not expands and command.split(" ")[0] in _BUILTINS:
        full: str | None = command
    else:
        full = expand(execution, command)
    if full is None:
        if on_fail == _RAISE:
            raise raised(
                "Facter::Core::Execution::ExecutionFailure", f"Could not execute '{command}': command not found"
            )
        return on_fail
    environment = {**execution.environment, "LC_ALL": "C", "LANG": "C"}
    try:
        return start(execution, full, environment, timeout_s).out.strip(" \t\n\v\f\r\0")
    except TimeoutError:
        if on_fail == _RAISE:
            text = f"Failed while executing '{full}': Timeout encounter after {timeout_s:g}s"
            raise raised("Facter::Core::Execution::ExecutionFailure", text) from None
        return ""
    except OSError as error:
        if on_fail == _RAISE:
            text = f"Failed while executing '{full}': {error.strerror}"
            raise raised("Facter::Core::Execution::ExecutionFailure", text) from None
        return on_fail


def start(
    execution: Any,
    command: str | list[str],
    environment: dict[str, str],
    timeout_s: float | None = None,
    stdin: str = "",
) -> CommandResult:
    """Run a command as Ruby does: through a shell only if it has characters or words of a shell. Raises OSError."""
    if isinstance(command, str) and not _SHELL.search(command) and command.split(" ")[0] not in _BUILTINS:
        command = command.split()
        if not command:
            raise FileNotFoundError(2, "No such file or directory", "")
    result: CommandResult = execution.node.run(command, environment, timeout_s=timeout_s, stdin=stdin)
    return result


@fact_class(FACTER, "execute")
def _execute(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return execute(execution, plain_text(execution, args[0]), **_execute_options(execution, args))


@fact_class(FACTER, "exec")
def _exec(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return execute(execution, plain_text(execution, args[0]), None)


def _execute_options(execution: Any, args: Args) -> dict[str, Any]:
    given = args[1] if len(args) > 1 and isinstance(args[1], dict) else {}
    options = {plain_text(execution, plain_key(key)): value for key, value in given.items()}
    limit = options.get("timeout") or options.get("time_limit") or options.get("limit")
    return {
        "on_fail": options.get("on_fail", _RAISE),
        "expands": is_truthy(options.get("expand", True)),
        "timeout_s": float(limit) if limit and float(limit) > 0 else None,
    }


@fact_class(f"{FACTER} Puppet::Util", "which")
def _which(execution: Any, this: Constant, args: Args, block: Proc | None) -> str | None:
    return which(execution, to_str(args[0]))


@fact_class(FACTER, "expand_command")
def _expand(execution: Any, this: Constant, args: Args, block: Proc | None) -> str | None:
    return expand(execution, to_str(args[0]))


@fact_class(FACTER, "search_paths")
def _search_paths(execution: Any, this: Constant, args: Args, block: Proc | None) -> list[str]:
    return [*execution.environment.get("PATH", "").split(":"), "/sbin", "/usr/sbin"]


@fact_class(FACTER, "absolute_path?")
def _is_absolute(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return to_str(args[0]).startswith("/")


@fact_class(f"{FACTER} Puppet::Util", "with_env", "withenv")
def _with_env(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    before = dict(execution.environment)
    execution.environment.update(_environment(execution, args[0]))
    try:
        return execution.yield_to(block)
    finally:
        execution.environment = before


def _environment(execution: Any, given: dict[Any, Any]) -> dict[str, str]:
    return {plain_text(execution, plain_key(key)): plain_text(execution, value) for key, value in given.items()}


@fact_class("Puppet::Util::Execution", "execute", "execpipe")
def _puppet_execute(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    command = [to_str(word) for word in args[0]] if isinstance(args[0], list) else to_str(args[0])
    result = _run(execution, command, args[1:])
    if result.code != 0:
        raise raised("Puppet::ExecutionFailure", f"Execution of '{command}' returned {result.code}: {result.out}")
    return result.out


# Ruby's way


def _run(
    execution: Any, command: str | list[str], more: Args, environment: dict[str, str] | None = None
) -> CommandResult:
    options = more[-1] if more and isinstance(more[-1], dict) else {}
    stdin = options.get(Symbol("stdin_data"), "")
    try:
        result = start(execution, command, environment or execution.environment, stdin=plain_text(execution, stdin))
    except OSError as error:
        name = command if isinstance(command, str) else command[0]
        raise FileNotFoundError(error.errno, error.strerror, name) from None
    execution.child_status = ProcessStatus(result.code)
    return result


def _run_words(execution: Any, args: Args) -> CommandResult:
    """Run a command that is given as Open3 and `system` take it: with variables before it, its words as one text or several."""
    given = list(args)
    environment = dict(execution.environment)
    if given and isinstance(given[0], dict):
        environment.update(_environment(execution, given.pop(0)))
    options = [given.pop()] if given and isinstance(given[-1], dict) else []
    words = given[0] if len(given) == 1 and isinstance(given[0], list) else given
    texts = [plain_text(execution, word) for word in words]
    return _run(execution, texts[0] if len(texts) == 1 else texts, options, environment)


@fact_function("`")
def _backquotes(execution: Any, args: Args, block: Proc | None) -> str:
    return _run(execution, plain_text(execution, args[0]), []).out


@fact_function("system")
def _system(execution: Any, args: Args, block: Proc | None) -> bool | None:
    try:
        return _run_words(execution, args).code == 0
    except OSError:
        execution.child_status = ProcessStatus(127)
        return None


@fact_function("sleep")
def _sleep(execution: Any, args: Args, block: Proc | None) -> int:
    execution.node.sleep(float(args[0]))
    return round(float(args[0]))


@fact_class("Open3", "capture2")
def _capture2(execution: Any, this: Constant, args: Args, block: Proc | None) -> list[Any]:
    result = _run_words(execution, args)
    return [result.out, ProcessStatus(result.code)]


@fact_class("Open3", "capture2e")
def _capture2e(execution: Any, this: Constant, args: Args, block: Proc | None) -> list[Any]:
    result = _run_words(execution, args)
    return [result.out + result.error, ProcessStatus(result.code)]


@fact_class("Open3", "capture3")
def _capture3(execution: Any, this: Constant, args: Args, block: Proc | None) -> list[Any]:
    result = _run_words(execution, args)
    return [result.out, result.error, ProcessStatus(result.code)]


@fact_class("Timeout", "timeout")
def _timeout(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    if args[0] is None or float(args[0]) <= 0:
        return execution.yield_to(block, args[0])
    try:
        return execution.node.within(float(args[0]), lambda: execution.yield_to(block, args[0]))
    except DeadlinePassed:
        kind = args[1] if len(args) > 1 and args[1] is not None else "Timeout::Error"
        raise raised(kind, "execution expired") from None


@method("Process::Status", "success?")
def _is_success(execution: Any, this: ProcessStatus, args: Args, block: Proc | None) -> bool | None:
    return None if this.code < 0 else this.code == 0


@method("Process::Status", "exitstatus")
def _exit_status(execution: Any, this: ProcessStatus, args: Args, block: Proc | None) -> int | None:
    return None if this.code < 0 else this.code


@method("Process::Status", "exited?")
def _is_exited(execution: Any, this: ProcessStatus, args: Args, block: Proc | None) -> bool:
    return this.code >= 0


@method("Process::Status", "to_i")
def _status_number(execution: Any, this: ProcessStatus, args: Args, block: Proc | None) -> int:
    return this.code << 8 if this.code >= 0 else -this.code


@method("Process::Status", "==")
def _is_status(execution: Any, this: ProcessStatus, args: Args, block: Proc | None) -> bool:
    other = args[0]
    if isinstance(other, ProcessStatus):
        return other.code == this.code
    return bool(other == _status_number(execution, this, [], None))
