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
