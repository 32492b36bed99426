"""A local compile is repeated only if an answer that it read has changed."""

import argparse
import json
from pathlib import Path

import pytest

from precast.cli.compile.local_compile import DIRECTORY, CompiledCatalog, compile_here
from precast.lang import compile as language

COMPILES: list[str] = []


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    COMPILES.clear()
    real = language.compile_catalog

    def counting(*args: object) -> object:
        COMPILES.append("compile")
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(language, "compile_catalog", counting)


class Site:
    """A root with an environment of one module, and facts in a file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.facts = {"tier": "gold", "other": "1"}
        self.exports: str | None = None
        self.write("manifests/site.pp", "include m")
        self.write("modules/m/manifests/init.pp", "class m { file { '/x': content => template('m/x.erb') } }")
        self.write("modules/m/templates/x.erb", "tier <%= @tier %>")

    def write(self, path: str, text: str) -> None:
        place = self.root / "env" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def compile(self, code: str | None = None, node: str = "n") -> CompiledCatalog:
        (self.root / "facts.json").write_text(json.dumps(self.facts))
        args = argparse.Namespace(
            environment=str(self.root / "env"),
            modulepath=None,
            facts=str(self.root / "facts.json"),
            extension=[],
            strict=False,
            execute=code,
            manifest=None,
            root=self.root,
            state=None,
            exports=self.exports,
        )
        return compile_here(args, node)

    def content(self) -> object:
        (file,) = [resource for resource in self.compile().body.resources if resource.type == "File"]
        return file.parameters["content"]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_nothing_changed_compiles_once_and_gives_the_same(site: Site) -> None:
    first, second = site.compile(), site.compile()
    assert len(COMPILES) == 1
    assert first.body.digest() == second.body.digest()
    assert first.places == second.places


def test_change_of_an_unread_fact_compiles_nothing(site: Site) -> None:
    site.compile()
    site.facts["other"] = "2"
    site.compile()
    assert len(COMPILES) == 1


def test_change_of_a_read_value_compiles_again(site: Site) -> None:
    assert site.content() == "tier gold"
    site.facts["tier"] = "silver"
    assert site.content() == "tier silver"
    site.write("modules/m/templates/x.erb", "Tier <%= @tier %>")
    assert site.content() == "Tier silver"
    site.write("manifests/site.pp", "include m\nnotify { 'more': }")
    assert len(site.compile().body.resources) == 5
    assert len(COMPILES) == 4


def test_file_that_was_absent_and_exists_now_compiles_again(site: Site) -> None:
    site.compile("$x = find_file('m/late') if $x { notify { 'late': } }")
    site.write("modules/m/files/late", "")
    assert any(
        each.ref == "Notify[late]"
        for each in site.compile("$x = find_file('m/late') if $x { notify { 'late': } }").body.resources
    )


def test_result_of_a_keyed_function_is_compared(site: Site) -> None:
    first, second = (site.compile("notify { 'x': message => fqdn_rand(10, 'seed') }") for _ in range(2))
    assert len(COMPILES) == 1
    assert first == second


def test_exports_are_compared_with_what_a_collector_found(site: Site) -> None:
    def titles(**others: object) -> list[str]:
        rows = [
            {"node": "b", "type": "Notify", "title": "x", "tags": ["web"]},
            {"node": "b", "type": "Notify", **others},
        ]
        (site.root / "exports.json").write_text(json.dumps(rows))
        body = site.compile("Notify <<| tag == 'web' |>>").body
        return [resource.title for resource in body.resources if resource.type == "Notify"]

    site.exports = str(site.root / "exports.json")
    assert titles(title="y", tags=["db"]) == titles(title="z", tags=["other"]) == ["x"]
    assert len(COMPILES) == 1
    assert titles(title="y", tags=["web"]) == ["x", "y"]
    assert len(COMPILES) == 2


def test_another_node_or_other_code_is_another_compile(site: Site) -> None:
    site.compile()
    site.compile(node="other")
    site.compile("notify { 'x': }")
    assert len(COMPILES) == 3


@pytest.mark.parametrize(
    "code",
    [
        "notice('said each time')",
        "file { '/s': content => Sensitive('secret') }",
        "notify { 'x': message => [Sensitive('a')] }",
    ],
)
def test_compile_with_logs_or_secrets_is_not_cached(site: Site, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    site.compile(code)
    site.compile(code)
    assert len(COMPILES) == 2
    assert not list(site.root.rglob(f"{DIRECTORY}/*"))


def test_damaged_cache_file_is_replaced(site: Site) -> None:
    site.compile()
    (kept,) = site.root.rglob(f"{DIRECTORY}/*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text("{}")
    site.compile()
    site.compile()
    assert len(COMPILES) == 2
