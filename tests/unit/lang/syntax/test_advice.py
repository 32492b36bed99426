"""Mistakes that people make, and the hint each gets."""

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
        ("unless $a { } elsif $b { }", "unless takes no elsif: turn it into an if"),
        ("foreach $x in $y { }", "write $list.each |$item| { … }"),
        ("if ($x == 1 { }", "is a ) missing before the brace?"),
        ("$x.each { |$y| notice $y }", "a lambda stands after a call: name(…) |$x| { … }"),
        ("file { '/a': ensure = present }", "write => between name and value"),
        ("file { '/a': ensure: present }", "write => between name and value"),
        ("file { '/a': 'ensure' => present }", "the name of an attribute stands without quotes"),
        ("file { '/a' ensure => present }", "a resource is type { 'title': attribute => value, … }"),
        ("file { '/a': ensure => file mode => '0644' }", "a comma is missing before it"),
        ("File { owner => 'root' mode => '0644' }", "a comma is missing before it"),
        ("$x = [1 2]", "is a comma missing before it?"),
        ("$x = { 'a' => 1 'b' => 2 }", "is a comma missing before it?"),
        ("$x = { a: 1 }", "a hash is { key => value, … }"),
        ("$x ? { a: 1 }", "an entry of a selector is value => result"),
        ("case $x { a { } }", "an option is value, value: { … }"),
        ("class foo($a = 1 $b) { }", "is a comma missing before it?"),
        ("class foo(a) { }", "a parameter is Type $name = default; type and default may be left out"),
        ("file { '/a': } }", "there is no { that it could close"),
        ("class a {\n  notice(1)\n", "the { of line 1, column 9 is not closed"),
        ("notice(1);", "take the ; at the end away"),
        ("$x = <<EOT", "a value must stand before it; a heredoc is written @(END)"),
        ("notify { “a”: }", "these are typographic quotes: write ' or \""),
        ("$x = `ls`", "a command is run by an exec resource; text stands between ' or \""),
        ("$x = in", "in is a keyword: put it in quotes if you mean the word"),
        ("node web.example-x.com { }", "names with other characters than letters and digits need quotes"),
        ('"${a b}"', "one expression may stand between ${ and }"),
        ("plan foo() { }", "write it as a Precast plan: a task graph in YAML"),
    ],
)
def test_mistake_gets_its_hint(text: str, hint: str) -> None:
    with pytest.raises(InputError) as failure:
        parse(Source("site.pp", text))
    assert failure.value.hint == hint
