"""Types that modules declare in Ruby: what the reader understands, and when it leaves the type open."""

import pytest

from precast.base.spans import Source
from precast.lang.ruby.declarations.ruby_file import RubyFile, load_ruby_file
from precast.lang.ruby.declarations.types import NotThisType, read_type
from precast.types.declaration import AutoRelation, ManagedType
from tests.unit.lang.small_manifests import asked, compiled, failure, parameters


def read(text: str, name: str = "thing", **files: str) -> ManagedType:
    def find_file(path: str) -> RubyFile | None:
        return load_ruby_file(path, path, files[path]) if path in files else None

    return read_type(name, RubyFile(Source("thing.rb", text)), find_file)


def declared(body: str) -> ManagedType:
    return read(f"Puppet::Type.newtype(:thing) do\n{body}\nend\n")


def test_attributes_are_read_with_their_details() -> None:
    declaration = declared(
        "@doc = 'A thing. More of it.'\n"
        "ensurable { defaultto :present\n newvalue(:present) do\n provider.create\n end }\n"
        "newparam(:path, namevar: true) do\n desc 'where it is'\n end\n"
        "newproperty(:size) do\n desc \"how\nlarge. Really\"\n newvalues(:small, 'large', /x/)\n defaultto 'small'\n end\n"
    )
    assert declaration.summary == "A thing"
    assert declaration.properties == {"ensure": "whether it exists", "size": "how large"}
    assert declaration.parameters == {"path": "where it is"}
    assert declaration.namevars == ("path",)
    assert declaration.defaults == {"ensure": "present", "size": "small"}
    assert declaration.words == {"ensure": ("present",), "size": ("small", "large")}
    assert not declaration.is_open


@pytest.mark.parametrize(
    "body",
    [
        "names.each do |name|\n newparam(name)\n end",
        "newparam(some_name)",
        "declare_all",
        "extend Far::Away\n add_parameters",
        "def self.again\n newparam(:x)\n again\n end\n again",
        "L = %w[1 2 3 4 5 6 7 8 9 10]\n" + "L.each do |x|\n" * 12 + "newparam(:x)\n" + "end\n" * 12,
    ],
)
def test_unreadable_declaration_leaves_the_type_open(body: str) -> None:
    assert declared(f"newparam(:name)\n{body}").is_open


@pytest.mark.parametrize(
    "body",
    [
        "names.each do |name|\n autorequire(name) { 'x' }\n end",
        "def munge(value)\n if value then x.each do |y|\n newthing y\n end end\n end",
        "validate do\n raise 'no' unless self[:a] =~ /end|do/\n end",
        "newproperty(:x) { newvalues(*WORDS) }",
        "raise 'end' if %w[do end].include?(x)",
        "desc <<~TEXT.strip, 1\n  newparam(:not) do\nTEXT",
        "x = case y when 1 then 2 else 3 end",
        "def one = 1",
        "def self.if?(x) = x ? 1 : 2",
        "while x do\n y\n end",
        "=begin\nnewparam(:not) do\n=end",
        "`command`",
    ],
)
def test_other_code_neither_opens_the_type_nor_hides_what_follows(body: str) -> None:
    declaration = declared(f"newparam(:name)\n{body}\nnewparam(:after)")
    assert not declaration.is_open
    assert set(declaration.parameters) == {"name", "after"}


def test_unreadable_file_is_accepted_by_name() -> None:
    assert read_type("thing", None, lambda _: None).is_open
    assert read("class Thing\nend\n").is_open
    assert load_ruby_file("x.rb", "1", "x = 'not closed\n") is None


def test_file_of_another_type_is_not_this_one() -> None:
    with pytest.raises(NotThisType):
        read("Puppet::Type.newtype(:other) do\nend\n")


def test_constant_relations_are_read() -> None:
    declaration = declared(
        "newparam(:name)\n"
        "autorequire(:package) { %w[git git-core] }\n"
        "autorequire(:file) do\n self[:path]\n end\n"
        "autorequire(:user) do\n [self[:owner], 'root'] if self[:owner]\n end\n"
        "[:a, :b].each do |kind|\n autobefore(kind) { [self[kind]] }\n end\n"
        "autorequire(:service) { catalog.resources.map(&:title) }\n"
    )
    assert declaration.relations == (
        AutoRelation("package", (), titles=("git", "git-core")),
        AutoRelation("file", ("path",)),
        AutoRelation("user", ("owner",), titles=("root",)),
        AutoRelation("a", ("a",), kind="before"),
        AutoRelation("b", ("b",), kind="before"),
    )


