"""`make corpus`: cases of modules that a directory names, compared with real Puppet, with the causes of what differs."""

from pathlib import Path

import pytest

from lab.corpus import comparing
from lab.corpus.__main__ import DEBIAN
from lab.corpus.cases import cases
from lab.corpus.modules import declarations

FILES = {
    "thing/manifests/init.pp": "class thing(String $label, Integer[1, 3] $level, $port = 80) { notify { \"${label} ${level}\": } }",
    "thing/manifests/item.pp": "define thing::item(Stdlib::Absolutepath $path, $password) { file { $path: content => $password } }",
    "thing/manifests/broken.pp": "class thing::broken { fail('no') }",
    "thing/manifests/odd.pp": "class thing::odd($value) { notify { \"odd ${value}\": } }",
    "thing/examples/init.pp": "class { 'thing': label => 'from the example', level => 2 }",
    "thing/spec/classes/odd_spec.rb": (
        "describe 'thing::odd' do\n  let(:params) { { 'value' => ['from', 'the', :spec] } }\n  it { is_expected.to compile }\nend\n"
    ),
}  # fmt: skip


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        place = tmp_path / "modules" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path / "modules"


def test_parameters_come_from_examples_specs_types_and_names(modules: Path) -> None:
    made = {each.declared: each.code for each in cases(modules, list(DEBIAN), 1, 1)}
    assert sorted(made) == ["thing", "thing::broken", "thing::item", "thing::odd"]
    assert "label => 'from the example'" in made["thing"]
    assert "level => 2" in made["thing"]
    assert "value => ['from', 'the', 'spec']" in made["thing::odd"]
    assert "password => 'secret'" in made["thing::item"]
    assert "path => '/" in made["thing::item"]
    assert [each.name for each in declarations(modules)] == ["thing::broken", "thing", "thing::item", "thing::odd"]


@pytest.mark.timeout(300)
def test_corpus_tells_equal_cases_from_those_that_fail(puppet_and_modules: None, modules: Path, tmp_path: Path) -> None:
    made = list(cases(modules, list(DEBIAN), 1, 1))
    result = comparing.compare(tmp_path / "kept", made, (modules, *DEBIAN))
    by_name = {(each.case.declared, each.result) for each in result.outcomes}
    assert by_name == {
        ("thing", comparing.EQUAL),
        ("thing::item", comparing.EQUAL),
        ("thing::odd", comparing.EQUAL),
        ("thing::broken", comparing.BOTH),
    }
    assert result.cpu_here_s > 0
    again = comparing.compare(tmp_path / "kept", made, (modules, *DEBIAN))
    assert [each.result for each in again.outcomes] == [each.result for each in result.outcomes]
