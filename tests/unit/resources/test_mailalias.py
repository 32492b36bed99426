"""mailalias: lines of /etc/aliases; other lines keep their bytes."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError
from precast.resources.mailalias import Mailalias
from tests.unit.resources.applied_resource import apply_resource, handler, machine

TEXT = '# aliases\nroot:  a, "b c" ,d\n  news : :include: /etc/news\n\nlast: x\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/aliases").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize(
    ("title", "given", "after"),
    [
        ("root", {"recipient": ["a", "b c", "d"]}, TEXT),
        ("root", {"recipient": "b c"}, TEXT.replace('root:  a, "b c" ,d', 'root: "b c"')),
        ("news", {"file": "/etc/news"}, TEXT),
        ("news", {"recipient": ["x", "y"]}, TEXT.replace("  news : :include: /etc/news", "news: x,y")),
        ("new", {"file": "/etc/list"}, TEXT + "new: :include: /etc/list\n"),
        ("last", {"ensure": "absent"}, TEXT.replace("last: x\n", "")),
        ("nobody", {"ensure": "absent"}, TEXT),
    ],
)
def test_alias_is_written(root: Path, title: str, given: dict[str, Any], after: str) -> None:
    messages = apply_resource(machine(root), "mailalias", title, **given)
    assert (root / "etc/aliases").read_text() == after
    assert bool(messages) == (after != TEXT)


@pytest.mark.parametrize(
    ("title", "given"),
    [
        ("a:b", {"recipient": "x"}),
        ("a", {"recipient": "x", "file": "/y"}),
        ("a", {"file": "relative"}),
        ("a", {"recipient": 'x"y'}),
        ("a", {"recipient": "x\nroot: y"}),
        ("a", {"ensure": "present"}),
    ],
)
def test_invalid_alias_fails_when_it_is_made(root: Path, title: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        handler(machine(root), "mailalias", title, **given)


def test_aliases_are_listed_for_purging(root: Path) -> None:
    listed = {instance.title: instance.properties for instance in Mailalias.instances(machine(root))}
    assert listed["root"]["recipient"] == ["a", "b c", "d"]
    assert listed["news"]["file"] == "/etc/news"
    assert list(listed) == ["root", "news", "last"]
