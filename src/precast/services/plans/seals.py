"""Has the signer seal the programs of a run that run commands: for each node, valid for the orders of this run until a time.

The signer verifies the person's own token. A server that drives the run can change neither a program nor its nodes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from precast.base import digests
from precast.services.identity.signer.messages import MAX_ITEMS, Command, Credential
from precast.services.identity.signer.verbs.commands import LONGEST
from precast.services.jobs.requests import JobRequest, explain
from precast.services.jobs.sealed_commands import CommandSigner
from precast.services.plans import issues
from precast.store.plans.runs import ProgramRow
from precast.wire.jobs.programs import parse_program

# The seal of a task on a node.
Seals = Mapping[tuple[int, str], bytes]


# The standing seals of an action's programs, each by the digest of what it is for.
StandingSeals = dict[str, bytes]


class SealedPrograms(NamedTuple):
    """The seals, and until when the signer signs the orders of the run; None if no program needs a seal."""

    seals: Seals
    until: datetime | None


async def seal_programs(
    signer: CommandSigner,
    job: str,
    request: JobRequest,
    made_by: str,
    programs: Iterable[tuple[ProgramRow, float]],
    credential: Credential | None,
    now: datetime,
) -> SealedPrograms:
    """Seal programs, given with the time that each may take. Raises the signer's error; then nothing is ordered."""
    until, seals = now + LONGEST, {}
    for program, timeout_s in programs:
        command = _make_command(program, timeout_s, request, made_by)
        for start in range(0, len(program.nodes), MAX_ITEMS):
            part = list(program.nodes[start : start + MAX_ITEMS])
            given = await signer.seal_standing(job, command, part, until, credential)
            seals.update({(program.task, node): seal for node, seal in zip(part, given, strict=True)})
    return SealedPrograms(seals, until if seals else None)


async def seal_standing_programs(
    signer: CommandSigner,
    action: str,
    request: JobRequest,
    made_by: str,
    programs: Iterable[tuple[ProgramRow, float]],
    until: datetime,
    credential: Credential | None,
    *,
    is_for_any: bool,
) -> dict[str, StandingSeals]:
    """Seal programs that an action repeats until a time: for their nodes, or for any node (under an empty name).

    Raises the signer's error; then nothing is ordered.
    """
    seals: dict[str, StandingSeals] = defaultdict(dict)
    for program, timeout_s in programs:
        command = _make_command(program, timeout_s, request, made_by)
        nodes = [] if is_for_any else list(program.nodes)
        for start in range(0, max(1, len(nodes)), MAX_ITEMS):
            part = nodes[start : start + MAX_ITEMS]
            given = await signer.seal_standing(action, command, part, until, credential)
            for node, seal in zip(part or [""], given, strict=True):
                seals[node][digests.of_value(command)] = seal
    return seals


def find_standing_seals(
    seals: Mapping[str, StandingSeals],
    request: JobRequest,
    made_by: str,
    programs: Iterable[tuple[ProgramRow, float]],
) -> Seals:
    """The seals of programs among those of an action. Raises ConflictError PLAN-119 if one is not what was ordered."""
    found: dict[tuple[int, str], bytes] = {}
    for program, timeout_s in programs:
        digest = digests.of_value(_make_command(program, timeout_s, request, made_by))
        for node in program.nodes:
            seal = seals.get(node, {}).get(digest) or seals.get("", {}).get(digest)
            if seal is None:
                raise issues.NOT_ORDERED.error(task=parse_program(program.program).task, node=node)
            found[program.task, node] = seal
    return found


def _make_command(program: ProgramRow, timeout_s: float, request: JobRequest, made_by: str) -> Command:
    return Command([], timeout_s, request.output_bytes, explain(request, made_by), program.program)
