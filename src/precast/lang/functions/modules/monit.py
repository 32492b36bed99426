"""monit_validate_tests: checks tests for Monit and adds the conditions in its language."""

from collections.abc import Iterator
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.lang.functions.modules.declaration import argument_error, declare_legacy
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import Hash

_RESOURCES: Final = (
    "CPU", "CPU(USER)", "CPU(SYSTEM)", "CPU(WAIT)", "TOTAL CPU", "CHILDREN", "LOADAVG(1MIN)", "LOADAVG(5MIN)", "LOADAVG(15MIN)",
    "TOTAL MEMORY", "MEMORY", "SWAP",
)  # fmt: skip
_OPERATORS: Final = ("<", ">", "!=", "==", "GT", "LT", "EQ", "NE", "GREATER", "LESS", "EQUAL", "NOTEQUAL")
_ACTIONS: Final = ("ALERT", "RESTART", "START", "STOP", "EXEC", "UNMONITOR")
_TESTS: Final[dict[str, tuple[str, ...]]] = {
    "DIRECTORY": (), "FIFO": (), "FILE": (), "PROGRAM": (),
    "FILESYSTEM": ("FSFLAGS", "SPACE", "INODE", "PERM", "PERMISSION"),
    "HOST": ("CONNECTION",),
    "PROCESS": (*_RESOURCES, "CONNECTION"),
    "SYSTEM": _RESOURCES,
}  # fmt: skip
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "GENERIC": ("SEND", "EXPECT"),
    "HTTP": ("REQUEST", "STATUS", "CHECKSUM", "HOSTHEADER", "CONTENT"),
    "APACHE-STATUS": (
        "LOGLIMIT", "CLOSELIMIT", "DNSLIMIT", "KEEPALIVELIMIT", "REPLYLIMIT", "REQUESTLIMIT", "STARTLIMIT", "WAITLIMIT",
        "GRACEFULLIMIT", "CLEANUPLIMIT",
    ),
}  # fmt: skip


def _error(reason: str) -> PrecastError:
    return argument_error("monit_validate_tests", reason)


def _to_upper(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _error(f"{what} must be a text")
    return value.upper()


@declare_legacy(
    "monit_validate_tests",
    "String check_type, Array tests",
    "Checks tests for a check of Monit, and returns each with its condition.",
    module="monit",
)
def _monit_validate_tests(check_type: str, tests: tuple[Any, ...]) -> tuple[Hash, ...]:
    kinds = _TESTS.get(check_type.upper())
    if kinds is None:
        raise _error(f"unknown check type '{check_type}'")
    return tuple(_complete_test(check_type.upper(), kinds, test) for test in tests)


def _complete_test(check_type: str, kinds: tuple[str, ...], given: Any) -> Hash:
    if not isinstance(given, Hash):
        raise _error("a test must be a hash")
    kind = _to_upper(given.get("type"), "the type of a test")
    if kind not in kinds:
        raise _error(f"Tests for '{check_type}': invalid test type '{kind}'")
    test = given.merged({"type": kind})
    if "tolerance" in test:
        test = test.merged({"tolerance": _tolerance(test["tolerance"])})
    test = test.merged({"action": _action(test)})
    return _with_condition(kind, test)


def _tolerance(given: Any) -> str:
    if not isinstance(given, Hash) or "cycles" not in given:
        raise _error("tolerance must be a hash with 'cycles' key and optionally 'times'.")
    cycles = ruby_text(given["cycles"])
    return f"{ruby_text(given['times'])} TIMES WITHIN {cycles} CYCLES" if "times" in given else f"{cycles} CYCLES"


def _action(test: Hash) -> str:
    if "action" not in test:
        return "ALERT"
    action = _to_upper(test["action"], "the action")
    if action not in _ACTIONS:
        raise _error(f"invalid action '{action}'")
    if action == "EXEC" and "exec" not in test:
        raise _error("missing command for exec action")
    return action


def _require_option(test: Hash, name: str) -> str:
    if name not in test:
        raise _error(f"'{name}' is mandatory")
    return ruby_text(test[name])


def _with_condition(kind: str, test: Hash) -> Hash:
    if kind in _RESOURCES or kind in ("SPACE", "INODE"):
        operator = _require_option(test, "operator")
        if operator not in _OPERATORS:
            raise _error(f"invalid operator: {operator}")
        return test.merged({"condition": f"{kind} {operator} {_require_option(test, 'value')}"})
    if kind == "FSFLAGS":
        return test.merged({"condition": f"CHANGED {kind}"})
    if kind == "CONNECTION":
        test = test.merged({name: _to_upper(test[name], name) for name in _UPPER if name in test})
        return test.merged({"condition": "".join(_connection(test))})
    return test.merged({"condition": f"FAILED {kind} {_require_option(test, 'value')}"})


_UPPER: Final = ("socket_type", "socket_type_cypher", "protocol")


def _connection(test: Hash) -> Iterator[str]:
    if "unixsocket" in test:
        yield f"FAILEDUNIXSOCKET {ruby_text(test['unixsocket'])}"
    elif "port" in test:
        yield "FAILED"
        yield f" HOST {ruby_text(test['host'])}" if "host" in test else ""
        yield f" PORT {ruby_text(test['port'])}"
        yield from _socket(test)
        yield from _protocol(test)
    else:
        raise _error("'port' or 'unixsocket' is mandatory")
    if "timeout" in test:
        yield f"\n    WITH TIMEOUT {ruby_text(test['timeout'])} SECONDS"
    if "retry" in test:
        yield f" RETRY {ruby_text(test['retry'])}"


def _socket(test: Hash) -> Iterator[str]:
    if "socket_type" not in test:
        return
    yield f" TYPE {test['socket_type']}"
    if test["socket_type"] == "TCPSSL":
        yield f" {test['socket_type_cypher']}" if "socket_type_cypher" in test else ""
        yield f" CERTMD5 {ruby_text(test['socket_type_checksum'])}" if "socket_type_checksum" in test else ""


def _protocol(test: Hash) -> Iterator[str]:
    if "protocol" not in test:
        return
    protocol = test["protocol"]
    yield "" if protocol == "GENERIC" else f"\n    PROTOCOL {protocol} "
    if "protocol_test" not in test:
        return
    options = test["protocol_test"]
    if protocol in ("HTTP", "APACHE-STATUS"):
        yield from _named_options(protocol, options)
    else:
        yield from _pairs(options)


def _named_options(protocol: str, options: Any) -> Iterator[str]:
    known = _OPTIONS[protocol]
    if not isinstance(options, Hash):
        raise _error(f"protocol_test must be a hash with any of this keys: {', '.join(known)}.")
    unknown = [key for key in options if ruby_text(key).upper() not in known]
    if unknown:
        raise _error(f"invalid options in {protocol} ckeck: {', '.join(map(ruby_text, unknown))}")
    if "request" in options:
        yield f"\n    REQUEST {ruby_text(options['request'])}"
    for key, item in options.items():
        if key != "request":
            yield f"\n    {key.upper()} {ruby_text(item)}"


def _pairs(options: Any) -> Iterator[str]:
    if not isinstance(options, tuple) or not all(isinstance(pair, Hash) for pair in options):
        raise _error("protocol_test must be an array of hashes with send/expect pairs.")
    for pair in options:
        if not {"SEND", "EXPECT"} <= {ruby_text(key).upper() for key in pair}:
            raise _error("missing options: SEND, EXPECT are mandatory.")
        for key, item in pair.items():
            yield f"\n    {ruby_text(key).upper()} {ruby_text(item)}"
