"""The job engine against models: the net of the rest decides like the net of the whole job, and whatever happens to servers, nodes and
clocks in any order, every node is ordered at most once, limits hold, ended steps stay ended, and the job ends."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.clock import ManualClock
from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.local import open_local_signer
from precast.services.jobs.driver import GRACE, LEASE_S
from precast.services.jobs.job_net import TURN, Batch, NetLimits, build_net, find_startable, group_batches
from precast.store.engine.connect import connect
from precast.store.engine.location import SqliteLocation
from precast.store.schema.schema import Schema
from precast.wire.jobs.views import JobLimits, StepResult
from tests.contract.jobs.test_runs import Site

amounts = st.none() | st.integers(1, 5)


@given(st.data(), st.integers(1, 12), amounts, amounts, st.none() | st.integers(0, 3), st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_net_of_the_rest_decides_like_the_net_of_the_whole_job(
    data: st.DataObject, count: int, size: int | None, at_once: int | None, tolerate: int | None, window: int
) -> None:
    nodes = [f"n{number:02}" for number in range(count)]
    batch = {node: number // (size or count) for number, node in enumerate(nodes)}
    limits = NetLimits(at_once, tolerate)
    whole = [Batch(0, [node for node in nodes if batch[node] == number]) for number in sorted(set(batch.values()))]
    net = build_net(limits, 0, whole)
    model = Execution(net)
    waiting, running, failures = list(nodes), list[str](), 0
    while True:
        expected = set[str]()
        while (t := model.start_next()) is not None:
            expected.add(net.transition_name(t).removesuffix(TURN))
        begun = set[str]()
        is_halted = False
        while True:  # the engine handles a few nodes at a time
            free = window if at_once is None else max(0, min(window, at_once - len(running)))
            left = [(node, batch[node]) for node in waiting[: free + 1]]
            at = (min((batch[node] for node in running), default=None), len(running))
            startable = find_startable(limits, failures, group_batches(at, left[:free], len(left) <= free))
            is_halted = startable.is_halted
            if not startable.nodes:
                break
            begun |= set(startable.nodes)
            running += startable.nodes
            waiting = [node for node in waiting if node not in startable.nodes]
        assert begun == expected
        assert is_halted == (not model.tokens[net.places_by_name["go"]])
        if not running:
            break
        ended = data.draw(st.sampled_from(sorted(running)))
        is_failed = data.draw(st.booleans())
        model.finish(net.transitions_by_name[ended + TURN], Outcome.FAILURE if is_failed else Outcome.SUCCESS)
        running.remove(ended)
        failures += is_failed
    assert not waiting or (tolerate is not None and failures > tolerate)


NODES = ("a", "b", "c", "d", "e")
OVER = {"done", "failed", "not-run", "silent", "away", "left-out"}
actions = st.one_of(
    st.tuples(st.just("pass"), st.sampled_from([0, 1])),
    st.tuples(st.sampled_from(["begin", "end", "fail", "leave"]), st.sampled_from(NODES)),
    st.tuples(st.just("time"), st.sampled_from([1, int(LEASE_S) + 1, 20, 60])),
    st.tuples(st.just("crash"), st.sampled_from([0, 1])),
    st.just(("stop", 0)),
)


@given(st.lists(actions, max_size=25), amounts, amounts, st.none() | st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_every_node_is_ordered_at_most_once_and_the_job_ends(
    happening: list[tuple[str, Any]], batch: int | None, at_once: int | None, tolerate: int | None
) -> None:
    asyncio.run(_happen(happening, batch, at_once, tolerate))


async def _happen(
    happening: list[tuple[str, Any]], batch: int | None, at_once: int | None, tolerate: int | None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        clock = ManualClock()
        database = await connect(SqliteLocation(Path(name) / "db"), may_create=True, clock=clock)
        try:
            await Schema(database).expand()
            files = AuthorityFiles(Path(name) / "authority")
            with files.created(Authority.new(clock.now())):
                pass
            signer = await open_local_signer(files, clock)
            sites = [Site(database, signer, "s0"), Site(database, signer, "s1")]
            await sites[0].connect(*NODES)
            limits = JobLimits(
                None if batch is None else str(batch),
                None if at_once is None else str(at_once),
                None if tolerate is None else str(tolerate),
                begin_s=30,
                take_s=30,
            )
            run = await sites[0].start(*NODES, limits=limits)
            history = _History(sites[0], run, at_once)
            for what, which in happening:
                await _do(sites, clock, run, what, which)
                await history.look()
            for _ in range(2 * len(NODES) + 2):
                clock.advance(30 + GRACE.total_seconds())
                await sites[0].connect()
                await _drive(sites[0], run)
                await history.look()
            view = await sites[0].service.show(run)
            assert view.is_over
            assert set(view.counts) <= OVER
        finally:
            await database.close()


async def _drive(site: Site, run: str) -> None:
    await site.driver.take_on(site.name)
    await site.driver.advance(run)


async def _do(sites: list[Site], clock: ManualClock, run: str, what: str, which: Any) -> None:
    site = sites[0]
    if what == "pass":
        await _drive(sites[which], run)
    elif what == "crash":
        sites[which] = Site(site.database, sites[which].name + "x")  # another process without claims
    elif what == "time":
        clock.advance(which)
        await site.sessions.renew_lease("s0", "s0", 3600, 0)
    elif what == "begin":
        await site.begin(run, which)
    elif what == "leave":
        await site.sessions.end("s0", [(which, 1)])
    elif what == "stop":
        if (await site.service.show(run)).state in ("going", "halting"):
            await site.service.stop(run, "person:ann")
    else:
        result = StepResult(failed=1) if what == "fail" else StepResult(changed=1)
        await site.end(run, which, result=result)


class _History:
    """The states seen so far, and the checks of what may follow them."""

    def __init__(self, site: Site, run: str, at_once: int | None) -> None:
        self._site, self._run, self._at_once = site, run, at_once
        self._ended: dict[str, str] = {}
        self._ordered: set[str] = set()
        self._is_closed = False

    async def look(self) -> None:
        states = await self._site.states(self._run)
        orders = {node: len(await self._site.orders_of(node)) for node in NODES}
        assert all(count <= 1 for count in orders.values()), orders
        ordered = {node for node, count in orders.items() if count}
        # An order and its step are one transaction.
        assert ordered == {node for node in NODES if states[node] not in ("waiting", "away", "left-out")}
        assert not self._is_closed or ordered == self._ordered
        self._ordered = ordered
        at_it = sum(state in ("ordered", "began") for state in states.values())
        assert self._at_once is None or at_it <= self._at_once
        for node, state in self._ended.items():
            assert states[node] == state
        self._ended = {node: state for node, state in states.items() if state in OVER}
        self._is_closed = (await self._site.service.show(self._run)).state != "going"
