"""Compares the fast path with `--serial`, and both with a model, over generated catalogs.

Catalogs have cells that copy each other, guarded commands, refreshes through classes, recursion, purging, errors that depend on the
state, failures, no-op, tags, schedules, futures and messages. For each catalog the fast path, with every possible check made ahead,
must leave the same cells, run the same commands in the same order and make the same reports as the serial run.
"""

import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.applying.options import RunOptions
from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.futures.key_states import KeyState
from precast.agent.futures.run_values import RunValues
from precast.catalog.body import Body, ResourceData
from precast.types.ordering import graph
from tests.property.agent.apply_model import Model
from tests.unit.agent.applying.world import body, resource, run

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
def drawn_resource(draw: st.DrawFn, number: int) -> ResourceData:
    kind = draw(st.sampled_from(["cell", "cell", "cell", "command", "command", "tree", "message", "locked"]))
    parameters: dict[str, Any] = dict(draw(metaparameters)) if draw(st.integers(0, 3)) == 0 else {}
    title = f"{kind}{number}"
    if kind == "cell":
        title = draw(st.sampled_from([*NAMES, title]))
        choice = draw(st.integers(0, 4))
        parameters |= (
            {"copies": draw(st.sampled_from(NAMES))} if choice == 0 else {"value": draw(st.sampled_from(VALUES))}
        )
        if choice == 1:
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
    by_ref: dict[str, ResourceData] = {}
    for number in range(draw(st.integers(1, 8))):
        drawn = draw(drawn_resource(number))
        by_ref.setdefault(drawn.ref, drawn)
    if draw(st.integers(0, 3)) == 0:
        by_ref["Resources[cell]"] = resource("resources", "cell", purge=True)
    resources = list(by_ref.values())
    inside = {data.ref: draw(st.sampled_from([None, None, *CLASSES])) for data in resources}
    refs = [data.ref for data in resources]
    for index in range(len(resources)):
        for _ in range(draw(st.integers(0, 2))):
            _relate(draw, resources, index, refs, inside)
    classes = [resource("class", name.removeprefix("Class[").removesuffix("]")) for name in CLASSES]
    return body(
        *classes, *resources, edges=[(container, ref) for ref, container in inside.items() if container is not None]
    )


def _relate(
    draw: st.DrawFn, resources: list[ResourceData], index: int, refs: list[str], inside: dict[str, Any]
) -> None:
    relation = draw(st.sampled_from(RELATIONS))
    is_forward = relation in ("before", "notify")
    others = range(index + 1, len(refs)) if is_forward else range(index)
    if not others:
        return
    target = refs[draw(st.sampled_from(list(others)))]
    # The classes are ordered too: no resource of the first waits for one of the second.
    around, other = inside[refs[index]], inside[target]
    first, second = (around, other) if is_forward else (other, around)
    if around != other and (first, second) != (CLASSES[0], CLASSES[1]):
        return
    name = other if other is not None and other != around and draw(st.booleans()) else target
    resources[index].parameters.setdefault(relation, []).append(name)


# Every option is given: Hypothesis would draw the others by their types. With graph ordering the order of reports would vary.
options = st.builds(
    RunOptions,
    is_noop=st.booleans(),
    is_serial=st.just(False),
    ordering=st.just("manifest"),
    at_once=st.just(8),
    tags=st.sampled_from([frozenset[str](), frozenset[str](), frozenset(["x"])]),
    skip_tags=st.sampled_from([frozenset[str](), frozenset(["y"])]),
    runs_guards=st.booleans(),
    ignores_schedules=st.booleans(),
)


def filled_values() -> RunValues:
    return RunValues([KeyState("known", "web1", "fulfilled", value=b'"2"', is_standing=True)])


def filled_memory() -> ResourceMemory:
    memory = ResourceMemory()
    memory.remember("Cell[a]", {"value": "1"})
    memory._states.update(memory._new_states)
    return memory


@settings(max_examples=EXAMPLES)
@given(catalogs(), cells, options)
def test_fast_path_equals_serial(catalog: Body, start: dict[str, str], chosen: RunOptions) -> None:
    serial = run(catalog, start, chosen._replace(is_serial=True), memory=filled_memory(), values=filled_values())
    fast = run(catalog, start, chosen, memory=filled_memory(), values=filled_values())
    assert fast.reports == serial.reports
    assert fast.world.cells == serial.world.cells
    assert fast.world.operations == serial.world.operations
    assert fast.memory._new_states == serial.memory._new_states


def is_plain(catalog: Body) -> bool:
    """Whether the model can run a catalog: it has neither no-op nor schedules nor purging."""
    return not any(
        data.type == "Resources" or {"noop", "schedule"} & set(data.parameters) for data in catalog.resources
    )


@settings(max_examples=EXAMPLES)
@given(catalogs().filter(is_plain), cells)
def test_run_equals_a_model_by_brute_force(catalog: Body, start: dict[str, str]) -> None:
    model = Model(catalog, start, {"known": "2"}).run()
    for options in (RunOptions(), RunOptions(is_serial=True)):
        ran = run(catalog, start, options, memory=filled_memory(), values=filled_values())
        assert ran.world.cells == model.cells
        assert ran.world.operations == model.operations
        assert ran.statuses() == model.statuses


@settings(max_examples=EXAMPLES)
@given(catalogs(), cells, options)
def test_noop_does_nothing_but_run_guards(catalog: Body, start: dict[str, str], chosen: RunOptions) -> None:
    ran = run(catalog, start, chosen._replace(is_noop=True))
    assert ran.world.cells == start
    assert all(operation.startswith("guard ") for operation in ran.world.operations)
    assert ran.memory._new_states == {}
    assert ran.memory._new_applied == {}


@settings(max_examples=EXAMPLES)
@given(catalogs(), cells)
def test_every_resource_is_reported_once_and_after_what_it_needs(catalog: Body, start: dict[str, str]) -> None:
    for ordering in ("manifest", "graph"):
        ran = run(catalog, start, RunOptions(ordering=ordering))
        refs = [report.resource for report in ran.reports]
        assert len(set(refs)) == len(refs)
        assert set(refs) >= {data.ref for data in catalog.resources if data.type != "Class"}
        place = {ref: index for index, ref in enumerate(refs)}
        needs = graph(catalog).needs()
        for ref in refs:
            if ("do", ref) in needs and ran.statuses()[ref] != "skipped" and ran.statuses()[ref] != "waiting":
                assert all(place[before] < place[ref] for before in _before(needs, ref))


def _before(needs: dict[tuple[str, str], list[tuple[str, str]]], ref: str) -> set[str]:
    """All resources that must have ended before, also through containers."""
    waiting, seen = [("do", ref)], {("do", ref)}
    while waiting:
        for point in needs[waiting.pop()]:
            if point not in seen:
                seen.add(point)
                waiting.append(point)
    return {name for kind, name in seen if kind == "do" and name != ref}
