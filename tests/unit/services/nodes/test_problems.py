"""The problems of `status`."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from precast.services.nodes.problems import find_problems
from precast.wire.nodes.presence import ServerRow
from precast.wire.nodes.status import DatabaseStatus, DiskStatus, QueueStatus, StatusView

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WELL = StatusView(
    version="1",
    started_at=NOW,
    now=NOW,
    database=DatabaseStatus("SQLite", "x", 1, 0.001, 0, None),
    nodes={},
    servers=[],
    queues=[QueueStatus("facts", 5, 1, 0, NOW - timedelta(minutes=1))],
    authority_until=NOW + timedelta(days=900),
    disk=DiskStatus("/x", 50, 100),
    problems=[],
)


def server(name: str) -> ServerRow:
    return ServerRow("id", name, NOW, NOW, 0)


def problems_of(**changes: object) -> list[tuple[str, str]]:
    return [(problem.level, problem.text) for problem in find_problems(msgspec.structs.replace(WELL, **changes))]


def test_healthy_site_has_no_problem() -> None:
    assert problems_of() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"disk": DiskStatus("/x", 5, 100)}, ("warning", "/x has 5% free space")),
        ({"disk": DiskStatus("/x", 1, 100)}, ("broken", "/x has 1% free space")),
        (
            {"authority_until": NOW + timedelta(days=59)},
            ("warning", "the authority's certificate expires at 2026-03-01 00:00:00Z"),
        ),
        ({"authority_until": NOW}, ("broken", "the authority's certificate has expired at 2026-01-01 00:00:00Z")),
        ({"queues": [QueueStatus("facts", 0, 0, 2, None)]}, ("warning", "dead letters of facts: 2")),
        (
            {"queues": [QueueStatus("facts", 9, 0, 0, NOW - timedelta(minutes=11))]},
            ("warning", "the oldest item of facts has waited for 11 minutes"),
        ),
        (
            {"code_errors": 1},
            ("warning", "the code of 1 node gives an error: no new catalog can be staged"),
        ),
        (
            {"export_loops": 1},
            ("warning", "the exports of 1 node are part of a loop: their catalogs are held back"),
        ),
        (
            {"unread_source_documents": 2},
            ("warning", "2 documents of secret sources could not be read: compiles use what was read before"),
        ),
        (
            {"flawed_catalogs": 2},
            ("note", "the staged catalogs of 2 nodes have problems that a run could meet"),
        ),
        (
            {"database": DatabaseStatus("SQLite", "x", 1, 0.8, 0, None)},
            ("warning", "the database took 0.8 s to answer"),
        ),
        (
            {"database": DatabaseStatus("PostgreSQL", "x", 1, 0.0, 2, 61.0)},
            ("warning", "a replica is 61 s behind"),
        ),
        ({"failing": ["a", "b"]}, ("warning", "nodes whose last run failed: 2 (a, b)")),
        ({"nodes": {"connected": 1, "away": 2}}, ("warning", "nodes that are not connected: 2")),
        ({"nodes": {"expired": 2}}, ("warning", "nodes whose certificate has expired: 2")),
        (
            {"signer_trouble": "it is gone"},
            ("broken", "the signer does not answer, so no node can enrol or renew: it is gone"),
        ),
        (
            {"servers": [server("a:1 [api, scheduler]"), server("b [scheduler]")]},
            ("broken", "no server has the role compiler: nothing is compiled"),
        ),
        (  # the name of a host is not a role
            {"servers": [server("compiler1:8140 [api, scheduler]")]},
            ("broken", "no server has the role compiler: nothing is compiled"),
        ),
    ],
)
def test_problem_is_reported(changes: dict[str, object], expected: tuple[str, str]) -> None:
    assert problems_of(**changes) == [expected]
