"""A flood of results on both databases: a job that gets one takes its turns with the others."""

import msgspec

from lab.job_engine import JobEngine
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import PAGE, AttemptKey
from precast.wire.jobs.orders import OutputLine
from precast.wire.jobs.views import OutputView


async def read_output(site: JobEngine, job: str) -> list[int]:
    """The numbers of the first lines of a job's output, in the order in which viewers get them."""
    found: list[int] = []
    after = -1
    while True:
        page = await site.service.changes(job, max(after, 0), 0, with_output=True)
        found += [change.first for change in page.changes if isinstance(change, OutputView)]
        if page.after == after:
            return found
        after = page.after


async def test_flood_of_output_of_one_job_does_not_delay_the_end_of_another(site: JobEngine) -> None:
    flooding, small = await site.start("a"), await site.start("b")
    await site.drive()
    await site.claim(flooding, "a")
    await site.claim(small, "b")
    line = msgspec.json.encode([OutputLine("out", "x")])

    def flood() -> Transaction[None]:
        for first in range(5 * PAGE):
            yield from site.attempts.add_output(AttemptKey(flooding, 1, "a", 1), first, line)

    await site.driver.handle(site.name)
    await site.database.write_alone(flood)
    await site.end(small, "b")
    site.driver._due.update((flooding, small))
    await site.driver.handle(site.name)
    assert (await site.service.show(small)).state == "done"
    job = await site.database.read(site.jobs.find, flooding)
    assert job is not None
    assert 0 < job.changes < 5 * PAGE, "the rest of the output waits for the next pass"
    await site.end(flooding, "a")
    for _ in range(3):
        site.driver._due.add(flooding)
        await site.driver.handle(site.name)
    assert (await site.service.show(flooding)).state == "done"
    assert await read_output(site, flooding) == list(range(5 * PAGE))
