"""The plug-ins of modules on a node: exactly those that the catalog names, each checked before it gets its name."""

from pathlib import Path

import pytest

from precast.agent.catalog.plugins import write_plugins
from precast.base import digests
from precast.base.errors import PrecastError

RACK = b"def facts():\n    return {'rack': 4}\n"
OTHER = b"def facts():\n    return {}\n"
STORE = {digests.of_bytes(data): data for data in (RACK, OTHER)}
DIGEST = digests.of_bytes(RACK)


def listing(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


def test_directory_has_the_plugins_of_the_catalog(tmp_path: Path) -> None:
    content = {"precast:///modules/site/facts/rack.py": DIGEST, "puppet:///modules/site/file": digests.of_bytes(b"")}
    assert write_plugins(tmp_path, content, STORE.__getitem__) == ["facts/site__rack.py"]
    assert (tmp_path / "facts/site__rack.py").read_bytes() == RACK
    assert write_plugins(tmp_path, content, lambda digest: b"not asked for") == []
    changed = {"precast:///modules/site/facts/rack.py": digests.of_bytes(OTHER)}
    assert write_plugins(tmp_path, changed, STORE.__getitem__) == ["facts/site__rack.py"]
    assert write_plugins(tmp_path, {}, STORE.__getitem__) == []
    assert listing(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["../x.py", "site/facts/../../x.py", "site/facts/x.sh", "site/other/x.py", "Site/facts/x.py"]
)
def test_content_that_is_not_a_plugin_is_ignored(tmp_path: Path, name: str) -> None:
    assert write_plugins(tmp_path, {f"precast:///modules/{name}": DIGEST}, STORE.__getitem__) == []
    assert listing(tmp_path) == []


def test_plugin_with_another_digest_is_refused(tmp_path: Path) -> None:
    content = {"precast:///modules/site/facts/rack.py": DIGEST}
    with pytest.raises(PrecastError, match="does not have the digest"):
        write_plugins(tmp_path, content, lambda _: b"evil")
    assert listing(tmp_path) == []
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts/site__rack.py").write_bytes(b"changed by hand")
    assert write_plugins(tmp_path, content, STORE.__getitem__) == ["facts/site__rack.py"]
