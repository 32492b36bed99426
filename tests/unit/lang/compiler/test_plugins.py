"""Plug-ins in the folder `precast` of modules are part of a catalog's content."""

from precast.base import digests
from tests.unit.lang.small_manifests import asked, compiled

FILES = {
    "modules/m/precast/facts/rack.py": "def facts(): return {}",
    "modules/m/precast/functions/f.py": "def call(x): return x",
    "modules/m/precast/facts/README.md": "no plug-in",
    "modules/m/precast/other/x.py": "no plug-in",
    "modules/n/precast/types/thing.py": "pass",
}


def test_plugins_of_all_modules_are_pinned_by_digest() -> None:
    content = compiled("", FILES).body.content
    assert content == {
        f"precast:///modules/{name}": digests.of_bytes(FILES[path].encode())
        for name, path in (
            ("m/facts/rack.py", "modules/m/precast/facts/rack.py"),
            ("m/functions/f.py", "modules/m/precast/functions/f.py"),
            ("n/types/thing.py", "modules/n/precast/types/thing.py"),
        )
    }


def test_changed_plugin_changes_the_digest_and_all_plugins_are_one_question() -> None:
    first, changed = compiled("", FILES), compiled("", {**FILES, "modules/m/precast/facts/rack.py": "def facts(): ..."})
    assert first.body.digest() != changed.body.digest()
    assert [question["ask"] for question in asked(first)].count("plugins") == 1
    assert compiled("").body.content == {}
