"""Maintenance windows on both databases: stored, bound, audited, and when they are open for which node."""

from datetime import UTC, datetime, timedelta

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError, NotFoundError
from precast.base.ids import TimeOrderedIds
from precast.services.query.known_nodes import KnownNodes
from precast.services.windows.bound_nodes import CACHED_S, FEW, BoundNodes
from precast.services.windows.definitions import WindowDefinitions
from precast.services.windows.expansion import WindowExpansions
from precast.services.windows.openings import WindowService
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.nodes.nodes import Fleet, NodeClassification
from precast.store.sessions.sessions import Sessions
from precast.store.windows.windows import Windows
from precast.wire.windows.bodies import ActionClass, BindingBody, WindowBody
from precast.wire.windows.intervals import is_open, may_start

ANN = "person:ann"
CALENDAR = """BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;TZID=Europe/Berlin:20300105T220000
DTEND;TZID=Europe/Berlin:20300106T040000
RRULE:FREQ=WEEKLY;BYDAY=SA
END:VEVENT
END:VCALENDAR
"""


class Site:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.audit = AuditLog(database, TimeOrderedIds(database.clock))
        known = KnownNodes(database, Fleet(database), Sessions(database))
        nodes, windows = BoundNodes(known, database.clock), Windows(database)
        self.openings = WindowService(database, windows, known, nodes, WindowExpansions())
        self.service = WindowDefinitions(database, windows, self.openings, nodes, self.audit)

    async def enrol(self, *names: str) -> None:
        for name in names:
            await self.database.write(NodeCertificates(self.database).lock_or_create, name)

    async def put(self, name: str, *rules: str, is_blackout: bool = False) -> None:
        await self.service.put(name, WindowBody(list(rules), is_blackout=is_blackout), ANN)

    async def bind(self, name: str, target: str, *classes: ActionClass, abort: bool = False) -> None:
        body = BindingBody(target, list(classes) or ["all"], "abort" if abort else "finish")
        await self.service.bind(name, body, ANN)

    async def spans(self, node: str, class_: ActionClass = "run-enforce", days: int = 7) -> list[str] | None:
        now = self.database.clock.now()
        found = (await self.openings.openings([node], class_, now, now + timedelta(days=days)))[node]
        if found is None:
            return None
        return [f"{span.opens_at:%m-%d %H:%M} {span.closes_at:%m-%d %H:%M}" for span in found.intervals]

    async def entries(self) -> list[tuple[str, str]]:
        return [(entry.action, entry.target) for entry in reversed(await self.audit.read_latest())]


@pytest.fixture
async def site(database: Database, clock: ManualClock) -> Site:
    assert clock.now() == datetime(2030, 1, 1, tzinfo=UTC), "a Tuesday"
    made = Site(database)
    await made.enrol("db1", "web1", "web2")
    return made


async def test_window_from_its_creation_to_its_removal(site: Site) -> None:
    row = await site.service.put("nights", WindowBody(["daily 2:00 60m", "sat 22:00 6h Europe/Berlin"]), ANN)
    assert (row.kind, row.is_blackout, row.made_by, row.bindings) == ("rules", False, ANN, 0)
    assert row.next is not None
    assert f"{row.next.opens_at:%m-%d %H:%M}" == "01-01 02:00"
    await site.bind("nights", "web*", "run-enforce", "reboot")
    view = await site.service.show("nights")
    assert view.source == "daily 02:00 1h\nSat 22:00 6h Europe/Berlin"
    (made,) = view.bindings
    assert (made.nodes, made.rests_on_claims) == (2, False)
    assert (made.binding.target, made.binding.classes, made.binding.at_close) == (
        "web*",
        ["reboot", "run-enforce"],
        "finish",
    )
    assert len(view.intervals) == 10
    with pytest.raises(ConflictError, match="bound to 1 target"):
        await site.service.remove("nights", ANN)
    await site.service.unbind("nights", "web*", ANN)
    with pytest.raises(NotFoundError, match="is not bound to"):
        await site.service.unbind("nights", "web*", ANN)
    await site.service.remove("nights", ANN, "moved")
    with pytest.raises(NotFoundError, match="no window 'nights'"):
        await site.service.show("nights")
    assert await site.service.list_windows() == []
    assert await site.entries() == [
        ("window.set", "nights"), ("window.bind", "nights"), ("window.unbind", "nights"), ("window.remove", "nights"),
    ]  # fmt: skip


