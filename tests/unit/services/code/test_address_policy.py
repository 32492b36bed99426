"""Which repositories a server fetches from, for code that others wrote."""

import socket
from pathlib import Path

import pytest

from precast.base import programs
from precast.base.errors import InputError
from precast.services.code.address_policy import PERSONAL, AddressPolicy, check_address, is_forbidden, resolve_host
from precast.services.code.git_program import Git, is_commit, is_ref


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "169.254.169.254", "::1", "::", "fe80::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "fd00:ec2::254"),
        *("168.63.129.16", "100.100.100.200", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    ],
)
def test_address_of_this_machine_or_segment_is_forbidden(address: str) -> None:
    assert is_forbidden(address)


@pytest.mark.parametrize(
    "address", ["10.0.0.5", "192.168.1.1", "172.16.0.1", "8.8.8.8", "2001:4860:4860::8888", "fd12::1"]
)
def test_address_of_another_machine_is_allowed(address: str) -> None:
    assert not is_forbidden(address)


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    entries = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)


def test_host_with_one_forbidden_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, "203.0.113.7", "169.254.169.254")
    policy = AddressPolicy()
    address = check_address("https://forge.example.org/a", policy)
    with pytest.raises(InputError, match=r"169\.254\.169\.254"):
        resolve_host(address, policy)
    assert resolve_host(address, AddressPolicy(hosts=("forge.example.org",))) == []


@pytest.mark.parametrize(
    "text",
    ["http://h/a", "git://h/a", "file:///etc", "/etc", "../a", "a", "~/a", "ext::id", "--upload-pack=id", "h:x/../.."],
)
def test_server_refuses_other_schemes_and_paths(text: str) -> None:
    with pytest.raises(InputError):
        check_address(text, AddressPolicy())


def test_path_is_allowed_only_below_an_allowed_directory(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "out")
    policy = AddressPolicy(directories=(str(tmp_path / "in"),))
    assert check_address(f"{tmp_path}/in/a", policy).path == f"{tmp_path}/in/a"
    for path in ("out", "in/../out", "in/link", "in-other"):
        with pytest.raises(InputError):
            check_address(f"{tmp_path}/{path}", policy)
    assert check_address("../out", PERSONAL, tmp_path / "in").path == f"{tmp_path}/out"


@pytest.mark.parametrize(
    "name",
    ["--output=/tmp/x", "-x", "", "a..b", "HEAD@{1}", "a b", "a\n", "x.lock", "a/", "a//b", ".a", "a/.b", "a:b", "^a"],
)
def test_name_that_is_not_a_ref_is_refused(name: str) -> None:
    assert not is_ref(name)
    assert not is_commit(name)


def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    calls: list[tuple[list[str], dict[str, str]]] = []

    def record(argv: list[str], _: float, __: int, options: programs.StartOptions) -> programs.ProgramResult:
        calls.append((argv, dict(options.environment)))
        return programs.ProgramResult(0, b"", b"")

    monkeypatch.setattr(programs, "run", record)
    return calls


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("https://forge.example.org/a", "http.curloptResolve=forge.example.org:443:203.0.113.7"),
        ("git@forge.example.org:a", "-oHostName=203.0.113.7 -oHostKeyAlias=forge.example.org"),
    ],
)
def test_git_connects_only_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, pinned: str
) -> None:
    resolving(monkeypatch, "203.0.113.7")
    monkeypatch.delenv("GIT_SSH_COMMAND", raising=False)
    calls = started(monkeypatch)
    git = Git(AddressPolicy())
    git.fetch(tmp_path, check_address(text, git.policy), "--quiet", "main")
    ((argv, environment),) = calls
    assert pinned in " ".join([*argv, environment.get("GIT_SSH_COMMAND", "")])
    assert "http.followRedirects=false" in argv
    assert argv[-3:] == ["--", text, "main"]


def test_git_gets_no_secret_of_the_server_and_never_prompts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRECAST_DATABASE", "postgresql://u:secret@h/db")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_EXEC_PATH", "/tmp")
    calls = started(monkeypatch)
    Git(AddressPolicy()).run(tmp_path, "version")
    ((_, environment),) = calls
    assert "secret" not in str(environment)
    assert not {"GIT_CONFIG_COUNT", "GIT_EXEC_PATH"} & environment.keys()
    assert (environment["GIT_TERMINAL_PROMPT"], environment["GIT_ALLOW_PROTOCOL"]) == ("0", "https:ssh")
