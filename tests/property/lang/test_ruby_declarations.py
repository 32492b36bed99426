"""Arbitrary Ruby files and Puppetfiles: reading them gives a type, facts and modules, or an error of ours."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.ruby.declarations.facts import added_facts
from precast.lang.ruby.declarations.puppetfile import read_puppetfile
from precast.lang.ruby.declarations.ruby_file import load_ruby_file
from precast.lang.ruby.declarations.types import NotThisType, read_type

TYPE = (
    "module Puppet\nNAMES = %w[a b].freeze\nPuppet::Type.newtype(:thing) do\n @doc = <<-EOT\n  text\n  EOT\n ensurable\n"
    ' newparam(:name, namevar: true) { desc "a #{x} b" }\n NAMES.each do |n|\n  newproperty(n.to_sym) do\n   newvalues(/x/, :y)\n'
    "   munge { |v| v ? v : 1 }\n  end\n end\n def self.title_patterns\n  [[/^(.*)$/m, [[:name, ->(x) { x }]]]]\n end\n"
    " autorequire(:file) { self[:a] if x }\nend\nend\nFacter.add(:one) { setcode { `x` } }\n%w[p q].each { |n| Facter.add(n) }\n"
)
PUPPETFILE = (
    "forge 'https://x'\nmoduledir 'm'\nbase = 'https://y'\nmod 'a/b', '1.2.3'\nmod 'c', :git => \"#{base}/c\", :tag => 'v1'\n"
    "mod 'd', git: 'git@h:d.git', branch: 'main', install_path: 'site'\nmod 'e', local: true\n"
)
FRAGMENTS = (
    *(
        "do",
        "end",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        '"',
        "'",
        "#{",
        "|",
        "if ",
        "def ",
        "class ",
        "<<-EOT",
        "%w[",
        "%r{",
        "/",
        "?",
        ":",
    ),
    *(
        "=",
        "=>",
        "\\",
        "`",
        "\n",
        ".each ",
        "&",
        "*",
        "->",
        "=begin\n",
        "__END__\n",
        "self",
        "::",
        "1e999",
        "\0",
        "é",
        "$",
        "@",
        "++",
    ),
)
changes = st.lists(
    st.tuples(st.integers(0, 700), st.integers(0, 30), st.sampled_from(FRAGMENTS), st.sampled_from((0, 1, 2, 400))),
    max_size=6,
)


def changed(text: str, edits: list[tuple[int, int, str, int]]) -> str:
    for at, length, fragment, times in edits:
        text = text[:at] + fragment * times + text[at + length :]
    return text


@settings(max_examples=300, deadline=None)
@given(changes)
def test_ruby_file_is_read_or_left_open(edits: list[tuple[int, int, str, int]]) -> None:
    text = changed(TYPE, edits)
    file = load_ruby_file("thing.rb", text, text)
    with contextlib.suppress(NotThisType):
        declaration = read_type("thing", file, lambda _: None)
        assert declaration.name == "thing"
        assert declaration.namevars
        declaration.names_of_title("a")
    if file is not None:
        assert all(fact.name is None or isinstance(fact.name, str) for fact in added_facts(file))


@settings(max_examples=300, deadline=None)
@given(changes)
def test_puppetfile_names_only_what_is_safe(edits: list[tuple[int, int, str, int]]) -> None:
    try:
        puppetfile = read_puppetfile(Source("Puppetfile", changed(PUPPETFILE, edits)))
    except PrecastError:
        return
    for module in puppetfile.modules:
        assert ".." not in module.directory.split("/")
        assert not module.directory.startswith(("/", "-"))
        assert not module.url.startswith("-")
        assert not module.reference.startswith("-")
        assert "::" not in module.url
