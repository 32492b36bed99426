"""Facts that the code reads, the node does not have, and a module of the environment adds in a way that nodes do not read."""

from typing import Any

import pytest

from precast.lang.compile import CompileFailure
from precast.lang.inputs import ABSENT, ModuleFact
from precast.lang.settings import Settings
from tests.unit.lang.small_manifests import FACTS, compiled

RUBY = "modules/disks/lib/facter/layout.rb"
# It needs more of Ruby than nodes run.
FILES = {RUBY: "Facter.add(:layout) do\n  setcode { Augeas.open('/') }\nend\n"}
HAS_READ = {**FACTS, "precast_module_facts": {"files": 1}}
READ = "$value = \"${facts['layout']}\""


def missing(code: str, files: dict[str, str], level: Any = "warning", facts: dict[str, Any] | None = None) -> list[str]:
    """The texts of the problems."""
    result = compiled(code, files, settings=Settings(missing_module_facts=level), facts=facts)
    return [problem.text for problem in result.problems]


@pytest.mark.parametrize(
    "code",
    [
        READ,
        '$value = "${layout}"',
        '$value = "${::layout}"',
        "$value = String($facts.dig('layout', 'disks'))",
        "$value = \"${getvar('facts.layout.disks')}\"",
        "if $layout { notify { 'x': } }",
        "notify { inline_epp('<%= $facts[\"layout\"] %> x'): }",
        "notify { inline_template('<%= @layout %> x'): }",
    ],
)
def test_absent_fact_of_a_module_is_named_with_its_file(code: str) -> None:
    assert missing(code, FILES) == [f"the code reads the fact layout, which {RUBY} adds and the node does not have"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (RUBY, '%w[lay].each { |name| Facter.add("#{name}out") { setcode { Augeas.open } } }\n'),
        (RUBY, "Facter.add(:layout, type: :aggregate) do\n  chunk(:one) { { 'a' => Augeas.open } }\nend\n"),
        (RUBY, "Facter.add(:layout) do\n  setcode { ( }\nend\n"),
        (RUBY, "def read\n  Augeas.open\nend\nFacter.add(:layout) { setcode { read } }\n"),
        (RUBY, "x = Augeas.open\nFacter.add(:layout) { setcode { x } }\n"),
        ("modules/disks/facts.d/all.yaml", "layout: raid\n"),
        ("modules/disks/facts.d/all.json", '{"layout": 1}'),
        ("modules/disks/facts.d/all.txt", "other=1\nlayout=raid\n"),
    ],
)
def test_files_of_all_kinds_are_read(path: str, text: str) -> None:
    (told,) = missing(READ, {path: text})
    assert path in told


@pytest.mark.parametrize(
    "files",
    [
        {},
        {RUBY: "Facter.add(:layout) { setcode { `lsblk`.lines.length } }\n"},
        {RUBY: "Facter.add(:layout) { setcode { 1 } }\nFacter.add(:other) { setcode { Augeas.open } }\n"},
        {RUBY: "Facter.add(:other) { setcode { Augeas.open } }\n"},
        {**FILES, "modules/mine/precast/facts/layout.py": ""},
        {"modules/disks/lib/facter/util/layout.rb": FILES[RUBY]},
        {"modules/disks/spec/fixtures/modules/other/lib/facter/layout.rb": FILES[RUBY]},
        {"modules/disks/facts.d/layout.sh": "echo layout=raid\n"},
        {"modules/disks/facts.d/all.yaml": "- layout\n"},
        {"modules/disks/facts.d/all.json": '{"layout": '},
    ],
)
def test_absent_fact_that_no_module_adds_is_just_absent(files: dict[str, str]) -> None:
    assert missing(READ, files, facts=HAS_READ) == []


def test_fact_that_nodes_read_is_named_until_the_node_has_read_the_facts_of_modules() -> None:
    files = {RUBY: "Facter.add(:layout) { setcode { 'raid' } }\n"}
    assert missing(READ, files) == [f"the code reads the fact layout, which {RUBY} adds and the node does not have"]
    assert missing(READ, files, facts=HAS_READ) == []
    assert missing(READ, {**files, "modules/mine/precast/facts/layout.py": ""}) == []
    assert missing("$value = \"${facts['layout']['x']}\"", files, facts={**FACTS, "layout": {}}) == []


@pytest.mark.parametrize("facts", [{"layout": "plain"}, {"layout": {}}, {"layout": {"disks": []}}, {"layout": False}])
def test_fact_that_the_node_has_is_no_problem(facts: dict[str, Any]) -> None:
    code = "$value = \"${facts['layout']['none']} ${layout}\"" if isinstance(facts["layout"], dict) else READ
    assert missing(code, FILES, facts={**FACTS, **facts}) == []


@pytest.mark.parametrize("code", ["notify { 'x': }", "$layout = 1", "$local = 'layout' notify { $local: }"])
def test_fact_that_the_code_does_not_read_is_no_problem(code: str) -> None:
    assert missing(code, FILES) == []


def test_only_names_of_absent_facts_are_asked_for() -> None:
    result = compiled(READ + " notify { $facts['kernel']: }", FILES, settings=Settings(missing_module_facts="warning"))
    asked = [read for read in result.trace if isinstance(read.question, ModuleFact)]
    assert [(read.question.name, read.answer) for read in asked if isinstance(read.question, ModuleFact)] == [
        ("layout", RUBY)
    ]


def test_nothing_is_asked_if_missing_facts_are_ignored() -> None:
    assert missing(READ, FILES, "ignore") == []
    result = compiled(READ, FILES)
    assert not any(isinstance(read.question, ModuleFact) for read in result.trace)


def test_environment_makes_it_an_error_or_nothing() -> None:
    with pytest.raises(CompileFailure) as caught:
        missing(READ, {**FILES, "environment.conf": "missing_module_facts = error\n"})
    assert caught.value.error.code == "LANG-765"
    assert "`precast env facts` says what" in caught.value.error.hint
    assert "write modules/disks/precast/facts/layout.py" in caught.value.error.hint
    assert missing(READ, {**FILES, "environment.conf": "missing_module_facts = ignore\n"}, "error") == []
    with pytest.raises(CompileFailure) as caught:
        missing(READ, {"environment.conf": "missing_module_facts = loud\n"})
    assert caught.value.error.code == "LANG-766"


def test_answer_is_absent_for_an_unknown_name() -> None:
    result = compiled("$value = \"${facts['nothing']}\"", FILES, settings=Settings(missing_module_facts="warning"))
    assert [read.answer for read in result.trace if isinstance(read.question, ModuleFact)] == [ABSENT, ABSENT]
