"""ini_subsetting: items of a list that is the value of a setting."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError
from precast.resources.contract import DesiredResource
from precast.resources.ini_subsetting import IniSubsetting
from tests.unit.resources.applied_resource import apply_resource, differences, handler, machine

TEXT = 'JAVA="-Xmx256m -Da=b"\n[s]\nlist = one,three\nlast = x\n'
JAVA = {"setting": "JAVA", "key_val_separator": "="}
LIST = {"section": "s", "setting": "list", "subsetting_separator": ","}


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ({**JAVA, "subsetting": "-Xmx", "value": "256m"}, TEXT),
        ({**JAVA, "subsetting": "-Xmx", "value": "1g"}, TEXT.replace("256m", "1g")),
        ({**JAVA, "subsetting": "-Da", "subsetting_key_val_separator": "=", "value": "c"}, TEXT.replace("a=b", "a=c")),
        ({**JAVA, "subsetting": "-server", "use_exact_match": True}, TEXT.replace("a=b", "a=b -server")),
        (
            {**LIST, "subsetting": "two", "insert_type": "before", "insert_value": "three"},
            TEXT.replace("one,", "one,two,"),
        ),
        (
            {**LIST, "subsetting": "two", "insert_type": "after", "insert_value": "one"},
            TEXT.replace("one,", "one,two,"),
        ),
        ({**LIST, "subsetting": "two", "insert_type": "index", "insert_value": 1}, TEXT.replace("one,", "one,two,")),
        ({**LIST, "subsetting": "zero", "insert_type": "start"}, TEXT.replace("one,", "zero,one,")),
        ({**LIST, "subsetting": "one", "ensure": "absent"}, TEXT.replace("one,", "")),
        ({"section": "s", "setting": "last", "subsetting": "x", "ensure": "absent"}, TEXT.replace("last = x\n", "")),
        ({"section": "s", "setting": "new", "subsetting": "a", "value": 1, "quote_char": "'"}, TEXT + "new = 'a1'\n"),
    ],
)
def test_item_is_written(tmp_path: Path, given: dict[str, Any], after: str) -> None:
    (tmp_path / "f").write_text(TEXT)
    messages = apply_resource(machine(tmp_path), "ini_subsetting", "x", path="/f", **given)
    assert (tmp_path / "f").read_text() == after
    assert bool(messages) == (after != TEXT)


def test_missing_file_is_made(tmp_path: Path) -> None:
    given = {"path": "/f", "section": "s", "setting": "a", "subsetting": "b"}
    assert apply_resource(machine(tmp_path), "ini_subsetting", "x", **given) == ["ensure: created"]
    assert (tmp_path / "f").read_text() == "[s]\na = b\n"


def test_values_are_shown_as_asked_and_secrets_never(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(TEXT)
    given = {"path": "/f", **JAVA, "subsetting": "-Xmx", "value": "1g"}
    node = machine(tmp_path)
    (change,) = differences(node, "ini_subsetting", "x", **given)
    assert change.message == "value changed 256m to 1g"
    (change,) = differences(node, "ini_subsetting", "x", **given, show_diff="md5")
    assert change.message.count("{md5}") == 2
    (change,) = differences(node, "ini_subsetting", "x", **given, show_diff=False)
    assert "256m" not in change.message
    made = IniSubsetting(DesiredResource("ini_subsetting", "x", given, secrets=frozenset({"value"})), node)
    (change,) = made.compare(made.read())
    assert change.is_sensitive
    assert "1g" not in f"{change.message}{change.previous}{change.desired}"


@pytest.mark.parametrize(
    "given",
    [
        {"setting": "a", "subsetting": "b"},
        {"path": "f", "setting": "a", "subsetting": "b"},
        {"path": "/f", "setting": "a"},
        {"path": "/f", "setting": "a", "subsetting": "b", "quote_char": "x"},
        {"path": "/f", "setting": "a", "subsetting": "b", "insert_type": "middle"},
    ],
)
def test_invalid_parameters_fail_when_it_is_made(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        handler(machine(tmp_path), "ini_subsetting", "x", **given)
