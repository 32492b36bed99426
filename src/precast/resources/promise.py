"""promise: a value that this node publishes for other nodes, after the resources that it requires have succeeded.

It is published in every enforcing run that reaches it, also if the value is as before: a job waits for this run's word. Instead of a value
it may have a command, whose output is the value. The command runs only then, never to read the state, so a no-op run never runs it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from precast.base.errors import PrecastError
from precast.resources import issues, issues_engine
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.properties import ABSENT, make_change

SCOPES = ("environment", "run")
FORMATS = ("text", "json")
TIMEOUT_S = 300
MAX_BYTES = 65_536
MAX_KEY_CHARS = 200
_OF_COMMAND = ("user", "environment", "timeout", "format", "type", "max_bytes")


class Promise(Handler):
    touches_node: ClassVar[bool] = False
    gives_value: ClassVar[bool] = True

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._key = str(resource.get("key", resource.title))
        self._has_command = "command" in resource.parameters
        self._is_given = False
        self._check()
        self._scope = self._word("scope", SCOPES)
        self._ttl_s = self._number("ttl", None, 1)
        self._max_bytes = int(self._number("max_bytes", MAX_BYTES, 1) or MAX_BYTES)
        self._is_secret = bool({"value", "command", "environment"} & resource.secrets)

    def read(self) -> State:
        value = self.resource.get("value")
        if not self._has_command and self.node.has_promised(self._key, value):
            return {"value": value}
        return {"value": self.node.promised(self._key, ABSENT)}

    def state_after(self) -> State:
        return {"value": self.resource.get("value")}

    def compare(self, state: State) -> Sequence[Change]:
        value = self.resource.get("value")
        if self._has_command or self.node.has_promised(self._key, value):
            return ()
        return (make_change("value", state["value"], value),)

    def apply(self, change: Change) -> None:
        self._give(self.resource.get("value"))

    def give(self) -> Change | None:
        if self._is_given:
            return None
        if not self._has_command:
            self._give(self.resource.get("value"))
            return None
        value = self._run_command()
        before, is_same = self.node.promised(self._key, ABSENT), self.node.has_promised(self._key, value)
        self._give(value)
        if is_same:
            return None
        change = make_change("value", before, value)
        return change._replace(is_sensitive=True, message="changed what it gives") if self._is_secret else change

    def _give(self, value: Any) -> None:
        self.node.promise(self._key, value, scope=self._scope, ttl_s=self._ttl_s, is_secret=self._is_secret)
        self._is_given = True

    def _run_command(self) -> Any:
        """The output of the command as a value. Raises PrecastError if it fails, or if the output has another form."""
        if self.node.root and not self.node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="promise with a command", root=self.node.root)
        argv = [str(word) for word in self.resource.get("command")]
        user = self.resource.get("user")
        result = self.node.run(
            argv,
            deadline_s=self._number("timeout", TIMEOUT_S, 1),
            environment=self._environment(),
            user=None if user is None else str(user),
            is_split=True,
        )
        if not result.is_success:
            if not self._is_secret and (said := (result.errors or result.output).strip()):
                self.log("notice", said[-1_000:])
            shown = "[command redacted]" if self._is_secret else f"'{' '.join(argv)}'"
            raise issues_engine.WRONG_EXIT.error(command=shown, exit_code=result.exit_code, wanted="[0]")
        return self._read_output(result.output)

    def _read_output(self, output: str) -> Any:
        size_bytes = len(output.encode(errors="replace"))
        if size_bytes > self._max_bytes:
            raise self._bad_output(f"it has {size_bytes} bytes, and max_bytes is {self._max_bytes}")
        value: Any = output.removesuffix("\n")
        if self._word("format", ("text", "json")) == "json":
            try:
                value = msgspec.json.decode(output)
            except (msgspec.DecodeError, RecursionError):
                raise self._bad_output("it is not JSON") from None
        elif "\ufffd" in value or "\0" in value:
            raise self._bad_output("it is not text in UTF-8")
        wanted = self.resource.get("type")
        if wanted is not None and not _is_instance(value, str(wanted)):
            raise self._bad_output(f"it is no {wanted}")
        return value

    def _bad_output(self, reason: str) -> PrecastError:
        return issues.BAD_OUTPUT.error(key=self._key, reason=reason)

    def _environment(self) -> dict[str, str]:
        given = self.resource.get("environment", [])
        pairs = [str(line).partition("=") for line in (given if isinstance(given, list) else [given])]
        return {name: value for name, _, value in pairs}

    def _check(self) -> None:
        resource = self.resource
        if not 1 <= len(self._key) <= MAX_KEY_CHARS:
            raise self._wrong("key", f"a text of {len(self._key)} characters", f"it has 1 to {MAX_KEY_CHARS}")
        if self._has_command and "value" in resource.parameters:
            raise self._wrong("command", "given", "a promise has a value or a command")
        if not self._has_command:
            if "value" not in resource.parameters:
                raise issues.MISSING_VALUE.error(name="value", reason="a promise gives one", type="promise")
            for name in _OF_COMMAND:
                if name in resource.parameters:
                    raise self._wrong(name, "given", "only a promise with a command has it")
            return
        command = resource.get("command")
        if not isinstance(command, list) or not command or not str(command[0]).startswith("/"):
            raise self._wrong("command", "so", "an array of a program with its whole path, and its arguments")
        self._word("format", FORMATS)
        self._number("timeout", TIMEOUT_S, 1)
        if "type" in resource.parameters:
            _parse(str(resource.get("type")))

    def _word(self, name: str, words: Sequence[str]) -> str:
        value = str(self.resource.get(name, words[0]))
        if value not in words:
            raise self._wrong(name, repr(value), " or ".join(words))
        return value

    def _number(self, name: str, default: float | None, least: float) -> float | None:
        value = self.resource.get(name)
        if value is None:
            return default
        try:
            number = float(str(value))
        except ValueError:
            number = 0.0
        if not least <= number <= 1e9:
            raise self._wrong(name, repr(value), f"a number of at least {least:g}")
        return number

    def _wrong(self, name: str, value: str, wanted: str) -> PrecastError:
        return issues.BAD_VALUE.error(name=name, value=value, wanted=wanted, type="promise")


def _parse(text: str) -> Any:
    from precast.lang.datatypes import parse_type  # few promises have a type

    return parse_type(text)


def _is_instance(value: Any, text: str) -> bool:
    from precast.lang.values.catalog_data import value_of

    return bool(_parse(text).check(value_of(value)))
