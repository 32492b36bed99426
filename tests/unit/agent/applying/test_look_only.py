"""A look-only run: nothing that the catalog gives is run, and no content of a file that it chose is reported."""

from pathlib import Path

import pytest

from precast.agent.applying.look_only import withhold_content
from precast.agent.applying.options import RunOptions
from precast.base.errors import PrecastError
from precast.resources import registry
from precast.resources.contract import DesiredResource
from precast.wire.reports.events import Event, Log, ResourceReport, Status
from tests.unit.agent.applying.world import body, resource, run
from tests.unit.resources.applied_resource import machine

LOOK = RunOptions(is_noop=True, is_look_only=True)


def test_resource_whose_check_runs_a_command_is_skipped_with_the_reason_and_its_dependents_are_checked() -> None:
    guarded = resource("command", "c", guard="a")
    dependent = resource("cell", "d", value="1", require="Command[c]")
    for options in (LOOK, LOOK._replace(ordering="graph"), LOOK._replace(is_serial=True)):
        ran = run(body(guarded, dependent), {}, options)
        assert ran.world.operations == []
        assert ran.statuses() == {"Command[c]": "skipped", "Cell[d]": "noop"}
        reason = ran.reports[0].reason or ""
        assert reason.startswith("not evaluated: its check runs a command of the catalog")


def test_values_of_unknown_properties_are_withheld_and_those_of_others_are_reported() -> None:
    events = (
        Event(
            "Ini_setting[x]", "noop", "current_value secret, should be x (noop)", "value", "secret", "x", diff="secret"
        ),
        Event("File[/a]", "noop", "current_value 0600, should be 0644 (noop)", "mode", "0600", "0644"),
        Event(
            "File[/a]",
            "noop",
            "current_value {sha256}1, should be {sha256}2 (noop)",
            "content",
            "{sha256}1",
            "{sha256}2",
        ),
        Event(
            "File_line[x]", "noop", "current_value absent, should be present (noop)", "ensure", "absent", diff="secret"
        ),
        Event("Ini_setting[x]", "failure", "Could not evaluate: secret"),
        Event("Service[x]", "failure", "Could not evaluate: no such unit"),
    )
    report = ResourceReport("Ini_setting[x]", Status.NOOP, events, (Log("Ini_setting[x]", "debug", "secret"),))
    withheld = withhold_content(report, is_named=lambda ref: True)
    assert "secret" not in str(withheld)
    assert "{sha256}" not in str(withheld)
    assert withheld.events[1] == events[1]
    assert withheld.events[3].message == events[3].message
    assert withheld.events[5] == events[5]
    assert (withheld.events[0].property, withheld.events[0].previous) == ("value", None)


@pytest.mark.parametrize(
    ("type_name", "parameters", "is_safe"),
    [
        ("exec", {"command": "/bin/true"}, True),
        ("exec", {"command": "/bin/true", "creates": "/a"}, True),
        ("exec", {"command": "/bin/true", "onlyif": "/bin/true"}, False),
        ("exec", {"command": "/bin/true", "unless": "/bin/true"}, False),
        ("service", {"provider": "systemd"}, True),
        ("service", {"provider": "base", "status": "/bin/true"}, False),
        ("service", {"provider": "init", "path": "/opt"}, False),
        ("service", {"provider": "init", "name": "../../bin/touch"}, False),
        ("service", {"provider": "systemd", "hasstatus": False, "pattern": "(a+)+$"}, False),
        ("package", {"provider": "apt"}, True),
        ("package", {"provider": "pip", "command": "/bin/true"}, False),
        ("package", {"provider": "dpkg", "source": "/a.deb", "ensure": "latest"}, False),
        ("file", {"path": "/a", "source": "/b"}, True),
        ("file", {"path": "/a", "validate_cmd": "/bin/true %", "content": "x"}, True),  # only a change validates
        ("file", {"path": "/a", "source": "http://169.254.169.254/"}, False),
        ("file", {"path": "/a", "source": ["/b", "https://example.com/"]}, False),
        ("file_line", {"path": "/a", "line": "x"}, True),
        ("file_line", {"path": "/a", "line": "x", "match": "^x"}, False),
        ("file_line", {"path": "/a", "line": "x", "after": "^x"}, False),
    ],
)
def test_check_that_needs_trust_in_the_catalog_says_so(
    type_name: str, parameters: dict[str, object], is_safe: bool
) -> None:
    kind = registry.find(type_name)
    assert kind is not None
    handler = kind(DesiredResource(type_name, "x", parameters), machine(Path("/")))
    assert (handler.check_needs_trust == "") is is_safe


@pytest.mark.parametrize("type_name", ["package", "service"])
def test_name_that_a_program_would_take_for_an_option_is_refused(type_name: str) -> None:
    kind = registry.find(type_name)
    assert kind is not None
    provider = {"package": "apt", "service": "systemd"}[type_name]
    with pytest.raises(PrecastError, match="begins with a dash"):
        kind(
            DesiredResource(type_name, "-oAPT::Update::Pre-Invoke::=reboot", {"provider": provider}), machine(Path("/"))
        )
