"""What environment.conf says: where modules and manifests stand, and what is said of the rest."""

from typing import Any

import pytest

from precast.lang.answers import FileStore, NodeAnswers, NodeData, TextTree
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings


def compiled(files: dict[str, str], settings: Settings | None = None) -> CompileResult:
    constants: dict[str, Any] = {"environment_path": "/envs/production"}
    answers = NodeAnswers(NodeData.local("a.example", {}), FileStore(TextTree(files)), constants)
    return compile_catalog(Inputs(answers), settings or Settings())


def titles(result: CompileResult) -> list[str]:
    return [each.title for each in result.body.resources if each.type == "Notify"]


def said(result: CompileResult) -> list[tuple[str, object]]:
    return [(line.level, line.message) for line in result.logs]


def module(path: str, text: str) -> dict[str, str]:
    return {f"{path}/m/manifests/init.pp": f"class m {{ notify {{ '{text}': }} }}"}


SITE = {"manifests/site.pp": "include m"}


@pytest.mark.parametrize(
    ("conf", "found"),
    [
        ("modulepath = site:modules", "site"),
        ("# modulepath = site\nmodulepath = modules:site # as it was", "modules"),
        ("modulepath = ./site/:$basemodulepath", "site"),
        ("modulepath = $basemodulepath:site", "modules"),
        ("modulepath = /opt/modules:modules", "opt"),
        ("modulepath = nowhere:/envs/production/site", "site"),
        ("modulepath = ../common:modules", "common"),
        ("modulepath = '/envs/$environment/site'", "site"),
        ("modulepath = grou*/*", "grouped"),
        ("[main]\nmodulepath = site", "site"),
        ("modulepath =", "modules"),
    ],
)
def test_module_path_is_taken_in_its_order(conf: str, found: str) -> None:
    files = {
        **SITE,
        "environment.conf": conf,
        **module("site", "site"),
        **module("modules", "modules"),
        **module("/opt/modules", "opt"),
        **module("/envs/common", "common"),
        **module("groups/one", "grouped"),
    }
    assert titles(compiled(files)) == [found]


@pytest.mark.parametrize(
    ("conf", "found"),
    [
        ("manifest = site.pp", ["one"]),
        ("manifest = code", ["a", "b"]),
        ("manifest = /envs/production/code/b.pp", ["b"]),
    ],
)
def test_manifest_is_a_file_or_a_directory(conf: str, found: list[str]) -> None:
    files = {
        "environment.conf": conf,
        "site.pp": "notify { 'one': }",
        "code/a.pp": "notify { 'a': }",
        "code/b.pp": "notify { 'b': }",
        "manifests/site.pp": "notify { 'not this': }",
    }
    assert titles(compiled(files)) == found


def test_settings_without_effect_are_named() -> None:
    conf = "config_version = /bin/true\nenvironment_timeout = 0\nmodulpath = x\n"
    assert [
        (level, str(text).split(":")[1].split()[0])
        for level, text in said(compiled({**module("modules", "x"), **SITE, "environment.conf": conf}))
    ] == [
        ("info", "config_version"),
        ("info", "environment_timeout"),
        ("warning", "modulpath"),
    ]


@pytest.mark.parametrize(
    ("conf", "code"),
    [
        ("modulepath = $codedir/modules", "LANG-761"),
        ("manifest = /etc/site.pp", "LANG-762"),
        ("manifest = ../x", "LANG-762"),
    ],
)
def test_what_leads_elsewhere_is_an_error(conf: str, code: str) -> None:
    with pytest.raises(CompileFailure) as failed:
        compiled({"environment.conf": conf})
    assert failed.value.error.code == code
