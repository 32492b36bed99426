"""Environments on disk: their files, the module directories outside that they use, and the links that are not followed."""

from pathlib import Path

import pytest

from precast.base.errors import InputError
from precast.cli.code.local_environments import DirectoryTree, open_environment
from precast.lang.inputs import ABSENT


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "env/modules/own/manifests").mkdir(parents=True)
    (tmp_path / "shared/available/linked/manifests").mkdir(parents=True)
    (tmp_path / "shared/enabled").mkdir()
    (tmp_path / "shared/enabled/linked").symlink_to("../available/linked")
    (tmp_path / "shared/available/linked/manifests/init.pp").write_text("class linked { }")
    (tmp_path / "shared/secret").write_text("secret")
    (tmp_path / "env/environment.conf").write_text(f"modulepath = modules:{tmp_path}/shared/enabled\n")
    return tmp_path


def test_module_behind_a_link_of_a_named_directory_is_read(site: Path) -> None:
    _, files, _ = open_environment(str(site / "env"))
    path = f"{site}/shared/enabled/linked/manifests/init.pp"
    assert files.digest(path) is not ABSENT
    assert files.modules(("modules", f"{site}/shared/enabled")) == {
        "own": "modules/own",
        "linked": f"{site}/shared/enabled/linked",
    }


def test_links_that_lead_outside_or_nowhere_are_absent(site: Path) -> None:
    own = site / "env/modules/own"
    (own / "out").symlink_to(site / "shared/secret")
    (own / "broken").symlink_to("nowhere")
    (own / "round").symlink_to("round")
    _, files, _ = open_environment(str(site / "env"))
    for path in ("modules/own/out", "modules/own/broken", "modules/own/round", "../shared/absent", "\0"):
        assert files.digest(path) is ABSENT, path
        assert files.names(path) is ABSENT, path


def test_file_that_exists_outside_is_refused(site: Path) -> None:
    """The compile of a server has no such file: to say that it is absent would hide the difference."""
    (site / "shared/available/linked/out").symlink_to(site / "shared/secret")
    _, files, _ = open_environment(str(site / "env"))
    outside = f"{site}/shared/enabled"
    for path in (
        *("../shared/secret", f"{site}/shared/secret"),
        *(f"{outside}/linked/out", f"{outside}/../secret", f"{outside}/linked/../../secret"),
    ):
        with pytest.raises(InputError, match="outside"):
            files.digest(path)
        assert files.names(path) is ABSENT, path


def test_directory_outside_counts_only_if_it_is_named(site: Path) -> None:
    path = f"{site}/shared/enabled/linked/manifests/init.pp"
    assert DirectoryTree(site / "env", (site / "shared/enabled",)).read(path) is not None
    with pytest.raises(InputError, match="outside"):
        DirectoryTree(site / "env").read(path)


def test_wrong_configuration_is_an_error_at_once(site: Path) -> None:
    (site / "env/environment.conf").write_text("modulepath = $confdir/modules")
    with pytest.raises(InputError, match="confdir"):
        open_environment(str(site / "env"))
