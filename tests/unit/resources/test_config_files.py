"""Settings of files that modules declare as types: what the handlers do beyond what the differential tests compare with Puppet."""

from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.agent.applying.plan import make_plan
from precast.agent.applying.purge import add_purged
from precast.base.errors import InputError
from precast.catalog.body import Body, ResourceData
from precast.resources.config_files.handler import handler_of
from precast.resources.contract import DesiredResource, Handler
from precast.types import config_files
from precast.types.declaration import AutoRelation, ConfigFileType
from tests.unit.resources.applied_resource import machine

ATTRIBUTES = ("ensure", "ensure_absent_val", "name", "secret", "value")
SINGLE = ConfigFileType(
    path="/etc/a.conf",
    is_listed=True,
    name_pattern=r"\S+/\S+",
    value_pattern=r"^[\S ]*$",
    booleans="capitalize",
    absent_value="<SERVICE DEFAULT>",
    keeps_immutable=True,
    shows_bare=True,
    attributes=ATTRIBUTES,
)
MULTIPLE = ConfigFileType(
    path="/etc/a.conf", is_listed=True, syntax="multiple", name_pattern=r"\S+/\S+", booleans="capitalize",
    absent_value="<SERVICE DEFAULT>", keeps_immutable=True, shows_bare=True, attributes=ATTRIBUTES,
)  # fmt: skip


@pytest.fixture
def node(tmp_path: Path) -> Machine:
    (tmp_path / "etc").mkdir()
    return machine(tmp_path)


def handler(node: Machine, known: ConfigFileType, title: str, **parameters: Any) -> Handler:
    return handler_of("a_config", known)(DesiredResource("a_config", title, parameters), node)


def apply(node: Machine, known: ConfigFileType, title: str, **parameters: Any) -> list[str]:
    made = handler(node, known, title, **parameters)
    changes = made.compare(made.read())
    for change in changes:
        made.apply(change)
    assert made.compare(made.read()) == ()
    return [change.message for change in changes]


def text(tmp_path: Path) -> str:
    return (tmp_path / "etc/a.conf").read_text()


def test_setting_is_created_changed_and_removed(node: Machine, tmp_path: Path) -> None:
    assert apply(node, SINGLE, "DEFAULT/debug", value="true") == ["created"]
    assert text(tmp_path) == "[DEFAULT]\ndebug=True\n"
    assert (tmp_path / "etc/a.conf").stat().st_mode & 0o777 == 0o644
    assert apply(node, SINGLE, "DEFAULT/debug", value=False) == ["value changed True to False"]
    assert apply(node, SINGLE, "DEFAULT/debug", value="<SERVICE DEFAULT>", ensure="present") == ["removed"]
    assert text(tmp_path) == ""


def test_setting_without_a_value_is_not_managed(node: Machine, tmp_path: Path) -> None:
    assert apply(node, SINGLE, "DEFAULT/debug") == []
    assert not (tmp_path / "etc/a.conf").exists()


@pytest.mark.parametrize("known", [SINGLE, MULTIPLE])
def test_immutable_setting_keeps_its_value(node: Machine, tmp_path: Path, known: ConfigFileType) -> None:
    (tmp_path / "etc/a.conf").write_text("[DEFAULT]\na = x\n")
    assert apply(node, known, "DEFAULT/a", value="<_IMMUTABLE_>") == []
    assert apply(node, known, "DEFAULT/b", value="<_IMMUTABLE_>") == []
    assert text(tmp_path) == "[DEFAULT]\na = x\n"


def test_all_lines_of_a_setting_are_removed(node: Machine, tmp_path: Path) -> None:
    (tmp_path / "etc/a.conf").write_text("[DEFAULT]\na = x\nb = 1\na = y\n")
    assert apply(node, MULTIPLE, "DEFAULT/a", ensure="absent") == ["removed"]
    assert text(tmp_path) == "[DEFAULT]\nb = 1\n"


def test_section_that_occurs_twice_keeps_its_other_lines(node: Machine, tmp_path: Path) -> None:
    (tmp_path / "etc/a.conf").write_text("[DEFAULT]\na = x\n[b]\n[DEFAULT]\nc = 1\n")
    assert apply(node, MULTIPLE, "DEFAULT/c", value=["2", "3"]) == ['value changed ["1"] to ["2", "3"]']
    assert text(tmp_path) == "[DEFAULT]\na = x\n[b]\n[DEFAULT]\nc=2\nc=3\n"


@pytest.mark.parametrize("known", [SINGLE, MULTIPLE])
def test_secret_value_is_shown_nowhere(node: Machine, tmp_path: Path, known: ConfigFileType) -> None:
    (tmp_path / "etc/a.conf").write_text("[DEFAULT]\na = leaked\n")
    made = handler(node, known, "DEFAULT/a", value="hunter2", secret=True)
    (change,) = made.compare(made.read())
    assert change.message == "value changed [old secret redacted] to [new secret redacted]"
    assert change.is_sensitive
    assert "leaked" not in str(change)
    assert "hunter2" not in str(change)
    assert "value" in made.secret_properties
    assert handler(node, known, "DEFAULT/a", value="x", secret=False).secret_properties == frozenset()


