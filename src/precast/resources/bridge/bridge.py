"""The bridge of one run: a Ruby process that is started for the first resource that needs it, and stays until the run ends.

A process that hangs or dies takes one resource with it: the next resource gets a new process, to which all resources are declared again.
If Puppet cannot be loaded at all, that is tried once, and every resource fails with the same reason.
"""

import base64
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from precast.base.errors import InputError, PrecastError
from precast.base.files import make_private_directory
from precast.resources.bridge import issues
from precast.resources.bridge.installation import Installation, find_puppet
from precast.resources.bridge.library import library_files, write_library
from precast.resources.bridge.process import MAX_ANSWER_BYTES, START_S, BridgeProcess, Ended, TooLarge
from precast.resources.contract import DesiredResource

# How long a provider may take for one question, unless its resource has a larger number as `timeout`.
DEADLINE_S: Final = 300.0
# The most that a resource can ask for: every wait has an end.
MAX_DEADLINE_S: Final = 6 * 3600.0
# Added to the timeout of a resource, so that its provider reports the end of its own time itself.
_GRACE_S: Final = 30.0
_FINISH_S: Final = 30.0
# Starts without one answer in between; then the node's Puppet is broken, or the catalog only has providers that kill it.
_MAX_STARTS: Final = 20

log = logging.getLogger("precast.agent")

OpenContent = Callable[[str], BinaryIO]


class Relation(NamedTuple):
    """An automatic relationship of a resource, as its type names it: require, subscribe, before or notify, and the other resource."""

    ref: str
    kind: str
    type: str
    title: str


class Declared(NamedTuple):
    """What Ruby says of a resource: whether it reacts to a refresh, and whether it may generate others."""

    refreshes: bool = False
    generates: bool = False


