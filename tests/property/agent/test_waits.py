"""Random catalogs whose resources need values that come, fail or never come, in any order: the end is that of a simple model."""

import random
import threading
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.applying.options import RunOptions
from precast.agent.futures.key_states import KeyState
from precast.base.clock import ManualClock
from precast.catalog.body import Body, ResourceData
from precast.catalog.futures import TIMEOUT_S
from tests.unit.agent.applying.test_waits import DEADLINE_S, JobValues
from tests.unit.agent.applying.world import RunOutcome, body, resource, run

EXAMPLES = 60
# Between the ends of two keys: a run gets some way, or not.
PAUSE_S = 0.005
KEYS = ("k0", "k1", "k2")
# What becomes of a key: it is fulfilled, its producer fails, it stays pending to the deadline, or nobody promises it.
FATES = ("fulfilled", "failed", "late", "absent")
ORDERS = (RunOptions(), RunOptions(is_serial=True), RunOptions(ordering="graph"))


@st.composite
def catalogs(draw: st.DrawFn) -> Body:
    resources: list[ResourceData] = []
    for index in range(draw(st.integers(1, 7))):
        earlier = [f"{each.type}[{each.title}]" for each in resources]
        requires = draw(st.lists(st.sampled_from(earlier), unique=True, max_size=2)) if earlier else []
        key = draw(st.sampled_from([None, *KEYS]))
        value = "1" if key is None else {"__ptype": "Precast::Future", "__pvalue": key}
        more: dict[str, Any] = {"breaks": True} if draw(st.integers(0, 5)) == 0 else {}
        if requires:
            more["require"] = requires
        if draw(st.booleans()):
            resources.append(resource("cell", f"r{index}", value=value, **more))
        else:
            resources.append(resource("locked", f"r{index}", sets={f"r{index}": value}, **more))
    return body(*resources)


def find_faults(catalog: Body, fates: dict[str, str], statuses: dict[str, str]) -> list[str]:
    """The resources whose status does not follow from those that they require and from what becomes of their keys."""
    return [each.ref for each in catalog.resources if statuses.get(each.ref) not in allow(each, fates, statuses)]


def allow(each: ResourceData, fates: dict[str, str], statuses: dict[str, str]) -> set[str]:
    """How a resource may end. If it requires one that failed and one that waits in vain, the one that ended first decides."""
    before = {statuses[ref] for ref in each.parameters.get("require", [])}
    blocked = {"waiting" if status == "waiting" else "skipped" for status in before - {"changed"}}
    if blocked:
        return blocked
    value = each.parameters.get("value") or each.parameters["sets"][each.title]
    fate = fates[value["__pvalue"]] if isinstance(value, dict) else "fulfilled"
    if fate == "absent":
        return {"waiting"}
    return {"failed"} if fate in ("failed", "late") or "breaks" in each.parameters else {"changed"}


def run_with(catalog: Body, fates: dict[str, str], order: list[str], options: RunOptions) -> RunOutcome:
    """Run it; one key after the other comes to its end meanwhile, and at last the deadlines pass."""
    clock = ManualClock()
    states = {key: KeyState(key, f"of-{key}", "pending") for key in KEYS if fates[key] != "absent"}
    values = JobValues(*states.values(), clock=clock)
    outcome: list[RunOutcome] = []
    running = threading.Thread(target=lambda: outcome.append(run(catalog, None, options, values=values, clock=clock)))
    running.start()
    left = [key for key in order if fates[key] in ("fulfilled", "failed")]
    until_s = time.monotonic() + DEADLINE_S
    while running.is_alive() and time.monotonic() < until_s:
        running.join(PAUSE_S)
        if left:
            key = left.pop()
            fate = "fulfilled" if fates[key] == "fulfilled" else "failed"
            states[key] = KeyState(key, f"of-{key}", fate, 2, b'"1"')  # type: ignore[arg-type]
        else:
            clock.advance(TIMEOUT_S)
        values.set(*states.values())
    running.join(DEADLINE_S)
    return outcome[0]


@settings(max_examples=EXAMPLES, deadline=None)
@given(catalogs(), st.tuples(*(st.sampled_from(FATES) for _ in KEYS)), st.integers(0, 5))
def test_run_with_waits_ends_as_the_model(catalog: Body, chosen: tuple[str, ...], seed: int) -> None:
    fates = dict(zip(KEYS, chosen, strict=True))
    order = list(KEYS)
    random.Random(seed).shuffle(order)
    for options in ORDERS:
        outcome = run_with(catalog, fates, order, options)
        assert outcome.is_complete
        assert find_faults(catalog, fates, outcome.statuses()) == []
