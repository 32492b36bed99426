"""RabbitMQ's types: queries that are repeated, lists, and wrong parameters. The differential test compares the commands with the module."""

from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.base.errors import InputError, UnavailableError
from precast.resources.contract import DesiredResource
from precast.resources.rabbitmq.plugin import RabbitmqPlugin
from precast.resources.rabbitmq.vhost import RabbitmqVhost
from tests.unit.resources.recorded import RecordedMachine


def plugin(node: Machine, title: str = "rabbitmq_stomp", **given: Any) -> RabbitmqPlugin:
    return RabbitmqPlugin(DesiredResource("rabbitmq_plugin", title, given), node)


def test_query_is_repeated_until_the_server_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("precast.resources.rabbitmq.cli.time.sleep", pauses.append)
    node = RecordedMachine(
        tmp_path,
        {"rabbitmq-plugins list -E -m": lambda node: (0, "rabbitmq_stomp\n") if len(pauses) == 3 else (69, "")},
    )
    assert plugin(node).compare(plugin(node).read()) == ()
    assert pauses == [6, 6, 6]


def test_query_that_keeps_failing_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("precast.resources.rabbitmq.cli.time.sleep", pauses.append)
    node = RecordedMachine(tmp_path, {"rabbitmq-plugins list -E -m": (69, "not running")})
    with pytest.raises(UnavailableError, match="ended with 69: not running"):
        plugin(node).read()
    assert len(pauses) == 29


def test_failed_change_is_not_repeated(tmp_path: Path) -> None:
    node = RecordedMachine(tmp_path, {"rabbitmq-plugins enable rabbitmq_stomp": (1, "no such plug-in")})
    handler = plugin(node)
    (change,) = handler.compare(handler.read())
    with pytest.raises(UnavailableError, match="no such plug-in"):
        handler.apply(change)


@pytest.mark.parametrize(
    ("version", "command"),
    [
        ("RabbitMQ version: 3.7.9", "rabbitmqctl list_vhosts -q --no-table-headers"),
        ('{rabbit,"RabbitMQ","3.6.10"}', "rabbitmqctl list_vhosts -q"),
    ],
)
def test_virtual_hosts_are_listed_as_the_version_wants_it(tmp_path: Path, version: str, command: str) -> None:
    node = RecordedMachine(tmp_path, {"rabbitmqctl -q status": (0, version), command: (0, "/\n/app\n")})
    assert [instance.title for instance in RabbitmqVhost.instances(node)] == ["/", "/app"]
    assert node.ran[-1] == command


@pytest.mark.parametrize(
    ("title", "given"), [("a b", {}), ("-x", {}), ("a", {"umask": "99"}), ("a", {"ensure": "enabled"})]
)
def test_wrong_parameters_are_refused(tmp_path: Path, title: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        plugin(RecordedMachine(tmp_path, {}), title, **given)


def test_they_are_refused_below_a_root_without_programs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be applied below"):
        plugin(Machine(str(tmp_path), str(tmp_path), ManualClock()))
