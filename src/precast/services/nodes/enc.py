"""Asks an external node classifier (ENC), as Puppet does: a program that gets a node's name and answers in YAML.

The ENC is asked when a node is enrolled, when an operator requests it, and when its answer is stale; never during a compile. Its
answer is stored. When it fails, its last answer stays in effect, and the reason is shown with it.
"""

import asyncio
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from precast.agent.facts.yaml_values import BAD_YAML, load
from precast.base import async_programs
from precast.base.errors import PrecastError
from precast.services.nodes.classification import Classifier, check
from precast.services.work_kinds import ASK_ENC
from precast.store.engine.database import Database
from precast.store.nodes.classification import Classifications, ClassificationValues
from precast.store.nodes.nodes import Fleet
from precast.store.queue.kinds import Claim, ItemRequest
from precast.store.queue.queue import WorkQueue, topic

log = logging.getLogger("precast.enc")

DEADLINE_S = 30.0
MAX_OUT_BYTES = 256 * 1024
AT_ONCE = 4
LEASE_S = 90.0
ENQUEUE_EVERY_S = 300.0
PAGE = 500
MAX_PROBLEM_CHARS = 500


class EncService:
    """Processes the queue of nodes that the ENC is asked about."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        sources: Classifications,
        classifier: Classifier,
        work: WorkQueue,
        program: Path,
        every: timedelta,
    ) -> None:
        self._database = database
        self._fleet = fleet
        self._sources = sources
        self._classifier = classifier
        self._work = work
        self._program = program
        self._every = every

    async def work_off(self, owner: str) -> int:
        """Ask about some nodes, a few concurrently; returns how many."""
        claims = await self._work.claim(ASK_ENC.name, owner, limit=AT_ONCE, lease_s=LEASE_S)
        async with asyncio.TaskGroup() as tasks:
            for claim in claims:
                tasks.create_task(self._ask(claim))
        return len(claims)

    async def enqueue_stale(self) -> int:
        """Enqueue the nodes whose answer is stale or missing; returns how many."""
        before = self._database.clock.now() - self._every
        names = await self._database.read(self._sources.list_stale, before, PAGE)
        after = ""
        while page := await self._fleet.list(after, PAGE):
            active = [node.name for node in page if node.deactivated_at is None]
            answered = await self._database.read(self._sources.filter_answered, active)
            names += [name for name in active if name not in answered]
            after = page[-1].name
        for start in range(0, len(names), PAGE):
            items = [ItemRequest(name) for name in names[start : start + PAGE]]
            await self._database.write(self._work.enqueue_items, ASK_ENC.name, items)
        return len(names)

    async def run(self, owner: str) -> None:
        """Process the queue for ever. Cancelling is safe: a claimed item becomes free when its lease expires."""
        enqueued_s: float | None = None
        with self._database.wakeups.subscribe(topic(ASK_ENC.name)) as sleeper:
            while True:
                try:
                    now_s = self._database.clock.monotonic_s()
                    if enqueued_s is None or now_s - enqueued_s > ENQUEUE_EVERY_S:
                        await self.enqueue_stale()
                        enqueued_s = now_s
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
            values = await ask(self._program, node)
        except EncError as problem:
            text = str(problem)[:MAX_PROBLEM_CHARS]
            log.warning("%s did not classify %s: %s", self._program, node, text)
            await self._database.write(self._classifier.store_enc_failure, node, str(self._program), text)
            await self._work.fail(claim, text)
            return
        await self._database.write(self._classifier.store_enc_answer, node, str(self._program), values)
        await self._work.complete(claim)


class EncError(Exception):
    """The reason why the ENC gave no usable answer."""


async def ask(program: Path, node: str) -> ClassificationValues:
    """Run the program for a node and parse its answer. Raises EncError."""
    environment = {"LANG": "C.UTF-8"}
    ended = await async_programs.run(
        [program, node], deadline_s=DEADLINE_S, max_out_bytes=MAX_OUT_BYTES, environment=environment
    )
    if ended.trouble:
        raise EncError(" ".join(ended.trouble.split()))
    return read_answer(ended.out)


def read_answer(data: bytes) -> ClassificationValues:
    """Parse an answer in Puppet's form: classes as a list or a hash, parameters, environment. Raises EncError."""
    try:
        answer = load(data.decode())
    except BAD_YAML as error:
        raise EncError(f"its answer is not plain YAML: {' '.join(str(error).split())}") from None
    if answer is None:
        return ClassificationValues()
    if not isinstance(answer, dict):
        raise EncError("its answer is not a hash")
    given = {name: answer[name] for name in ("environment", "parameters") if answer.get(name) is not None}
    try:
        values = msgspec.convert(
            {**given, "classes": _classes(answer.get("classes"))}, ClassificationValues, strict=True
        )
        check(values)
    except msgspec.ValidationError as error:
        raise EncError(f"its answer is invalid: {error}") from None
    except PrecastError as error:
        raise EncError(error.message) from None
    return values


def _classes(classes: Any) -> dict[str, Any]:
    """Normalise classes to parameters by class. A class may have leading colons, as in manifests."""
    if classes is None:
        return {}
    if isinstance(classes, str):
        classes = [classes]
    if isinstance(classes, list):
        classes = dict.fromkeys(map(str, classes))
    if not isinstance(classes, dict):
        raise EncError("its classes are neither a list nor a hash")
    return {
        str(name).removeprefix("::"): {} if parameters is None else parameters for name, parameters in classes.items()
    }


def _leaves(group: BaseExceptionGroup[PrecastError]) -> list[PrecastError]:
    errors: list[PrecastError] = []
    for error in group.exceptions:
        errors += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return errors
