"""An enrolled node for tasks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.scripted_server import ScriptedServer
from tests.component.agent.tasks.stage import NAME, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    server = ScriptedServer(tmp_path / "server")
    root = tmp_path / "node"
    server.enrol(root, NAME)
    with Stage(server, root) as made:
        yield made
