"""A node with a local store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from precast.base.clock import ManualClock
from tests.component.agent.orders.node import Node


@pytest.fixture
def node(tmp_path: Path, clock: ManualClock) -> Iterator[Node]:
    made = Node(tmp_path, clock)
    yield made
    made.close()
