"""Users without a home directory: no HOME and no entry in passwd, as in a container that runs as some number."""

import os
import pwd
from pathlib import Path
from typing import NoReturn

import pytest

from precast.agent.applying.run import state_root
from precast.base.home import expand, home_directory
from precast.cli.main import GROUPS, build_parser, main
from tools.reference import parsers


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nobody(_: object) -> NoReturn:
        raise KeyError

    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PRECAST_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", find_nobody)
    monkeypatch.setattr(pwd, "getpwnam", find_nobody)


@pytest.mark.usefixtures("homeless")
@pytest.mark.parametrize("words", [["--help"], ["node", "list", "--help"], ["agent", "apply", "--help"]])
def test_help_needs_no_home(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("homeless")
def test_every_command_has_its_parser_without_a_home() -> None:
    assert len(list(parsers(build_parser(list(GROUPS))))) > 35


@pytest.mark.usefixtures("homeless")
def test_client_without_a_home_is_told_which_setting_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "list"]) == 64
    assert "[CLI-020]" in (said := capsys.readouterr().err)
    assert "PRECAST_URL" in said


@pytest.mark.usefixtures("homeless")
def test_path_below_an_unknown_home_is_reported_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRECAST_URL", "https://localhost:1")
    monkeypatch.setenv("PRECAST_CA", "~nobody-knows/ca.pem")
    monkeypatch.setenv("PRECAST_TOKEN", "x")
    assert main(["node", "list"]) == 64
    assert "[CLI-021]" in capsys.readouterr().err


@pytest.mark.usefixtures("homeless")
def test_home_of_a_user_without_one_is_the_root_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert home_directory() == Path("/")
    assert expand("~/ca.pem") == Path("/ca.pem")
    assert expand("~") == Path("/")
    assert expand("ca.pem") == Path("ca.pem")
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert state_root(Path("/")) == Path("/.local/state/precast")


def test_home_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert (home_directory(), expand("~/x")) == (Path("/home/ann"), Path("/home/ann/x"))


def test_file_outside_the_home_is_shown_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    for home, shown in {"/home/ann": "~/.config/precast/client.toml", "/": "/.config/precast/client.toml"}.items():
        monkeypatch.setenv("HOME", home)
        listed = {" ".join(words): parser for words, parser in parsers(build_parser(list(GROUPS)))}
        assert f"default: {shown}," in " ".join(listed["precast node list"].format_help().split())
        assert "~etc" not in listed["precast server"].format_help()