async def test_replaced_window_keeps_its_bindings_and_its_maker(site: Site, clock: ManualClock) -> None:
    await site.put("nights", "daily 02:00 1h")
    await site.bind("nights", "web1")
    assert await site.spans("web1", days=1) == ["01-01 02:00 01-01 03:00"]
    clock.advance(60)
    await site.service.put("nights", WindowBody(["daily 04:00 1h"]), "person:bob")
    (row,) = await site.service.list_windows()
    assert (row.made_by, row.changed_by, row.bindings) == (ANN, "person:bob", 1)
    assert row.changed_at - row.made_at == timedelta(seconds=60)
    assert await site.spans("web1", days=1) == ["01-01 04:00 01-01 05:00"]


async def test_node_without_a_binding_for_a_class_is_always_open(site: Site) -> None:
    assert await site.spans("web1") is None
    await site.put("nights", "daily 02:00 1h")
    await site.bind("nights", "web*", "reboot")
    assert await site.spans("web1", "run-enforce") is None
    assert await site.spans("db1", "reboot") is None
    assert await site.spans("web1", "reboot", days=2) == ["01-01 02:00 01-01 03:00", "01-02 02:00 01-02 03:00"]


async def test_windows_open_together_and_blackouts_close(site: Site) -> None:
    await site.put("early", "daily 02:00 2h")
    await site.put("late", "daily 03:00 2h")
    await site.put("freeze", "Wed 23:00 4h", is_blackout=True)
    await site.bind("early", "*")
    await site.bind("late", "web1, db1", abort=True)
    await site.bind("freeze", "db*")
    assert await site.spans("web2", days=2) == ["01-01 02:00 01-01 04:00", "01-02 02:00 01-02 04:00"]
    assert await site.spans("web1", days=2) == ["01-01 02:00 01-01 05:00", "01-02 02:00 01-02 05:00"]
    # The blackout begins on Wednesday, the 2nd, and ends after midnight.
    assert await site.spans("db1", days=3) == [
        "01-01 02:00 01-01 05:00",
        "01-02 02:00 01-02 05:00",
        "01-03 03:00 01-03 05:00",
    ]
    now = site.database.clock.now()
    found = await site.openings.openings(["web1", "web2", "db1"], "command", now, now + timedelta(days=1))
    assert {node: entry and entry.at_close for node, entry in found.items()} == {
        "web1": "abort",
        "web2": "finish",
        "db1": "abort",
    }
    assert found["db1"] is not None
    assert (found["db1"].windows, found["db1"].blackouts) == (("early", "late"), ("freeze",))


async def test_node_with_only_blackouts_is_open_outside_of_them(site: Site) -> None:
    await site.put("freeze", "Wed 23:00 4h", is_blackout=True)
    await site.bind("freeze", "*", "release")
    assert await site.spans("web1", "release", days=3) == ["01-01 00:00 01-02 23:00", "01-03 03:00 01-04 00:00"]
    (opening,) = await site.openings.explain("web1", ["release"])
    assert (opening.is_open, f"{opening.closes_at:%m-%d %H:%M}", opening.blackouts) == (True, "01-02 23:00", ["freeze"])


async def test_targets_are_resolved_when_they_are_asked(site: Site, clock: ManualClock) -> None:
    await site.put("nights", "daily 02:00 1h")
    await site.bind("nights", "role = 'db'")
    assert await site.spans("db1") is None
    await site.database.write(
        Fleet(site.database).set_classification, "db1", NodeClassification(None, "db", is_active=True)
    )
    clock.advance(CACHED_S + 1)
    assert await site.spans("db1", days=1) == ["01-01 02:00 01-01 03:00"]
    await site.enrol("web9")
    assert await site.spans("web9") is None
    await site.bind("nights", "web9")
    assert await site.spans("web9", days=1) == ["01-01 02:00 01-01 03:00"]


async def test_calendar_is_expanded_and_decides_what_fits(site: Site) -> None:
    row = await site.service.put("weekend", WindowBody(calendar=CALENDAR, zone="Europe/Berlin"), ANN)
    assert row.kind == "calendar"
    await site.bind("weekend", "web1", "run-enforce")
    assert await site.spans("web1") == ["01-05 21:00 01-06 03:00"]
    now = site.database.clock.now()
    found = (await site.openings.openings(["web1"], "run-enforce", now, now + timedelta(days=7)))["web1"]
    assert found is not None
    last_hour = datetime(2030, 1, 6, 2, tzinfo=UTC)
    assert not is_open(found.intervals, now)
    assert may_start(found.intervals, last_hour, 3600)
    assert not may_start(found.intervals, last_hour, 3601)


