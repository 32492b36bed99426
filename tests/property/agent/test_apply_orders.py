"""The fast path against `--serial`, and both against a model, over generated catalogs with everything the rules are about.

Catalogs have cells that copy each other, guarded commands, refreshes through classes, recursion, purging, errors that depend on the
state, failures, no-op, tags, schedules, futures and messages. For each the fast path, with everything that may be checked ahead
checked ahead, must leave the same cells, run the same user's commands in the same order and tell the same reports as the serial one.
"""

import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.applying.memory import Memory
from precast.agent.applying.options import Options
from precast.catalog.body import Body, ResourceData
from precast.types.ordering import graph
from precast.wire.reports.events import ResourceReport
from tests.property.agent.apply_model import Model
from tests.unit.agent.applying.world import Ran, body, resource, run

EXAMPLES = int(os.environ.get("PRECAST_APPLY_EXAMPLES", "150"))
NAMES = ["a", "b", "t/a", "t/b", "t/c"]
VALUES = ["1", "2", "bad"]
RELATIONS = ["before", "notify", "require", "subscribe"]
CLASSES = ["Class[One]", "Class[Two]"]

cells = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES))
metaparameters = st.fixed_dictionaries(
    {},
    optional={
        "noop": st.just(True),
        "schedule": st.sampled_from(["never", "daily"]),
        "audit": st.just("all"),
        "loglevel": st.just("info"),
    },
)


@st.composite
def one_resource(draw: st.DrawFn, number: int) -> ResourceData:
    kind = draw(st.sampled_from(["cell", "cell", "cell", "command", "command", "tree", "message", "locked"]))
    parameters: dict[str, Any] = dict(draw(metaparameters)) if draw(st.integers(0, 3)) == 0 else {}
    title = f"{kind}{number}"
    if kind == "cell":
        title = draw(st.sampled_from([*NAMES, title]))
        wish = draw(st.integers(0, 4))
        parameters |= (
            {"copies": draw(st.sampled_from(NAMES))} if wish == 0 else {"value": draw(st.sampled_from(VALUES))}
        )
        if wish == 1:
            parameters["value"] = {
                "__ptype": "Precast::Future",
                "__pvalue": draw(st.sampled_from(["known", "unknown"])),
            }
        if draw(st.booleans()):
            parameters["fails_if"] = draw(st.sampled_from(NAMES))
        if draw(st.integers(0, 5)) == 0:
            parameters["breaks"] = True
    elif kind in ("command", "locked"):
        parameters |= draw(
            st.fixed_dictionaries(
                {"sets": st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES), max_size=2)},
                optional={
                    "guard": st.sampled_from(NAMES),
                    "unless": st.sampled_from(VALUES),
                    "refreshonly": st.just(True),
                    "breaks": st.just(True),
                },
            )
        )
    elif kind == "tree":
        title = draw(st.sampled_from(["t", title]))
        if draw(st.booleans()):
            parameters["value"] = draw(st.sampled_from(VALUES))
    return resource(kind, title, tags=draw(st.lists(st.sampled_from(["x", "y"]), max_size=1)), **parameters)


@st.composite
def catalogs(draw: st.DrawFn) -> Body:
    """Resources with relationships from earlier to later ones, so that there is no cycle, some of them in classes."""
    found: dict[str, ResourceData] = {}
    for number in range(draw(st.integers(1, 8))):
        each = draw(one_resource(number))
        found.setdefault(each.ref, each)
    if draw(st.integers(0, 3)) == 0:
        found["Resources[cell]"] = resource("resources", "cell", purge=True)
    resources = list(found.values())
    inside = {each.ref: draw(st.sampled_from([None, None, *CLASSES])) for each in resources}
    refs = [each.ref for each in resources]
    for index in range(len(resources)):
        for _ in range(draw(st.integers(0, 2))):
            _relate(draw, resources, index, refs, inside)
    classes = [resource("class", name.removeprefix("Class[").removesuffix("]")) for name in CLASSES]
    return body(*classes, *resources, edges=[(each, ref) for ref, each in inside.items() if each is not None])


