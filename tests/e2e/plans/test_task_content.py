"""Content of tasks between real nodes and a real server: what one collects, another copies, and nobody else reads.

The rows of the run are made here: these tests are about the transport, and about what a server gives to whom.
"""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lab.site import Site
from precast.agent.identity.credentials import Credentials
from precast.agent.network.http_client import HttpClient, direct_http
from precast.agent.network.request_process import network_client
from precast.agent.settings import AgentSettings
from precast.agent.state.store import LocalStore
from precast.agent.tasks.context import TaskContext
from precast.agent.tasks.files.collect_work import collect_files
from precast.agent.tasks.files.copy_work import copy_files
from precast.base import digests, https
from precast.base.clock import SystemClock, to_micros
from precast.wire.jobs.programs import CollectWork, CopiedFile, CopyWork
from precast.wire.plans.task_content import MAX_CONTENT_BYTES, StoredContent, content_path

FAR = 2**60
COLLECTS, COPIES = 1, 2
KEYS = "/var/lib/keys"


class PlanSite:
    """A server with the nodes of a run, which begin and end its tasks as a test says."""

    def __init__(self, site: Site, *nodes: str) -> None:
        self.site = site
        self.roots = {name: site.enrol(name).directory.parents[3] for name in nodes}
        self._now = to_micros(SystemClock().now())

    def write(self, sql: str, **values: Any) -> None:
        with closing(sqlite3.connect(self.site.directory / "precast.db", timeout=30)) as database, database:
            database.execute(sql, {"job": "run", "now": self._now, "far": FAR, **values})

    def create(self) -> None:
        self.write(
            "INSERT INTO job (id, kind, work, body, made_by, made_at, state, nodes, round, changes, fence, wake_at)"
            " VALUES (:job, 'plan', '', x'7b7d', 'ann', :now, 'going', 0, 1, 0, 0, :far)"
        )
        self.write("INSERT INTO task_collection (job, task) VALUES (:job, :task)", task=COLLECTS)

    def begin(self, node: str, task: int) -> None:
        self.write(
            "INSERT INTO attempt (job, task, node, n, is_newest, place, batch, state, queued_at, due_at, allowed, tries, number)"
            " VALUES (:job, :task, :node, 1, 1, 0, 0, 'PICKED_UP', :now, :far, 0, 0, 1)",
            task=task,
            node=node,
        )
        self.write(
            "INSERT INTO node_lock (node, job, task, n, since) VALUES (:node, :job, :task, 1, :now)",
            task=task,
            node=node,
        )

    def end(self, node: str) -> None:
        self.write("DELETE FROM node_lock WHERE node = :node", node=node)
        self.write("DELETE FROM attempt WHERE node = :node", node=node)

    def allow(self, node: str, digest: str) -> None:
        self.write(
            "INSERT INTO task_content (job, node, digest) VALUES (:job, :node, :digest)", node=node, digest=digest
        )

    def client(self, node: str) -> Any:
        return network_client(Credentials(self.roots[node]).context(), "precast-agent")

    def context(self, node: str, store: LocalStore) -> TaskContext:
        settings = AgentSettings(url=self.site.url)
        return TaskContext(
            "run.1.1", self.roots[node], settings, store, time.monotonic() + 60, lambda: False, lambda _: None
        )


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[PlanSite]:
    with Site(tmp_path / "site") as site:
        made = PlanSite(site, "master", "web1", "web2")
        made.create()
        yield made


def store_of(plan: PlanSite, node: str) -> Any:
    return closing(LocalStore.open(plan.roots[node], lambda: "instance"))


def collect(plan: PlanSite, node: str, *paths: str) -> dict[str, Any]:
    with store_of(plan, node) as store:
        outcome = collect_files(plan.context(node, store), CollectWork(list(paths)))
    found: dict[str, Any] = json.loads(outcome.result)
    return found


def problem(client: HttpClient, url: str, data: bytes, digest: str = "", path: Path = Path("/dev/null")) -> str:
    """The code of the error with which a server answers content."""
    file = path.with_name("content")
    file.write_bytes(data)
    with file.open("rb") as opened:
        answer = client.upload(url, content_path(digest or digests.of_bytes(data)), opened, len(data))
    return str(json.loads(answer.body)["code"])


def test_what_one_node_has_collected_another_one_copies_and_a_third_cannot_read(plan: PlanSite) -> None:
    large = bytes(range(256)) * 20_000
    keys = plan.roots["master"] / KEYS[1:]
    keys.mkdir(parents=True)
    (keys / "nova").write_text("secret")
    (keys / "large").write_bytes(large)
    plan.begin("master", COLLECTS)
    collected = collect(plan, "master", f"{KEYS}/nova", f"{KEYS}/large")
    plan.end("master")
    for name in ("web1", "web2"):
        plan.begin(name, COPIES)
    for found in collected.values():
        plan.allow("web1", found["digest"])
    work = CopyWork([CopiedFile(f"{KEYS}/{name}", f"/etc/{name}") for name in ("nova", "large")])
    with store_of(plan, "web1") as store:
        assert copy_files(plan.context("web1", store), work, {"collected": collected}).is_success
    etc = plan.roots["web1"] / "etc"
    assert ((etc / "nova").read_text(), (etc / "large").read_bytes()) == ("secret", large)
    # The third node, and the second one after its task.
    plan.end("web1")
    for name in ("web1", "web2"):
        with plan.client(name) as client:
            answer = client.get(plan.site.url, content_path(collected[f"{KEYS}/nova"]["digest"]), {})
        assert (answer.status, json.loads(answer.body)["code"]) == (404, "ENV-013")


def test_content_is_refused_for_reasons_that_the_node_is_told(plan: PlanSite, tmp_path: Path) -> None:
    url, data = plan.site.url, b"x" * 30_000_000
    with plan.client("master") as client:
        # The server answers before it has read the content, and the same process makes the next request.
        assert problem(client, url, data, path=tmp_path / "x") == "PLAN-190"
        plan.begin("master", COLLECTS)
        assert problem(client, url, b"a lie", digests.of_bytes(b"the truth"), path=tmp_path / "x") == "ENV-010"
        assert problem(client, url, b"x" * (MAX_CONTENT_BYTES + 1), path=tmp_path / "x") == "ENV-011"
        plan.write(
            "INSERT INTO task_content (job, node, digest, size) VALUES (:job, 'master', 'x', :size)", size=2**28 - 10
        )
        assert problem(client, url, data, path=tmp_path / "x") == "PLAN-191"
        (tmp_path / "content").write_bytes(b"fits")
        with (tmp_path / "content").open("rb") as file:
            answer = client.upload(url, content_path(digests.of_bytes(b"fits")), file, 4)
        assert https.read_answer(url, answer, StoredContent).size == 4


def test_content_without_a_length_and_in_parts_is_stored(plan: PlanSite) -> None:
    plan.begin("master", COLLECTS)
    context = Credentials(plan.roots["master"]).context()
    parts = (b"part %d" % number for number in range(1000))
    data = b"".join(b"part %d" % number for number in range(1000))
    answer = https.call(plan.site.url, context, "PUT", content_path(digests.of_bytes(data)), parts)
    assert https.read_answer(plan.site.url, answer, StoredContent) == StoredContent(digests.of_bytes(data), len(data))
    plan.allow("master", "x")
    with direct_http(context) as client:
        assert client.get(plan.site.url, content_path("x"), {}).status == 404