async def test_explanation_names_the_windows_and_the_next_opening(site: Site) -> None:
    await site.put("nights", "daily 02:00 1h")
    await site.bind("nights", "web1", "run-enforce", "reboot", abort=True)
    views = {view.action_class: view for view in await site.openings.explain("web1")}
    assert len(views) == 7
    assert (views["reboot"].is_open, views["reboot"].windows, views["reboot"].at_close) == (False, ["nights"], "abort")
    assert f"{views['reboot'].opens_at:%H:%M} {views['reboot'].closes_at:%H:%M}" == "02:00 03:00"
    assert (views["facts"].is_open, views["facts"].windows, views["facts"].closes_at) == (True, [], None)
    with pytest.raises(NotFoundError, match="web7"):
        await site.openings.explain("web7")


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("Nights!", WindowBody(["daily 02:00 1h"]), "WINDOW-001"),
        ("nights", WindowBody(), "WINDOW-005"),
        ("nights", WindowBody(["daily 02:00 1h"], CALENDAR), "WINDOW-005"),
        ("nights", WindowBody(["daily 02:00 1h"] * 101), "WINDOW-005"),
        ("nights", WindowBody(calendar=f"{CALENDAR}\0"), "WINDOW-005"),
        ("nights", WindowBody(["at night"]), "POLICY-001"),
        ("nights", WindowBody(calendar="nothing"), "WINDOW-004"),
        ("nights", WindowBody(calendar=CALENDAR, zone="Mars/Base"), "CRON-002"),
        ("nights", WindowBody(["daily 02:00 1h"], why="a\nb"), "AUTH-005"),
    ],
)
async def test_invalid_window_is_refused_and_not_stored(site: Site, name: str, body: WindowBody, code: str) -> None:
    with pytest.raises(InputError) as raised:
        await site.service.put(name, body, ANN)
    assert raised.value.code == code
    assert await site.service.list_windows() == []
    assert await site.entries() == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (BindingBody("role = "), "TARGET-001"),
        (BindingBody("*", []), "WINDOW-005"),
        (BindingBody("x" * 501), "AUTH-002"),
    ],
)
async def test_invalid_binding_is_refused(site: Site, body: BindingBody, code: str) -> None:
    await site.put("nights", "daily 02:00 1h")
    with pytest.raises(InputError) as raised:
        await site.service.bind("nights", body, ANN)
    assert raised.value.code == code
    with pytest.raises(NotFoundError, match="no window 'days'"):
        await site.service.bind("days", BindingBody("*"), ANN)
    assert await site.entries() == [("window.set", "nights")]


async def test_bindings_of_many_nodes_are_resolved_once(site: Site) -> None:
    names = [f"node{number:05}" for number in range(10_000)]
    for number in range(20):
        await site.put(f"w{number}", f"daily {number:02}:00 1h")
        await site.bind(f"w{number}", f"node*{number % 10}")
    now = site.database.clock.now()
    found = await site.openings.openings(names, "command", now, now + timedelta(days=7))
    assert len({id(entry) for entry in found.values()}) == 10
    entry = found["node00003"]
    assert entry is not None
    assert entry.windows == ("w13", "w3")


async def test_nodes_of_the_site_are_read_once_for_some_seconds(site: Site, clock: ManualClock) -> None:
    names = [f"node{number:02}" for number in range(FEW + 1)]
    await site.enrol(*names)
    await site.put("nights", "daily 02:00 1h")
    await site.bind("nights", "role = 'db' or web1")
    now = clock.now()

    async def bound() -> list[str]:
        found = await site.openings.openings(["web1", *names], "command", now, now + timedelta(days=1))
        return [name for name, entry in found.items() if entry is not None]

    assert await bound() == ["web1"]
    await site.database.write(
        Fleet(site.database).set_classification, "node07", NodeClassification(None, "db", is_active=True)
    )
    assert await bound() == ["web1"]
    clock.advance(CACHED_S + 1)
    assert await bound() == ["web1", "node07"]