def test_title_patterns_are_read_also_from_another_file() -> None:
    helper = (
        "module PuppetX\n module Site\n  module Forms\n"
        "   def self.word\n    Regexp.new(/[a-z]+/)\n   end\n"
        "   def self.two(first, second, mark = '/', *rest)\n"
        "    if rest.empty? and mark == '/'\n     [[/^(#{word})#{mark}(#{word})$/i, [[first], [second, ->(x) { x.upcase }]]]]\n"
        "    else\n     raise 'no'\n    end\n   end\n  end\n end\nend\n"
    )
    declaration = read(
        "Puppet::Type.newtype(:thing) do\n newparam(:name)\n newparam(:zone) { isnamevar }\n"
        " def self.title_patterns\n  PuppetX::Site::Forms.two(:name, :zone)\n end\nend\n",
        **{"puppet_x/site/forms.rb": helper},
    )
    assert declaration.namevars == ("name", "zone")
    assert declaration.names_of_title("One/two") == {"name": "One"}
    assert not declaration.has_form_for("1")


def test_registered_type_is_read() -> None:
    declaration = read(
        "Puppet::ResourceApi.register_type(\n"
        "  name: 'thing',\n  docs: <<-EOS,\n@summary a thing\nEOS\n"
        "  title_patterns: [{ pattern: %r{^(?<name>[^/]+)/(?<zone>.+)$}, desc: 'both' }, { pattern: %r{^(?<name>.*)$} }],\n"
        "  features: ['simple_get_filter'],\n"
        "  attributes: {\n"
        "    ensure: { type: 'Enum[present, absent]', default: 'present' },\n"
        "    name: { type: 'String', desc: 'its name', behaviour: :namevar },\n"
        "    zone: { type: 'String', behaviour: :namevar },\n"
        "    force: { type: 'Boolean', behaviour: :parameter, default: some_call },\n"
        "  },\n"
        "  autorequire: { file: '$zone', package: ['thing', '$name'] },\n"
        ")\n"
    )
    assert declaration.properties == {"ensure": ""}
    assert set(declaration.parameters) == {"name", "zone", "force"}
    assert declaration.namevars == ("name", "zone")
    assert declaration.defaults == {"ensure": "present"}
    assert declaration.names_of_title("a/b") == {"name": "a", "zone": "b"}
    assert declaration.relations == (
        AutoRelation("file", ("zone",)),
        AutoRelation("package", ("name",), titles=("thing",)),
    )


TYPE = "Puppet::Type.newtype(:thing) do\n newparam(:name)\n extend Site::Shared\n shared\nend\n"
SHARED = "module Site\n module Shared\n  def shared\n   newproperty(:level)\n  end\n end\nend\n"
FILES = {"modules/m/lib/puppet/type/thing.rb": TYPE, "modules/n/lib/site/shared.rb": SHARED}


def test_compile_asks_for_each_file_a_type_led_to_in_a_warm_process_too() -> None:
    first, second = (compiled("thing { 'a': level => 1 }", FILES) for _ in range(2))
    assert parameters(first, "Thing[a]") == {"level": 1}
    assert first.trace == second.trace
    reads = [(entry["ask"], entry.get("path")) for entry in asked(second)]
    assert ("file", "modules/n/lib/site/shared.rb") in reads


def test_another_helper_makes_another_type() -> None:
    compiled("thing { 'a': level => 1 }", FILES)
    other = {**FILES, "modules/n/lib/site/shared.rb": SHARED.replace(":level", ":depth")}
    assert failure("thing { 'a': level => 1 }", other).error.code == "LANG-682"
    assert parameters(compiled("thing { 'a': depth => 1 }", other), "Thing[a]") == {"depth": 1}


def test_type_that_no_module_brings_is_asked_for_and_an_error() -> None:
    assert failure("thing { 'a': }").error.message.startswith("Unknown resource type: 'thing'")
    reads = [entry for entry in asked(compiled("notice(defined('thing'))")) if entry["ask"] == "module_file"]
    assert [entry["path"] for entry in reads] == ["lib/puppet/type/thing.rb", "precast/types/thing.py"]


def test_type_in_python_is_accepted_by_name() -> None:
    result = compiled("thing { 'a': level => 1 }", {"modules/m/precast/types/thing.py": "pass"})
    assert parameters(result, "Thing[a]") == {"level": 1}
    assert list(result.body.content) == ["precast:///modules/m/types/thing.py"]