def _relate(
    draw: st.DrawFn, resources: list[ResourceData], index: int, refs: list[str], inside: dict[str, Any]
) -> None:
    relation = draw(st.sampled_from(RELATIONS))
    is_forward = relation in ("before", "notify")
    others = range(index + 1, len(refs)) if is_forward else range(index)
    if not others:
        return
    target = refs[draw(st.sampled_from(list(others)))]
    # The classes are in order too: the first holds nothing that waits for the second.
    around, other = inside[refs[index]], inside[target]
    first, second = (around, other) if is_forward else (other, around)
    if around != other and (first, second) != (CLASSES[0], CLASSES[1]):
        return
    name = other if other is not None and other != around and draw(st.booleans()) else target
    resources[index].parameters.setdefault(relation, []).append(name)


# Everything is said: what is not, would be anything that has the right type. The graph's order leaves reports in the order they came.
options = st.builds(
    Options,
    is_noop=st.booleans(),
    is_serial=st.just(False),
    ordering=st.just("manifest"),
    at_once=st.just(8),
    tags=st.sampled_from([frozenset[str](), frozenset[str](), frozenset(["x"])]),
    skip_tags=st.sampled_from([frozenset[str](), frozenset(["y"])]),
    runs_guards=st.booleans(),
    ignores_schedules=st.booleans(),
)


def told(ran: Ran) -> list[ResourceReport]:
    return ran.reports


def remembering() -> Memory:
    memory = Memory()
    memory.promise("known", "2")
    memory.keep("Cell[a]", {"value": "1"})
    memory._states.update(memory._new_states)
    return memory


@settings(max_examples=EXAMPLES)
@given(catalogs(), cells, options)
def test_fast_path_equals_serial(catalog: Body, start: dict[str, str], wish: Options) -> None:
    serial = run(catalog, start, wish._replace(is_serial=True), memory=remembering())
    fast = run(catalog, start, wish, memory=remembering())
    assert told(fast) == told(serial)
    assert fast.world.cells == serial.world.cells
    assert fast.world.deeds == serial.world.deeds
    assert fast.memory._new_states == serial.memory._new_states


def is_plain(catalog: Body) -> bool:
    """Whether the model, which knows nothing of no-op, schedules and purging, can follow."""
    return not any(
        each.type == "Resources" or {"noop", "schedule"} & set(each.parameters) for each in catalog.resources
    )


@settings(max_examples=EXAMPLES)
@given(catalogs().filter(is_plain), cells)
def test_run_equals_a_model_by_brute_force(catalog: Body, start: dict[str, str]) -> None:
    model = Model(catalog, start, {"known": "2"}).run()
    for options in (Options(), Options(is_serial=True)):
        ran = run(catalog, start, options, memory=remembering())
        assert ran.world.cells == model.cells
        assert ran.world.deeds == model.deeds
        assert ran.statuses() == model.statuses


@settings(max_examples=EXAMPLES)
@given(catalogs(), cells, options)
def test_noop_does_nothing_but_run_guards(catalog: Body, start: dict[str, str], wish: Options) -> None:
    ran = run(catalog, start, wish._replace(is_noop=True))
    assert ran.world.cells == start
    assert all(deed.startswith("guard ") for deed in ran.world.deeds)
    assert ran.memory._new_states == {}
    assert ran.memory._new_applied == {}


@settings(max_examples=EXAMPLES)
@given(catalogs(), cells)
def test_every_resource_is_told_once_and_after_what_it_needs(catalog: Body, start: dict[str, str]) -> None:
    for ordering in ("manifest", "graph"):
        ran = run(catalog, start, Options(ordering=ordering))
        refs = [report.resource for report in ran.reports]
        assert len(set(refs)) == len(refs)
        assert set(refs) >= {each.ref for each in catalog.resources if each.type != "Class"}
        place = {ref: index for index, ref in enumerate(refs)}
        needs = graph(catalog).needs()
        for ref in refs:
            if ("do", ref) in needs and ran.statuses()[ref] != "skipped" and ran.statuses()[ref] != "waiting":
                assert all(place[before] < place[ref] for before in _before(needs, ref))


def _before(needs: dict[tuple[str, str], list[tuple[str, str]]], ref: str) -> set[str]:
    """All resources that must have ended, through containers too."""
    waiting, seen = [("do", ref)], {("do", ref)}
    while waiting:
        for moment in needs[waiting.pop()]:
            if moment not in seen:
                seen.add(moment)
                waiting.append(moment)
    return {name for kind, name in seen if kind == "do" and name != ref}
