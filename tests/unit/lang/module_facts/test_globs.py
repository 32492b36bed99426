"""`Dir.glob` of facts over a node's directories."""

import pytest

from precast.lang.module_facts.globs import expand_braces, glob
from tests.unit.lang.module_facts.fake_node import FakeNode

NODE = FakeNode(
    dict.fromkeys(("/a/one.rb", "/a/two.txt", "/a/.hidden.rb", "/a/b/one.rb", "/a/b/c/deep.rb", "/x[1]"), "")
)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("/a/*.rb", ["/a/one.rb"]),
        ("/a/*", ["/a/b", "/a/one.rb", "/a/two.txt"]),
        ("/a/.*.rb", ["/a/.hidden.rb"]),
        ("/a/**/*.rb", ["/a/one.rb", "/a/b/one.rb", "/a/b/c/deep.rb"]),
        ("/a/**/deep.rb", ["/a/b/c/deep.rb"]),
        ("/a/{two,one}.{txt,rb}", ["/a/two.txt", "/a/one.rb"]),
        ("/a/{b/{c,d},x}/*", ["/a/b/c/deep.rb"]),
        ("/a/???.rb", ["/a/one.rb"]),
        ("/a/[!t]*.rb", ["/a/one.rb"]),
        ("/*/one.rb", ["/a/one.rb"]),
        ("/nowhere/*", []),
        ("/a/one.rb/*", []),
        ("/x\\[1\\]", ["/x[1]"]),
        ("/x[[]1]", ["/x[1]"]),
    ],
)
def test_paths_that_match_are_found_in_order(pattern: str, paths: list[str]) -> None:
    assert glob(NODE, pattern) == paths


def test_unclosed_braces_are_plain() -> None:
    assert expand_braces("a{b,c") == ["a{b,c"]
