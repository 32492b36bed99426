"""Type code of modules: it refuses values and resources when a catalog is compiled, and computes what a resource follows."""

import pytest

from precast.base.errors import PrecastError
from precast.lang.compile import CompileResult
from precast.lang.ruby import execution
from precast.types.ordering import application_order
from tests.unit.lang.small_manifests import asked, compiled, failure, parameters

THING = "modules/m/lib/puppet/type/thing.rb"
FILES = {
    THING: """
require 'puppet_x/m/words'

Puppet::Type.newtype(:thing) do
  include PuppetX::M::Words
  @doc = 'A thing.'
  ensurable
  newparam(:name, namevar: true)
  newproperty(:mode) do
    newvalues(:fast, :slow, /^x\\d+$/)
    aliasvalue(:quick, :fast)
  end
  newproperty(:labels, array_matching: :all) do
    validate { |value| raise ArgumentError, "bad label #{value}" unless value =~ /^[a-z]+$/ }
    munge { |value| value.upcase }
  end
  newproperty(:first_only) do
    munge { |value| return value if value.empty?; value.downcase }
  end
  newparam(:flag, boolean: true, parent: Puppet::Parameter::Boolean)
  newparam(:path, parent: Puppet::Parameter::Path)
  newparam(:count) do
    munge { |value| Integer(value) }
    defaultto 3
  end
  newparam(:system) { defaultto { Facter.value(:kernel) } }
  newproperty(:address) do
    validate do |value|
      IPAddr.new(value)
    rescue IPAddr::InvalidAddressError
      raise ArgumentError, "#{self.class} needs an address"
    end
  end
  newparam(:odd) { validate { |value| raise 'odd' if provider.likes?(value) } }
  validate do
    fail 'slow things count to five' if self[:mode] == :slow && self[:count] > 5
    raise Puppet::Error, "labels are #{self[:labels].inspect}" if self[:labels] && self[:labels].include?('NO')
    fail "first is #{self[:first_only]}" if self[:first_only] == 'stop'
    fail "no #{self[:system]}" if self[:path] == '/windows' && self[:system] != 'windows'
  end
  autorequire(:file) { [self[:path], "/etc/#{lower(self[:name])}"] }
  autobefore(:service) { 'late' if flag? }
end
""",
    "modules/m/lib/puppet_x/m/words.rb": (
        "module PuppetX\n module M\n  module Words\n   def lower(text)\n    text.downcase\n   end\n  end\n end\nend\n"
    ),
}  # fmt: skip


def refusal(attributes: str) -> str:
    """The message of the error for one thing; empty if it is accepted."""
    result = compiled(f"thing {{ 'a': {attributes} }}", FILES)
    return result.refused[0].message if result.refused else ""


def order(result: CompileResult) -> list[str]:
    return application_order(result.body, result.types)[0]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            "mode => 'zip'",
            ('Parameter mode failed on Thing[a]: Invalid value "zip". Valid values are fast, slow. '
            "Valid values match /^x\\d+$/."),
        ),
        (
            "ensure => 'gone'",
            'Parameter ensure failed on Thing[a]: Invalid value "gone". Valid values are present, absent.',
        ),
        (
            "address => ['192.0.2.1', 'y']",
            "Parameter address failed on Thing[a]: Puppet::Type::Thing::Address needs an address",
        ),
        ("labels => ['a', 'B']", "Parameter labels failed on Thing[a]: bad label B"),
        ("flag => 'maybe'", "Parameter flag failed on Thing[a]: expected a boolean value"),
        ("path => 'rel'", "Parameter path failed on Thing[a]: path must be a fully qualified path"),
        ("path => ['/a', '/b']", "Parameter path failed on Thing[a]: path only accepts a single path, not an array of paths"),
        ("count => 'many'", 'Parameter count failed on Thing[a]: invalid value for Integer(): "many"'),
        ("mode => slow, count => '9'", "Validation of Thing[a] failed: slow things count to five"),
        ("labels => 'no'", 'Validation of Thing[a] failed: labels are ["NO"]'),
        ("first_only => ['STOP', 'x']", "Validation of Thing[a] failed: first is stop"),
        ("path => '/windows'", "Validation of Thing[a] failed: no Linux"),
    ],
)  # fmt: skip
def test_value_that_the_type_refuses_is_an_error_in_its_words(attributes: str, message: str) -> None:
    assert refusal(attributes) == message


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        "mode => quick",
        "mode => 'x12'",
        "labels => [a, b]",
        "flag => yes",
        "flag => true",
        "mode => slow, count => 5",
        "ensure => absent",
    ],
)
def test_value_that_the_type_accepts_is_no_error(attributes: str) -> None:
    assert refusal(attributes) == ""


