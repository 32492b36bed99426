"""A node with a task, and a server that has content for it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lab.catalog_server import CatalogServer
from precast.agent.state.store import LocalStore
from tests.component.agent.tasks.files.running_task import RunningTask


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


@pytest.fixture
def task(tmp_path: Path) -> Iterator[RunningTask]:
    """A task on a node without a server."""
    with closing(LocalStore.open(tmp_path / "node", lambda: "instance")) as store:
        yield RunningTask(tmp_path / "node", store)


@pytest.fixture
def served(server: CatalogServer) -> Iterator[RunningTask]:
    """A task on the node of the server."""
    with closing(LocalStore.open(server.root, lambda: "instance")) as store:
        yield RunningTask(server.root, store, server.url)
