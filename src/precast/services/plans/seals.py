"""Has the signer seal the programs of a run that run commands: for each node, valid for the orders of this run until a time.

The signer verifies the person's own token. A server that drives the run can change neither a program nor its nodes.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from precast.services.identity.signer.messages import MAX_ITEMS, Command, Credential
from precast.services.identity.signer.verbs.commands import LONGEST
from precast.services.jobs.requests import JobRequest, explain
from precast.services.jobs.sealed_commands import CommandSigner
from precast.store.plans.runs import ProgramRow

# The seal of a task on a node.
Seals = Mapping[tuple[int, str], bytes]


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
        command = Command([], timeout_s, request.output_bytes, explain(request, made_by), program.program)
        for start in range(0, len(program.nodes), MAX_ITEMS):
            part = list(program.nodes[start : start + MAX_ITEMS])
            given = await signer.seal_standing(job, command, part, until, credential)
            seals.update({(program.task, node): seal for node, seal in zip(part, given, strict=True)})
    return SealedPrograms(seals, until if seals else None)