def test_value_that_only_a_node_can_check_or_know_is_not_refused() -> None:
    assert refusal("odd => 'x'") == ""
    assert refusal("path => $facts['fqdn']") == ""
    assert refusal("count => Deferred('f')") == ""
    assert refusal("path => $facts['fqdn'], mode => 'zip'").startswith("Parameter mode failed")


def test_resource_with_a_secret_is_refused_without_its_value() -> None:
    message = refusal("mode => Sensitive('hunter2')")
    assert message.startswith("Parameter mode failed on Thing[a]: ")
    assert "hunter2" not in message


def test_error_stands_at_the_resource_and_the_catalog_is_compiled() -> None:
    result = compiled("notify { 'x': }\nthing { 'a':\n  mode => 'zip' }", FILES)
    (error,) = result.refused
    assert isinstance(error, PrecastError)
    assert error.code == "LANG-791"
    assert error.source is not None
    assert error.span is not None
    assert error.source.position(error.span.start).line == 2
    assert "Thing[a]" in [resource.ref for resource in result.body.resources]


def test_virtual_resource_is_not_checked() -> None:
    assert not compiled("@thing { 'a': mode => 'zip' }", FILES).refused


def test_computed_relations_decide_the_order() -> None:
    code = "service { 'late': } thing { 'A': flag => yes, path => '/x' } file { ['/etc/a', '/x', '/y']: }"
    assert order(compiled(code, FILES)) == ["File[/etc/a]", "File[/x]", "Thing[A]", "Service[late]", "File[/y]"]
    without = "service { 'late': } thing { 'A': } file { ['/etc/b', '/x']: }"
    assert order(compiled(without, FILES)) == ["Service[late]", "Thing[A]", "File[/etc/b]", "File[/x]"]


def test_files_and_facts_that_type_code_uses_are_questions_of_the_trace() -> None:
    questions = asked(compiled("thing { 'a': }", FILES))
    assert {"ask": "file", "path": "modules/m/lib/puppet_x/m/words.rb"}.items() <= next(
        question for question in questions if "words.rb" in str(question.get("path")) and question["ask"] == "file"
    ).items()
    assert any("kernel" in str(question) for question in questions)


def test_type_whose_file_cannot_run_checks_nothing() -> None:
    files = {
        THING: "Unknown.thing\nPuppet::Type.newtype(:thing) do\n newparam(:name)\n newparam(:mode) { newvalues(:a) }\nend\n"
    }
    assert not compiled("thing { 'a': mode => 'zip' }", files).refused


def test_endless_code_ends_and_checks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "MAX_STEPS", 10_000)
    files = {
        THING: "Puppet::Type.newtype(:thing) do\n newparam(:name)\n"
        " newparam(:mode) { validate { |value| loop { 1 } } }\nend\n"
    }
    assert not compiled("thing { 'a': mode => 'zip' }", files).refused


def test_class_of_an_attribute_in_another_file_is_used() -> None:
    files = {
        THING: "require 'puppet/property/port'\nPuppet::Type.newtype(:thing) do\n newparam(:name)\n"
        " newproperty(:port, parent: Puppet::Property::Port)\nend\n",
        "modules/m/lib/puppet/property/port.rb": (
            "class Puppet::Property::Port < Puppet::Property\n validate do |value|\n"
            "  raise ArgumentError, \"no port: #{value}\" unless value.to_s =~ /^\\d+$/\n end\nend\n"
        ),
    }  # fmt: skip
    assert not compiled("thing { 'a': port => 80 }", files).refused
    assert compiled("thing { 'a': port => 'x' }", files).refused[0].message == (
        "Parameter port failed on Thing[a]: no port: x"
    )


def test_title_patterns_that_change_values_set_them() -> None:
    files = {
        THING: """
Puppet::Type.newtype(:thing) do
  newparam(:name, namevar: true)
  newparam(:kind, namevar: true)
  newproperty(:port)
  def self.title_patterns
    lower = lambda { |text| text.downcase }
    [
      [/^(\\w+):(\\d+)$/, [[:name, lower], [:port, lambda { |text| Integer(text) + 1 }]]],
      [/^(\\w+)\\/(\\w+)$/, [[:name, lower], [:kind]]],
      [/^(.*)$/, [[:name]]],
    ]
  end
end
"""
    }  # fmt: skip
    assert parameters(compiled("thing { 'Web:80': }", files), "Thing[Web:80]") == {"name": "web", "port": 81}
    assert parameters(compiled("thing { 'Web/x': }", files), "Thing[Web/x]") == {"name": "web", "kind": "x"}
    assert parameters(compiled("thing { 'Web': }", files), "Thing[Web]") == {}
    failed = failure("thing { 'Web/x': } thing { 'WEB/x': }", files)
    assert failed.error.code == "LANG-672"
