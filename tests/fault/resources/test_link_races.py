"""A user flips a directory and a file between real ones and links while root works there: nothing of the secret ever reaches her.

The flips run in a process of their own, so that they fall between any two system calls of the provider. Which of them it meets is left to
chance; whatever it meets, the result must be the same.
"""

import multiprocessing
import os
from pathlib import Path

import pytest

from tests.component.resources.hostile_home import AS_ROOT, SECRET, HostileHome, hostile_home
from tests.component.resources.test_hostile_homes import ACTS

ROUNDS = 60
RACED = [
    "file content",
    "file content, links followed",
    "file from a source, links followed",
    "file from a directory, links followed",
    "file whole directory, links followed",
    "file_line",
    "ini_setting",
    "host",
    "sshkey",
    "ssh_authorized_key",
    "ssh_authorized_key without user",
    "user purges keys",
    "boot users",
    "boot write_files append as eve",
]


def flip(home: HostileHome) -> None:
    """Exchange the directory, and then the file, for links to the secret, for ever, as fast as possible."""
    directory, target = home.home / ".ssh", home.target
    aside, own = home.home / "aside", home.home / "own"
    own.write_text("[section]\nsetting = mine\n")
    os.chown(own, home.owner, home.owner)
    link, file = home.home / "link", home.home / "file"
    link.symlink_to("/etc/private")
    file.symlink_to(f"/etc/private/{target.name}")
    for path in (link, file):
        os.lchown(path, home.owner, home.owner)
    while True:
        for steps in (
            ((directory, aside), (link, directory)),
            ((directory, link), (aside, directory)),
            ((target, own), (file, target)),
            ((target, file), (own, target)),
        ):
            for old, new in steps:
                try:
                    old.rename(new)
                except OSError:
                    continue  # the provider has replaced it meanwhile


@AS_ROOT
@pytest.mark.parametrize("name", RACED)
def test_secret_never_leaks_while_a_directory_and_a_file_are_exchanged_for_links(name: str) -> None:
    with hostile_home() as home:
        home.make_secret(home.private / home.target.name)
        home.target.write_text("[section]\nsetting = mine\n")
        os.chown(home.target, home.owner, home.owner)
        attacker = multiprocessing.get_context("fork").Process(target=flip, args=(home,), daemon=True)
        attacker.start()
        try:
            for _ in range(ROUNDS):
                said = ACTS[name](home, home.inside(home.target))
                assert SECRET not in "\n".join(said)
        finally:
            attacker.kill()
            attacker.join()
        assert SECRET not in "\n".join(home.readable_by_eve())
        names = [path.name for path in Path(home.private).iterdir()]
        assert names == [home.target.name], "nothing is created behind the link"
        assert SECRET in (home.private / home.target.name).read_text()
