"""Asks an external node classifier, as Puppet does: a program that gets a node's name and answers in YAML.

It is asked when a node is enrolled, when an operator wants it, and when its answer has become old; never while something is
compiled. Its answer is stored. When it fails, what it said last stays, and the reason is shown beside it.
"""

import asyncio
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from precast.agent.facts.yaml_values import BAD_YAML, load
from precast.base.errors import PrecastError
from precast.services import programs
from precast.services.nodes.classification import Classifier, check
from precast.services.work_kinds import ASK_ENC
from precast.store.engine.database import Database
from precast.store.nodes.classification import Classifications, Saying
from precast.store.nodes.nodes import Fleet
from precast.store.queue.kinds import Asked, Claim
from precast.store.queue.queue import WorkQueue, topic

log = logging.getLogger("precast.enc")

DEADLINE_S = 30.0
MAX_OUT_BYTES = 256 * 1024
AT_ONCE = 4
LEASE_S = 90.0
LOOK_EVERY_S = 300.0
PAGE = 500
MAX_PROBLEM_CHARS = 500


class EncService:
    """Works off who is to be asked about."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        said: Classifications,
        classifier: Classifier,
        work: WorkQueue,
        program: Path,
        every: timedelta,
    ) -> None:
        self._database = database
        self._fleet = fleet
        self._said = said
        self._classifier = classifier
        self._work = work
        self._program = program
        self._every = every

    async def work_off(self, owner: str) -> int:
        """Ask about some nodes, a few at once; how many."""
        claims = await self._work.claim(ASK_ENC.name, owner, limit=AT_ONCE, lease_s=LEASE_S)
        async with asyncio.TaskGroup() as tasks:
            for claim in claims:
                tasks.create_task(self._ask(claim))
        return len(claims)

    async def ask_again(self) -> int:
        """Have those asked about whose answer is old, or who never had one; how many."""
        before = self._database.clock.now() - self._every
        names = await self._database.read(self._said.stale, before, PAGE)
        after = ""
        while page := await self._fleet.list(after, PAGE):
            active = [one.name for one in page if one.deactivated_at is None]
            answered = await self._database.read(self._said.answered, active)
            names += [name for name in active if name not in answered]
            after = page[-1].name
        for at in range(0, len(names), PAGE):
            asked = [Asked(name) for name in names[at : at + PAGE]]
            await self._database.write(self._work.enqueuing_many, ASK_ENC.name, asked)
        return len(names)

    async def run(self, owner: str) -> None:
        """Ask, for ever. Cancelling is safe: what was claimed is anyone's when its lease ends."""
        looked_s: float | None = None
        with self._database.wakeups.subscribe(topic(ASK_ENC.name)) as sleeper:
            while True:
                try:
                    now_s = self._database.clock.monotonic_s()
                    if looked_s is None or now_s - looked_s > LOOK_EVERY_S:
                        await self.ask_again()
                        looked_s = now_s
                    is_idle = not await self.work_off(owner)
                except* PrecastError as group:
                    if any(not error.consequence.retry for error in _leaves(group)):
                        raise
                    is_idle = True
                if is_idle:
                    await sleeper.wait()

    async def _ask(self, claim: Claim) -> None:
        node = claim.key
        try:
            saying = await ask(self._program, node)
        except Unanswered as problem:
            text = str(problem)[:MAX_PROBLEM_CHARS]
            log.warning("%s says nothing about %s: %s", self._program, node, text)
            await self._database.write(self._classifier.failing, node, str(self._program), text)
            await self._work.fail(claim, text)
            return
        await self._database.write(self._classifier.answering, node, str(self._program), saying)
        await self._work.complete(claim)


class Unanswered(Exception):
    """Why there is no answer, in words."""


async def ask(program: Path, node: str) -> Saying:
    """What the program says about a node. Raises Unanswered."""
    environment = {"LANG": "C.UTF-8"}
    ended = await programs.run(
        [program, node], deadline_s=DEADLINE_S, max_out_bytes=MAX_OUT_BYTES, environment=environment
    )
    if ended.trouble:
        raise Unanswered(" ".join(ended.trouble.split()))
    return read_answer(ended.out)


def read_answer(data: bytes) -> Saying:
    """An answer in Puppet's form: classes as a list or a hash, parameters, environment. Raises Unanswered."""
    try:
        found = load(data.decode())
    except BAD_YAML as error:
        raise Unanswered(f"its answer is no plain YAML: {' '.join(str(error).split())}") from None
    if found is None:
        return Saying()
    if not isinstance(found, dict):
        raise Unanswered("its answer is no hash")
    said = {name: found[name] for name in ("environment", "parameters") if found.get(name) is not None}
    try:
        saying = msgspec.convert({**said, "classes": _classes(found.get("classes"))}, Saying, strict=True)
        check(saying)
    except msgspec.ValidationError as error:
        raise Unanswered(f"its answer is not what it should be: {error}") from None
    except PrecastError as error:
        raise Unanswered(error.message) from None
    return saying


def _classes(given: Any) -> dict[str, Any]:
    """Parameters by class. A class may be written with leading colons, as in manifests."""
    if given is None:
        return {}
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list):
        given = dict.fromkeys(map(str, given))
    if not isinstance(given, dict):
        raise Unanswered("its classes are neither a list nor a hash")
    return {
        str(name).removeprefix("::"): {} if parameters is None else parameters for name, parameters in given.items()
    }


def _leaves(group: BaseExceptionGroup[PrecastError]) -> list[PrecastError]:
    found: list[PrecastError] = []
    for one in group.exceptions:
        found += _leaves(one) if isinstance(one, BaseExceptionGroup) else [one]
    return found