def test_file_of_the_resource_comes_first(node: Machine, tmp_path: Path) -> None:
    known = ConfigFileType(path="/etc/a.conf", may_move=True, attributes=("ensure", "name", "path", "value"))
    assert apply(node, known, "s/a", value="1", path="/etc/b.conf") == ["created"]
    assert (tmp_path / "etc/b.conf").read_text() == "[s]\na=1\n"
    assert apply(node, known, "s/a", value="1") == ["created"]
    assert text(tmp_path) == "[s]\na=1\n"


def test_value_is_quoted(node: Machine, tmp_path: Path) -> None:
    known = ConfigFileType(
        path="/etc/a.conf", has_sections=False, takes_quote=True, absent_value="<SERVICE DEFAULT>",
        attributes=(*ATTRIBUTES, "quote"),
    )  # fmt: skip
    apply(node, known, "a/b", value="x", quote=True)
    apply(node, known, "c", value='"y"', quote=True)
    apply(node, known, "d", value="z")
    assert text(tmp_path) == 'a/b="x"\nc="y"\nd=z\n'
    assert apply(node, known, "c", value="<SERVICE DEFAULT>", quote=True) == ["removed"]


@pytest.mark.parametrize(
    ("title", "parameters", "message"),
    [
        ("DEFAULT", {"value": "1"}, "name cannot be"),
        ("DEFAULT/a", {"value": "a\tb"}, "value cannot be"),
        ("DEFAULT/a", {"value": {"a": 1}}, "value cannot be"),
        ("DEFAULT/a", {"value": "1", "ensure": "there"}, "ensure cannot be"),
        ("DEFAULT/a", {"value": "1", "secret": "maybe"}, "secret cannot be"),
        ("DEFAULT/a", {"value": "1", "transform_to": "net_uuid"}, "it has no parameter transform_to"),
    ],
)
def test_wrong_parameters_are_refused(node: Machine, title: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        handler(node, SINGLE, title, **parameters)


def test_path_that_nobody_gives_is_asked_for(node: Machine) -> None:
    with pytest.raises(InputError, match="path must be given"):
        handler(node, ConfigFileType(may_move=True, attributes=ATTRIBUTES), "s/a", value="1")


def test_refused_secret_value_is_not_shown(node: Machine) -> None:
    with pytest.raises(InputError) as raised:
        handler(node, SINGLE, "DEFAULT/a", value="hunter\t2", secret=True)
    assert "hunter" not in str(raised.value)


def a_body(types: dict[str, ConfigFileType], *resources: ResourceData) -> Body:
    return Body(resources, (), (), (), {}, config_files.to_data(types))


@pytest.mark.parametrize("known", [SINGLE, MULTIPLE])
def test_settings_that_no_resource_has_are_purged(node: Machine, tmp_path: Path, known: ConfigFileType) -> None:
    (tmp_path / "etc/a.conf").write_text("global = 1\n[DEFAULT]\na = 1\nb = 2\n[c]\nd = 3\nd = 4\n")
    body = a_body(
        {"a_config": known},
        ResourceData("Resources", "a_config", {"purge": True}, ()),
        ResourceData("A_config", "DEFAULT/a", {"value": "1"}, ()),
    )
    purged = add_purged(body, node)
    found = [resource.ref for resource in purged.resources]
    assert found[1:] == ["A_config[DEFAULT/b]", "A_config[c/d]", "A_config[DEFAULT/a]"]
    plan = make_plan(purged, None, node)
    for ref in found[1:]:
        made = plan.resources[ref].handler
        assert made is not None, plan.resources[ref].problem
        for change in made.compare(made.read()):
            made.apply(change)
    assert text(tmp_path).split() == ["global", "=", "1", "[DEFAULT]", "a", "=", "1", *(["[c]"] * (known is MULTIPLE))]


def test_type_whose_file_a_resource_may_name_alone_is_not_purged(node: Machine) -> None:
    known = ConfigFileType(may_move=True, attributes=ATTRIBUTES)
    body = a_body({"a_config": known}, ResourceData("Resources", "a_config", {"purge": True}, ()))
    assert add_purged(body, node) == body
    assert "cannot be purged" in str(make_plan(body, None, node).resources["Resources[a_config]"].problem)


def test_resource_follows_what_its_type_says(node: Machine) -> None:
    known = ConfigFileType(
        path="/etc/a.conf", attributes=ATTRIBUTES, relations=(AutoRelation("anchor", (), titles=("installed",)),)
    )
    body = a_body(
        {"a_config": known},
        ResourceData("A_config", "s/a", {"value": "1"}, ()),
        ResourceData("Anchor", "installed", {}, ()),
    )
    assert make_plan(body, None, node).sequence == ["Anchor[installed]", "A_config[s/a]"]


def test_types_of_later_versions_are_left_out() -> None:
    data = config_files.to_data({"a_config": SINGLE})
    later = {**data, "b": {"other": {}}, "c": {"config_file": {"syntax": "third"}}, "d": 5}
    assert config_files.of_data(later) == {"a_config": SINGLE}
