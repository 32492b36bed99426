"""git on the objects of a fetched repository, and on nothing else of it.

git runs with an empty home, without the configuration of the machine, of a user or of the fetched repository. git does not check the hash
of every object that it reads, and the process that fetched could have written them; so objects are hashed here before anybody reads them.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from precast.base import programs
from precast.services.code import issues
from precast.services.code.file_trees import open_regular

DEADLINE_S = 30.0
MAX_OUT_BYTES = 64 * 1024
# All trees of a commit of as many files as an environment may have.
MAX_OBJECT_BYTES = 64 * 1024 * 1024
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class GitObject(NamedTuple):
    """An object whose hash is right."""

    kind: str  # commit, tree, blob, tag
    data: bytes


class IsolatedGit:
    """git with a home of its own, in an empty repository that has the objects of a fetched one."""

    def __init__(self, fetched: Path, home: Path) -> None:
        self._fetched, self._home = fetched, home
        self._repository = _make_repository(fetched, home / "repository")
        self.environment = {
            **programs.ENVIRONMENT,
            "HOME": str(home),
            "GNUPGHOME": str(home / "gnupg"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "LC_ALL": "C",
            "TZ": "UTC",
        }

    def git(self, *words: str, options: Sequence[str] = ()) -> programs.ProgramResult:
        return self.run(["git", *options, f"--git-dir={self._repository}", *words])

    def read(self, *words: str) -> str:
        """What git prints, empty if it fails."""
        result = self.git(*words)
        return result.out.decode(errors="replace").strip() if result.code == 0 else ""

    def read_fetched_head(self) -> str:
        """The hash of what was fetched, empty if there is none."""
        try:
            with open_regular(self._fetched / "FETCH_HEAD") as file:
                name = file.read(200).partition(b"\t")[0].decode(errors="replace")
        except OSError:
            return ""
        return name if is_object_name(name) else ""

    def read_objects(self, names: Sequence[str]) -> dict[str, GitObject]:
        """Read objects by their hashes. Raises DeniedError ENV-028 if one is missing or is not what its hash says."""
        argv = ["git", f"--git-dir={self._repository}", "cat-file", "--batch"]
        wanted = list(dict.fromkeys(names))
        result = self.run(argv, "".join(f"{name}\n" for name in wanted).encode(), MAX_OBJECT_BYTES)
        found: dict[str, GitObject] = {}
        rest = memoryview(result.out)
        for name in wanted:
            head = bytes(rest[:100]).partition(b"\n")[0]
            words = head.decode(errors="replace").split(" ")
            if result.code != 0 or len(words) != 3 or words[0] != name or not words[2].isdecimal():
                raise issues.NOT_SIGNED.error(what=f"the object {name[:12]}", reason="the repository does not have it")
            begin, size = len(head) + 1, int(words[2])
            data = bytes(rest[begin : begin + size])
            if len(name) != 40 or hash_object(words[1], data) != name:
                raise issues.NOT_SIGNED.error(what=f"the object {name[:12]}", reason="it is not what its hash says")
            found[name] = GitObject(words[1], data)
            rest = rest[begin + size + 1 :]
        return found

    def run(self, argv: list[str], stdin: bytes = b"", most_bytes: int = MAX_OUT_BYTES) -> programs.ProgramResult:
        options = programs.StartOptions(self.environment, str(self._home), stdin=stdin)
        try:
            return programs.run(argv, DEADLINE_S, most_bytes, options)
        except TimeoutError:
            raise issues.CANNOT_VERIFY.error(reason=f"{argv[0]} did not end within {DEADLINE_S:g} s") from None
        except OSError as error:
            raise issues.CANNOT_VERIFY.error(reason=f"cannot start {argv[0]}: {error.strerror}") from None


def is_object_name(text: str) -> bool:
    return _OBJECT.fullmatch(text) is not None


def hash_object(kind: str, data: bytes) -> str:
    """The hash that git gives an object."""
    return hashlib.sha1(b"%s %d\0%s" % (kind.encode(), len(data), data), usedforsecurity=False).hexdigest()


def _make_repository(fetched: Path, place: Path) -> Path:
    """An empty repository with the objects of another one. The other's configuration has no effect."""
    (place / "objects/info").mkdir(parents=True)
    (place / "objects/info/alternates").write_text(f"{fetched.absolute() / 'objects'}\n")
    (place / "refs").mkdir()
    (place / "HEAD").write_text("ref: refs/heads/none\n")
    return place