class Bridge:
    """Asks Ruby about resources, one at a time. Safe for several threads; it starts nothing before the first question."""

    def __init__(
        self,
        directory: str,
        *,
        is_noop: bool = True,
        trusts_code: bool = False,
        find: Callable[[], Installation | None] = find_puppet,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """`directory` belongs to the bridge. Unless `trusts_code`, it runs no code of the catalog and every question is refused."""
        self._trusts_code = trusts_code
        self._directory = directory
        self._is_noop = is_noop
        self._find = find
        self._deadline_s = deadline_s
        self._lock = threading.RLock()
        self._installation: Installation | None = None
        self._is_searched = False
        self._process: BridgeProcess | None = None
        self._broken: PrecastError | None = None
        self._starts = 0
        self._content: Mapping[str, str] = {}
        self._open_content: OpenContent | None = None
        self._resources: dict[str, DesiredResource] = {}
        self._declared: dict[str, Declared] = {}
        self._relations: list[Relation] = []
        self._has_all_declared = False
        self._logs: list[tuple[str, str]] = []  # of declaring, for the next resource that is asked about

    @property
    def installation(self) -> Installation | None:
        """The node's Puppet."""
        if not self._is_searched:
            self._installation, self._is_searched = self._find(), True
        return self._installation

    def set_content(self, content: Mapping[str, str], open_content: OpenContent) -> None:
        """Tell which files the catalog pins, and how they are opened."""
        self._content, self._open_content = content, open_content

    def add(self, resources: Iterable[DesiredResource]) -> None:
        """Add resources of the catalog whose values are known. They are declared with the next question."""
        with self._lock:
            for resource in resources:
                self._resources[resource.ref] = resource
                self._has_all_declared = False

    def relations(self) -> Sequence[Relation]:
        """The automatic relationships of the resources added so far. Raises as `declared` does."""
        with self._lock:
            if self._resources:
                self._running("the catalog")
            return tuple(self._relations)

    def declared(self, ref: str) -> Declared:
        """What Ruby says of a resource that was added. Raises RESOURCE-180 without a Puppet, RESOURCE-181 to 185."""
        with self._lock:
            if ref not in self._declared:
                self._running(ref)
            return self._declared.get(ref, Declared())

    def ask(self, action: str, ref: str, timeout: Any = None, **details: Any) -> dict[str, Any]:
        """Ask about a resource that was added. `timeout` is the value of its parameter of that name.

        Raises RESOURCE-180 without a Puppet, RESOURCE-181 to 185; RESOURCE-184 has the text of an error in Ruby.
        """
        with self._lock:
            process = self._running(ref)
            answer = self._ask(process, ref, self._deadline(timeout), {"do": action, "id": ref, **details})
            if action == "generate":
                self._note_declared({child["id"]: child for child in answer["children"]})
            answer["logs"] = [*self._logs, *logs_in(answer)]
            self._logs.clear()
            return answer

    def close(self) -> None:
        """End the process, after the providers have done what they do at the end of a run."""
        with self._lock:
            if self._process is None:
                return
            try:
                if not self._is_noop:
                    for _, text in logs_in(self._ask(self._process, "the run", _FINISH_S, {"do": "finish"})):
                        log.warning("at the end of the run: %s", text)
            except PrecastError as error:
                log.warning("at the end of the run: %s", error.message)
            if self._process is not None:
                self._process.close(wait_s=_FINISH_S)
                self._process = None

    def _deadline(self, timeout: Any) -> float:
        try:
            given_s = float(timeout)
        except (TypeError, ValueError):
            return self._deadline_s
        wanted_s = MAX_DEADLINE_S if given_s <= 0 else given_s + _GRACE_S
        return min(max(self._deadline_s, wanted_s), MAX_DEADLINE_S)

    def _running(self, ref: str) -> BridgeProcess:
        """The process, with every resource declared."""
        if not self._trusts_code:
            raise issues.NOT_TRUSTED.error(ref=ref)
        if self._broken is not None:
            raise self._broken.copy()
        process = self._process or self._start(ref)
        if not self._has_all_declared:
            missing = [resource for resource in self._resources.values() if resource.ref not in self._declared]
            self._declare(process, ref, missing)
            self._has_all_declared = True
        return process

    def _start(self, ref: str) -> BridgeProcess:
        installation = self.installation
        if installation is None:
            raise issues.NO_PUPPET.error(type=ref.partition("[")[0].lower())
        self._starts += 1
        try:
            libraries = self._write_library()
            process = BridgeProcess(installation.ruby, installation.library)
        except OSError as error:
            self._broken = issues.NOT_STARTED.error(reason=error.strerror or error, ruby=installation.ruby)
            raise self._broken from None
        self._process, self._has_all_declared = process, False
        self._declared.clear()
        self._relations.clear()
        question = {
            "do": "start",
            "libraries": libraries,
            "directory": f"{self._directory}/puppet",
            "noop": self._is_noop,
        }
        try:
            self._ask(process, ref, START_S, question)
        except PrecastError as error:
            self._give_up()
            self._broken = issues.NOT_STARTED.error(reason=error.message, ruby=installation.ruby)
            raise self._broken from None
        process.forget_errors()
        return process

    def _write_library(self) -> list[str]:
        directory = Path(self._directory)
        make_private_directory(directory)
        if self._open_content is None:
            return []
        return write_library(directory / "modules", library_files(self._content), self._open_content)

    def _declare(self, process: BridgeProcess, ref: str, resources: Sequence[DesiredResource]) -> None:
        answer = self._ask(
            process,
            ref,
            self._deadline_s,
            {"do": "declare", "resources": [_as_json(resource) for resource in resources]},
        )
        self._note_declared(answer["resources"])
        self._logs += logs_in(answer)

    def _note_declared(self, described: Mapping[str, Mapping[str, Any]]) -> None:
        """Note what Ruby says of resources, also of those that another one has generated."""
        for ref, said in described.items():
            self._declared[ref] = Declared(said.get("refreshes", False), said.get("generates", False))
            self._relations += [Relation(ref, *named) for named in said.get("relations", ())]

    def _ask(self, process: BridgeProcess, ref: str, deadline_s: float, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = process.ask(question, deadline_s)
        except TimeoutError:
            self._give_up()
            raise issues.BRIDGE_KILLED.error(ref=ref, seconds=round(deadline_s)) from None
        except Ended as ended:
            self._give_up()
            raise issues.BRIDGE_ENDED.error(ref=ref, how=ended) from None
        except TooLarge as size:
            self._give_up()
            raise issues.TOO_LARGE.error(ref=ref, size=size, limit=MAX_ANSWER_BYTES) from None
        except (
            BaseException
        ):  # the run is being ended; an answer that nobody waits for must not become that of the next question
            self._give_up()
            raise
        if "error" in answer:
            raise _ruby_error(answer, ref)
        return answer

    def _give_up(self) -> None:
        """Kill the process; the next question starts another one."""
        if self._process is not None:
            self._process.close()
            self._process = None
        self._has_all_declared = False
        if self._starts >= _MAX_STARTS and self._broken is None:
            self._broken = issues.BRIDGE_ENDED.error(ref="the catalog", how=f"{self._starts} times in this run")


class RubyError(InputError):
    """An error of a type or provider, with what it logged before."""

    logs: Sequence[tuple[str, str]] = ()


def logs_in(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The log lines of an answer, as level and text."""
    return [(str(level), str(text)) for level, text in answer.get("logs", ())]


def _ruby_error(answer: Mapping[str, Any], ref: str) -> RubyError:
    said = issues.REFUSED.error(reason=answer["error"], ref=ref)
    error = RubyError(said.code, said.message, said.hint)
    error.logs = logs_in(answer)
    return error


def _as_json(resource: DesiredResource) -> dict[str, Any]:
    """A resource as Ruby gets it. Of the metaparameters, it has those that mean something to a type or provider."""
    meta = {name: value for name, value in resource.metaparameters.items() if name in ("audit", "loglevel", "noop")}
    return {
        "id": resource.ref,
        "type": resource.type,
        "title": resource.title,
        "parameters": {name: _json_value(value) for name, value in {**resource.parameters, **meta}.items()},
        "sensitive": sorted(resource.secrets & resource.parameters.keys()),
        "tags": list(resource.tags),
        "file": resource.file,
        "line": resource.line,
    }


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"__precast": "binary", "bytes": base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    return value
