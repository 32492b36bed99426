"""The order of application: relationships, containment, declaration, and automatic relationships of types."""

import random

import pytest

from precast.types.ordering import application_order, find_cycle
from tests.unit.lang.small_manifests import compiled


def order(code: str) -> list[str]:
    found, cycle = application_order(compiled(code).body, {})
    assert cycle == []
    return found


def test_declaration_decides_where_nothing_else_does() -> None:
    assert order("notify { 'b': } notify { 'a': }") == ["Notify[b]", "Notify[a]"]


def test_who_waits_for_a_class_waits_for_all_it_contains() -> None:
    code = """
    class a { contain b notify { 'a': } }
    class b { notify { 'b': } }
    notify { 'after': require => Class['a'] }
    include a
    """
    assert order(code)[-1] == "Notify[after]"


def test_cycle_is_named() -> None:
    body = compiled("notify { 'a': require => Notify['b'] } notify { 'b': require => Notify['a'] }").body
    done, cycle = application_order(body, {})
    assert done == []
    assert sorted(cycle) == ["Notify[a]", "Notify[b]"]


def test_path_of_a_cycle_begins_with_the_first_resource_as_puppet_prints_it() -> None:
    code = """
    class a { notify { 'a': require => Class['b'] } }
    class b { notify { 'b': require => Class['a'] } }
    include a, b
    """
    assert find_cycle(compiled(code).body) == ["Notify[a]", "Class[A]", "Notify[b]", "Class[B]"]


CYCLES = {
    "the same resource": "notify { 'a': require => Notify['a'] }",
    "no-op": "notify { 'a': noop => true, require => Notify['b'] } notify { 'b': noop => true, require => Notify['a'] }",
    "tags": "notify { 'a': tag => 'x', require => Notify['b'] } notify { 'b': require => Notify['a'] }",
    "realized": "@notify { 'a': before => Notify['b'] } notify { 'b': before => Notify['a'] } realize(Notify['a'])",
    "collected": "@notify { 'a': tag => 't' } notify { 'b': before => Notify['a'] } Notify<| tag == 't' |> -> Notify['b']",
    "contained class": """
        class a { notify { 'a': } contain b } class b { notify { 'b': require => Class['a'] } } include a""",
    "own class": "class a { notify { 'a': require => Class['a'] } } include a",
    "defines": "define d { notify { $title: require => D['y'] } } d { 'x': } d { 'y': require => D['x'] }",
    "own define": "define d { notify { $title: before => D[$title] } } d { 'x': }",
    "stages": """
        stage { 'pre': before => Stage['main'] } class a { notify { 'a': require => Notify['m'] } }
        class { 'a': stage => 'pre' } notify { 'm': }""",
    "alias": "notify { 'a': alias => 'x', before => Notify['b'] } notify { 'b': before => Notify['x'] }",
    "arrows": "notify { 'a': } notify { 'b': } Notify['a'] ~> Notify['b'] -> Notify['a']",
    "collector with itself": "notify { 'a': } notify { 'b': } Notify<||> -> Notify['a']",
}
NO_CYCLES = {
    "virtual": "@notify { 'a': before => Notify['b'] } notify { 'b': before => Notify['c'] } notify { 'c': }",
    "directory after its file": """
        file { '/x': ensure => directory, require => File['/x/f'] } file { '/x/f': ensure => file }""",
    "owner after the file": """
        user { 'u': ensure => present, require => File['/y'] } file { '/y': ensure => file, owner => 'u' }""",
    "included class": """
        class a { notify { 'a': } include b } class b { notify { 'b': require => Class['a'] } } include a""",
    "stages": """
        stage { 'pre': before => Stage['main'] } class a { notify { 'a': before => Notify['m'] } }
        class { 'a': stage => 'pre' } notify { 'm': }""",
}


@pytest.mark.parametrize(
    ("code", "is_cycle"),
    [*((code, True) for code in CYCLES.values()), *((code, False) for code in NO_CYCLES.values())],
    ids=[*CYCLES, *(f"none: {name}" for name in NO_CYCLES)],
)
def test_cycles_are_those_that_puppet_finds(code: str, is_cycle: bool) -> None:
    """`puppet apply --noop` of Puppet 7.23 reports a cycle for exactly these."""
    assert bool(find_cycle(compiled(code).body)) == is_cycle


@pytest.mark.parametrize("seed", range(150))
def test_search_for_a_cycle_finds_what_the_whole_order_has(seed: int) -> None:
    """The search leaves out automatic relationships, such as those of files with their directories."""
    draw = random.Random(seed)
    paths = ["/a", "/a/b", "/a/b/c", "/d", "/d/e"]
    refs = [f"File['{path}']" for path in paths] + ["Class['one']", "Class['two']", "User['u']"]
    files = [f"file {{ '{path}': owner => 'u' }}" for path in paths]
    chains = [f"{left} -> {right}" for left, right in (draw.sample(refs, 2) for _ in range(draw.randint(0, 6)))]
    code = f"""
    class one {{ {files[0]} {files[2]} }}
    class two {{ {files[1]} {files[3]} {files[4]} }}
    include one, two
    user {{ 'u': }}
    {chr(10).join(chains)}
    """
    body = compiled(code).body
    _, cycle = application_order(body, {})
    assert bool(find_cycle(body)) == bool(cycle)


def test_cycle_names_only_those_in_it() -> None:
    code = """
    class a { notify { 'a': require => Class['b'] } }
    class b { notify { 'b': require => Class['a'] } }
    include a, b
    notify { 'waits': require => Class['a'] }
    """
    _, cycle = application_order(compiled(code).body, {})
    assert "Notify[waits]" not in cycle
    assert {"Notify[a]", "Notify[b]"} <= set(cycle)


@pytest.mark.parametrize(
    ("code", "first", "second"),
    [
        ("file { '/a/b/c': } file { '/a': }", "File[/a]", "File[/a/b/c]"),
        ("file { '/a': owner => 'u' } user { 'u': }", "User[u]", "File[/a]"),
        ("file { '/l': ensure => link, target => '/t' } file { '/t': }", "File[/t]", "File[/l]"),
        ("exec { '/bin/x y': cwd => '/d' } file { '/d': }", "File[/d]", "Exec[/bin/x y]"),
    ],
)
def test_types_follow_by_themselves(code: str, first: str, second: str) -> None:
    assert order(code) == [first, second]


def test_what_is_said_by_hand_goes_before_what_follows_by_itself() -> None:
    assert order("file { '/a/b': before => File['/a'] } file { '/a': }") == ["File[/a/b]", "File[/a]"]
