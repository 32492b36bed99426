"""Common mistakes, and the hint for each."""

import pytest

from precast.base.errors import InputError
from precast.base.spans import Source
from precast.lang.syntax.parser import parse


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("if $a && $b { }", "write and"),
        ("if $a || $b { }", "write or"),
        ("if $a === $b { }", "write =="),
        ("if $a = $b { }", "to compare write =="),
        ("if $a { } elseif $b { }", "write elsif"),
        ("if $a { } else if $b { }", "write elsif"),
        ("unless $a { } elsif $b { }", "unless has no elsif: use if instead"),
        ("foreach $x in $y { }", "write $list.each |$item| { … }"),
        ("if ($x == 1 { }", "is a ) missing before the brace?"),
        ("$x.each { |$y| notice $y }", "write a lambda after a call: name(…) |$x| { … }"),
        ("file { '/a': ensure = present }", "write => between name and value"),
        ("file { '/a': ensure: present }", "write => between name and value"),
        ("file { '/a': 'ensure' => present }", "write the name of an attribute without quotes"),
        ("file { '/a' ensure => present }", "write a resource as type { 'title': attribute => value, … }"),
        ("file { '/a': ensure => file mode => '0644' }", "a comma is missing before it"),
        ("File { owner => 'root' mode => '0644' }", "a comma is missing before it"),
        ("$x = [1 2]", "is a comma missing before it?"),
        ("$x = { 'a' => 1 'b' => 2 }", "is a comma missing before it?"),
        ("$x = { a: 1 }", "write a hash as { key => value, … }"),
        ("$x ? { a: 1 }", "write an entry of a selector as value => result"),
        ("case $x { a { } }", "write an option as value, value: { … }"),
        ("class foo($a = 1 $b) { }", "is a comma missing before it?"),
        ("class foo(a) { }", "write a parameter as Type $name = default; type and default are optional"),
        ("file { '/a': } }", "no { is open here"),
        ("class a {\n  notice(1)\n", "the { in line 1, column 9 is not closed"),
        ("notice(1);", "remove the ; at the end"),
        ("$x = <<EOT", "write a value before it; a heredoc begins with @(END)"),
        ("notify { “a”: }", "these are typographic quotes: write ' or \""),
        ("$x = `ls`", "to run a command use an exec resource; write text between ' or \""),
        ("$x = in", "in is a keyword: put it in quotes if you mean the word"),
        ("node web.example-x.com { }", "a name with characters other than letters and digits needs quotes"),
        ('"${a b}"', "write only one expression between ${ and }"),
        ("plan foo() { }", "write it as a Precast plan: a task graph in YAML"),
    ],
)
def test_mistake_gets_its_hint(text: str, hint: str) -> None:
    with pytest.raises(InputError) as failure:
        parse(Source("site.pp", text))
    assert failure.value.hint == hint
