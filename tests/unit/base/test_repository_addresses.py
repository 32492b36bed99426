"""Addresses of git repositories: what is one, and what git would take for something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base.repository_addresses import parse_address, redact_address


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("https://forge.example.org/a/b.git", ("https", "forge.example.org", 443, "/a/b.git")),
        ("https://me:secret@forge.example.org:8443/a", ("https", "forge.example.org", 8443, "/a")),
        ("ssh://git@forge/a", ("ssh", "forge", 22, "/a")),
        ("ssh://git@[2001:db8::1]:2222/a", ("ssh", "2001:db8::1", 2222, "/a")),
        ("git@forge.example.org:group/a.git", ("ssh", "forge.example.org", 22, "group/a.git")),
        ("forge:a.git", ("ssh", "forge", 22, "a.git")),
        ("git@forge:/srv/a.git", ("ssh", "forge", 22, "/srv/a.git")),
        ("git@forge:~me/a.git", ("ssh", "forge", 22, "~me/a.git")),
        ("git://forge/a", ("git", "forge", 9418, "/a")),
        ("file:///srv/a.git", ("file", "", 0, "/srv/a.git")),
        ("/srv/a.git", ("file", "", 0, "/srv/a.git")),
        ("../a", ("file", "", 0, "../a")),
    ],
)
def test_address_is_read_into_its_parts(text: str, parts: tuple[str, str, int, str]) -> None:
    assert parse_address(text)[1:] == parts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oProxyCommand=id",
        "--upload-pack=id",
        "ext::sh -c id",
        "ext::id",
        "fd::17",
        "transport::address",
        "h:x/../../..",
        "git@h:../../etc",
        "https://h/a/../b",
        "file:///srv/../etc",
        "file://host/srv/a",
        "file:///srv/%2e%2e/etc",
        "h:-x",
        "h::x",
        "-h:x",
        "git@-oProxyCommand=id:x",
        "ssh://-oProxyCommand=id/x",
        "ssh://git@-h/x",
        # git decodes these before it looks for the host: it would connect to 127.0.0.1.
        "ssh://a%40127.0.0.1%2f@forge/x",
        "ssh://a:b%40127.0.0.1%2f@forge/x",
        "git://a%40127.0.0.1%2f@forge/x",
        "ssh://forge/a/%2e%2e/b",
        "https://h",
        "https:///x",
        "https://h:0/x",
        "https://h:99999/x",
        "https://h/x?y",
        "https://h/x#y",
        "https://a@b@c/x",
        "https://user@evil\\@h/x",
        "ftp://h/x",
        "HTTPS://h/x",
        "a b",
        "https://h/a b",
        "https://h/a\nb",
        "https://h/a\0b",
        "h:a\x1bb",
        "https://h/" + "a" * 1000,
    ],
)
def test_text_that_git_could_take_for_something_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"it |its |port"):
        parse_address(text)


@given(st.text("ab-:/@.~[]%:x\n \\\0", max_size=30))
def test_accepted_address_is_never_an_option_and_never_climbs(text: str) -> None:
    try:
        address = parse_address(text)
    except ValueError:
        return
    assert not text.startswith("-")
    assert not address.host.startswith("-")
    assert text.isprintable()
    assert address.is_local or ".." not in address.path.split("/")
    assert address.is_local or "::" not in text.replace(address.host, "")


def test_name_and_password_are_removed() -> None:
    assert redact_address("https://me:secret@forge/a") == "https://forge/a"
