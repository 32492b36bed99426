"""How the child processes of a server are confined: checked when it starts, and shown by `precast server check`."""

import logging

import msgspec

from precast.app.settings import ServerSettings
from precast.base.confinement.children import ask, command, probe
from precast.base.confinement.confine import Measure
from precast.base.errors import PrecastError

log = logging.getLogger("precast.server")
# Without these a process without privileges can still be confined; the others are what the level `strict` requires.
OPTIONAL = frozenset({"namespaces", "user"})


class ConfinedProcess(msgspec.Struct, frozen=True):
    """A kind of child process and its measures; `trouble` says why it cannot be confined, and is empty otherwise."""

    name: str
    measures: tuple[Measure, ...]
    trouble: str = ""


async def refuse_unconfined(settings: ServerSettings) -> None:
    """Raise UnavailableError CONFINE-001 if this system cannot confine children as the settings require.

    With the level `best` every missing measure is a line in the log.
    """
    for measure in await probe(settings.confinement):
        if not measure.is_enforced and measure.name not in OPTIONAL:
            log.warning("processes that handle untrusted code are not confined: %s: %s", measure.name, measure.how)


async def describe(settings: ServerSettings) -> list[ConfinedProcess]:
    """The confinement of each kind of child process, from a process of that kind."""
    from precast.app.roles.compiler import compile_limits
    from precast.services.code.address_policy import AddressPolicy
    from precast.services.code.checks import check_command
    from precast.services.code.fetch_child import FetchRequest
    from precast.services.code.fetching import MODULE as FETCH
    from precast.services.compile.workers import worker_command
    from precast.services.futures.checking.process import checking_command
    from precast.services.plans.evaluation.processes import EvaluationLimits
    from precast.services.plans.preparing.planning import planning_command
    from precast.services.traces.costly_processes import MODULE as COSTLY

    limits, level = compile_limits(settings), settings.confinement
    cache = str(settings.data / "modules")
    fetch = msgspec.json.encode(FetchRequest("", "", cache, cache, AddressPolicy(), AddressPolicy()))
    return [
        await _describe("compile worker", worker_command(limits)),
        await _describe("costly question", command(COSTLY, str(limits.memory_bytes), level=level)),
        await _describe("check of code", check_command(level)),
        await _describe("fetch of code", command(FETCH, level=level), fetch),
        await _describe("check of a plan", planning_command(level)),
        await _describe("check of waits", checking_command(level)),
        await _describe("expressions of a plan", EvaluationLimits(level=level).command()),
    ]


async def _describe(name: str, argv: list[str], stdin: bytes = b"") -> ConfinedProcess:
    try:
        return ConfinedProcess(name, await ask(argv, stdin))
    except PrecastError as error:
        return ConfinedProcess(name, (), error.message)
