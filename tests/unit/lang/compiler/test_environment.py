"""environment.conf: the module path, the manifest, and the log lines about other settings."""

from typing import Any

import pytest

from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.compiler.environment import _values
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings


def compiled(files: dict[str, str], settings: Settings | None = None) -> CompileResult:
    constants: dict[str, Any] = {"environment_path": "/envs/production"}
    answers = NodeAnswers(NodeData.local("a.example", {}), FileStore(TextTree(files)), constants)
    return compile_catalog(Inputs(answers), settings or Settings())


def titles(result: CompileResult) -> list[str]:
    return [resource.title for resource in result.body.resources if resource.type == "Notify"]


def log_lines(result: CompileResult) -> list[tuple[str, object]]:
    return [(line.level, line.message) for line in result.logs]


def module(path: str, text: str) -> dict[str, str]:
    return {f"{path}/m/manifests/init.pp": f"class m {{ notify {{ '{text}': }} }}"}


SITE = {"manifests/site.pp": "include m"}


@pytest.mark.parametrize(
    ("conf", "title"),
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
def test_module_path_is_searched_in_its_order(conf: str, title: str) -> None:
    files = {
        **SITE,
        "environment.conf": conf,
        **module("site", "site"),
        **module("modules", "modules"),
        **module("/opt/modules", "opt"),
        **module("/envs/common", "common"),
        **module("groups/one", "grouped"),
    }
    assert titles(compiled(files)) == [title]


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ("manifest = site.pp", ["one"]),
        ("manifest = code", ["a", "b"]),
        ("manifest = /envs/production/code/b.pp", ["b"]),
    ],
)
def test_manifest_is_a_file_or_a_directory(conf: str, expected: list[str]) -> None:
    files = {
        "environment.conf": conf,
        "site.pp": "notify { 'one': }",
        "code/a.pp": "notify { 'a': }",
        "code/b.pp": "notify { 'b': }",
        "manifests/site.pp": "notify { 'not this': }",
    }
    assert titles(compiled(files)) == expected


def test_settings_without_effect_are_named() -> None:
    conf = "config_version = /bin/true\nenvironment_timeout = 0\nmodulpath = x\n"
    assert [
        (level, str(text).split(":")[1].split()[0])
        for level, text in log_lines(compiled({**module("modules", "x"), **SITE, "environment.conf": conf}))
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
def test_path_outside_the_environment_is_an_error(conf: str, code: str) -> None:
    with pytest.raises(CompileFailure) as failed:
        compiled({"environment.conf": conf})
    assert failed.value.error.code == code


def test_line_of_blanks_is_read_in_linear_time() -> None:
    # An expression that ends in optional blanks would try each of them as the beginning of the end.
    value = f"a{' ' * 1_000_000}b"
    assert _values(f"manifest = {value}\n") == [("manifest", value)]
