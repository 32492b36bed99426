"""Entry points: one manifest of the environment instead of its main manifest; everything else is that of the environment."""

from typing import Any

import pytest

from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import EntryPoint, FileDigest, Inputs, Read
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

ENTRY = "modules/web/examples/hosts.pp"
FILES = {
    "hiera.yaml": "version: 5\nhierarchy:\n  - {name: role, path: 'role/%{role}.yaml'}\n  - {name: common, path: common.yaml}\n",
    "data/common.yaml": "web::port: 80\n",
    "data/role/proxy.yaml": "web::port: 3128\n",
    "manifests/site.pp": "$from_site = 1\nclass in_site { }\nnode 'a.example' { notify { 'site': } }\n",
    "modules/web/manifests/init.pp": 'class web(Integer $port) { notify { "web ${port}": } }\n',
    "modules/web/examples/hosts.pp": "include web\nnotify { 'entry': }\n",
}


def inputs(entry: str, files: dict[str, str] | None = None, **others: Any) -> Inputs:
    node = NodeData("a.example", {"colour": "red"}, {"certname": "a.example"}, entry=entry, **others)
    return Inputs(NodeAnswers(node, FileStore(TextTree(FILES if files is None else files))))


def compiled(entry: str, files: dict[str, str] | None = None, **others: Any) -> CompileResult:
    return compile_catalog(inputs(entry, files, **others), Settings())


def titles(result: CompileResult) -> list[str]:
    return [resource.title for resource in result.body.resources if resource.type == "Notify"]


def refused(entry: str, files: dict[str, str] | None = None, **others: Any) -> str:
    with pytest.raises(CompileFailure) as raised:
        compiled(entry, files, **others)
    return f"{raised.value.error.code}: {raised.value.error.message}"


def test_entry_point_is_evaluated_instead_of_the_main_manifest_with_the_modules_and_data_of_the_environment() -> None:
    assert titles(compiled("")) == ["site"]
    result = compiled(ENTRY)
    assert sorted(titles(result)) == ["entry", "web 80"]
    assert "manifests/site.pp" not in {
        read.question.path for read in result.trace if isinstance(read.question, FileDigest)
    }


def test_what_only_the_main_manifest_defines_does_not_exist() -> None:
    assert "in_site" in refused("e.pp", {**FILES, "e.pp": "include in_site\n"})
    result = compiled("e.pp", {**FILES, "e.pp": 'notify { "x${from_site}": }\n'})
    assert titles(result) == ["x"]


def test_node_blocks_of_the_entry_point_work() -> None:
    files = {**FILES, "e.pp": 'node /^(a)/ { notify { "block ${1}": } }\nnode default { }\n'}
    assert titles(compiled("e.pp", files)) == ["block a"]
    assert refused("e.pp", {**FILES, "e.pp": "node 'b' { }\n"}).startswith("LANG-")


def test_assigned_classes_belong_to_the_main_manifest_and_assigned_parameters_to_every_entry_point() -> None:
    assigned: dict[str, Any] = {"classes": {"web": {}}, "parameters": {"role": "proxy"}}
    assert "web 3128" in titles(compiled("", **assigned))
    assert titles(compiled("e.pp", {**FILES, "e.pp": 'notify { "is ${role}": }\n'}, **assigned)) == ["is proxy"]
    assert "web 3128" in titles(compiled(ENTRY, **assigned))


def test_class_in_the_file_of_an_entry_point_is_loaded_once() -> None:
    files = {**FILES, "modules/web/manifests/init.pp": "class web { }\ninclude web::missing\n"}
    assert "web::missing" in refused("modules/web/manifests/init.pp", files)


def test_errors_name_the_entry_point_with_its_line() -> None:
    with pytest.raises(CompileFailure) as raised:
        compiled("plans/first.pp", {**FILES, "plans/first.pp": "include web\ninclude nothing_such\n"})
    assert "plans/first.pp:2" in raised.value.error.render()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../other/site.pp",
        "modules/../../x.pp",
        "..",
        ".",
        "a//b.pp",
        "a/./b.pp",
        "a/",
        "a\nb.pp",
        "x" * 1_001,
    ],
)
def test_path_outside_the_environment_is_an_error_before_a_file_is_read(path: str) -> None:
    given = inputs(path)
    with pytest.raises(CompileFailure) as raised:
        compile_catalog(given, Settings())
    assert raised.value.error.code == "LANG-767"
    assert not any(isinstance(read.question, FileDigest) and read.question.path == path for read in given.trace)


def test_missing_entry_point_is_an_error_that_names_it_and_depends_only_on_that_file() -> None:
    given = inputs("plans/gone.pp")
    with pytest.raises(CompileFailure, match=r"the environment has no manifest plans/gone\.pp") as raised:
        compile_catalog(given, Settings())
    assert raised.value.error.code == "LANG-768"
    assert FileDigest("plans/gone.pp") in [read.question for read in given.trace]
    # A directory is no manifest either.
    assert refused("modules/web").startswith("LANG-768")


def test_entry_point_is_the_first_question_of_every_compile() -> None:
    assert compiled("").trace[0] == Read(EntryPoint(), "")
    assert compiled(ENTRY).trace[0] == Read(EntryPoint(), ENTRY)
