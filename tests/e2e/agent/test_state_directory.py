"""The directory of the agent's state is for its owner alone, whichever command is the first to write there."""

import subprocess
import sys
from pathlib import Path

import pytest

from precast.agent.state.daemon_lock import daemon_locked
from precast.agent.state.paths import STATE
from precast.agent.state.store import LocalStore

PRECAST = str(Path(sys.executable).with_name("precast"))


def run_apply(root: Path, umask: str, *words: str) -> None:
    command = f'umask {umask}; exec "$@"'
    argv = ["/bin/sh", "-c", command, "sh", PRECAST, "apply", "-e", "notify { 'a': }", "--node", "n", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def modes(root: Path) -> list[str]:
    """The modes of the directory, of those above it, and of everything in it that others may open."""
    above = [f"{(root / path).stat().st_mode & 0o777:o}" for path in (STATE, *STATE.parents) if path != Path()]
    inside = [str(path) for path in (root / STATE).rglob("*") if path.lstat().st_mode & 0o077]
    return [*above, *inside]


@pytest.mark.parametrize("umask", ["022", "000", "002"])
def test_apply_that_comes_first_makes_the_state_directory_private(tmp_path: Path, umask: str) -> None:
    run_apply(tmp_path, umask, "--root", str(tmp_path))
    assert modes(tmp_path) == ["700", "755", "755", "755"]


def test_state_directory_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    (tmp_path / STATE).mkdir(parents=True)
    (tmp_path / STATE).chmod(0o777)
    run_apply(tmp_path, "022", "--root", str(tmp_path))
    assert (tmp_path / STATE).stat().st_mode & 0o777 == 0o700


def test_store_and_daemon_make_the_state_directory_private(tmp_path: Path) -> None:
    for name in ("store", "daemon"):
        root = tmp_path / name
        (root / STATE).mkdir(parents=True)
        (root / STATE).chmod(0o755)
        if name == "store":
            LocalStore.open(root, lambda: "i").close()
        else:
            with daemon_locked(root):
                pass
        assert (root / STATE).stat().st_mode & 0o777 == 0o700
