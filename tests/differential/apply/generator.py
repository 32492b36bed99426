"""Catalogs and the trees they are applied to, from a seed: everything that file, file_line, concat, exec and notify can meet.

Paths begin with ROOT, which each side replaces by a directory of its own. Left out on purpose: what Puppet refuses for the whole catalog,
what makes it wait for ever (pipes), and where we differ and say so (docs/explanation/files.md); each place says which.
"""

import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONTENTS = ("", "a\n", "b\n", "line one\nline two\n", "k=1\nk=2\nz\n", "no newline", "x" * 3000, "ü\n")
MODES = ("0644", "0600", "0755", "4755", "0640", "0444", "u=rwx,g=rx,o=", "g+w", "o-r", "a+X", "u+s,g-w", "ug=rw,o=r")
OWNERS = ("root", "daemon", "nobody", 2)  # Puppet cannot give a link to a number that nobody has
GROUPS = ("root", "daemon", "nogroup", "2")
MODULE = {
    "files/one": "one\n",
    "files/top/a": "A\n",
    "files/top/b": "B\n",
    "files/top/sub/c": "C\n",
    "files/two/a": "2\n",
}
PINNED = [f"puppet:///modules/given/{path.removeprefix('files/')}" for path in MODULE]

Resource = dict[str, Any]


class World:
    """One case: what is there before, and what the catalog wants."""

    def __init__(self, seed: int, count: int = 90) -> None:
        self._r = random.Random(seed)
        self.entries: list[tuple[str, str, str, int, int, int]] = []  # path, kind, content or target, mode, uid, gid
        self._kinds: dict[str, str] = {}
        self._lay_out()
        self.resources: list[Resource] = []
        self._taken: set[str] = set()
        self._refs: list[str] = []
        while len(self.resources) < count:
            self._r.choices(
                (self._file, self._line, self._concat, self._exec, self._notify), weights=(70, 10, 4, 12, 4)
            )[0]()

    # What is there

    def _lay_out(self) -> None:
        directories = ["ROOT"]
        for number in range(12):
            path = f"{self._r.choice(directories)}/d{number}"
            directories.append(path)
            self._entry(path, "directory", "")
        for number in range(45):
            path = f"{self._r.choice(directories)}/e{number}"
            kind = self._r.choices(("file", "link", "directory"), weights=(62, 26, 12))[0]
            text = self._r.choice(CONTENTS)
            if kind == "link":
                text = self._r.choice(("nowhere", "ROOT/nowhere", *(path for path, *_ in self.entries[-6:])))
            self._entry(path, kind, text)

    def _entry(self, path: str, kind: str, text: str) -> None:
        modes = (0o755, 0o700, 0o2755, 0o750) if kind == "directory" else (0o644, 0o600, 0o755, 0o4711, 0o666)
        self._kinds[path] = kind
        uid = (
            self._r.choice((0, 0, 1, 65534)) if kind == "file" else 0
        )  # we do not follow links that strangers could have laid
        self.entries.append((path, kind, text, self._r.choice(modes), uid, self._r.choice((0, 1))))

    # What is wanted

    def _path(self) -> str:
        """A path that no resource has yet: one that is there, or one that is not, sometimes where there is no directory."""
        while True:
            known = [path for path, *_ in self.entries]
            kind = self._r.random()
            if kind < 0.6:
                path = self._r.choice(known)
            elif kind < 0.95:
                directories = [path for path in known if self._kinds[path] == "directory"]
                path = f"{self._r.choice([*directories, 'ROOT'])}/n{self._r.randrange(1000)}"
            else:
                path = f"ROOT/missing/n{self._r.randrange(1000)}"
            if path not in self._taken:
                self._taken.add(path)
                return path

    def _chance(self, percent: int) -> bool:
        return self._r.random() * 100 < percent

    def _add(self, type_name: str, title: str, parameters: Mapping[str, Any], **more: Any) -> None:
        given = dict(parameters)
        # A file that requires something could close a circle with what follows its directory by itself.
        if self._refs and type_name in ("Exec", "Notify") and self._chance(40):
            given["require"] = self._r.choice(self._refs)
        self.resources.append({"type": type_name, "title": title, "parameters": given, **more})
        self._refs.append(f"{type_name}[{title}]")

    def _file(self) -> None:
        path = self._path()
        parameters: Resource = {}
        kind = self._r.choices(
            ("content", "file", "present", "directory", "link", "absent", "source", "only"),
            weights=(28, 8, 6, 16, 10, 12, 12, 8),
        )[0]
        more: Resource = {}
        if kind == "content":
            parameters["content"] = self._r.choice(CONTENTS)
            if self._chance(30):
                parameters["ensure"] = self._r.choice(("file", "present"))
            if self._chance(10):
                more["sensitive_parameters"] = ["content"]
            if self._chance(8) and self._kinds.get(path) == "file":  # Puppet removes what is no file before it asks
                parameters["validate_cmd"] = self._r.choice(("/bin/true %", "/bin/false %", "/bin/grep -q one %"))
            if self._chance(8):
                parameters["checksum"] = self._r.choice(("md5", "sha256", "sha256lite", "sha512"))
        elif kind == "link":
            parameters |= {"ensure": "link", "target": self._r.choice(("nowhere", "ROOT/given", "e3", "../x"))}
        elif kind == "source":
            parameters |= self._source()
        elif kind != "only":
            parameters["ensure"] = kind
        if kind == "directory":
            parameters |= self._recursion()
        self._access(parameters, kind, self._kinds.get(path, ""))
        # Puppet replaces a link by content, follows or not, but makes what a link that leads nowhere names for ensure => present.
        if (kind == "only" or (kind == "directory" and self._kinds.get(path) != "link")) and self._chance(30):
            parameters["links"] = self._r.choice(("follow", "manage"))
        self._add("File", path, parameters, **more)

    def _source(self) -> Resource:
        kind = self._r.randrange(5)
        if kind == 0:
            return {"source": "puppet:///modules/given/one"}
        if kind == 1:
            return {"source": ["puppet:///modules/given/nope", "puppet:///modules/given/top/a"], "ensure": "file"}
        if kind == 2:
            return {"source": "puppet:///modules/given/top", "recurse": True, **self._purging()}
        if kind == 3:
            both = ["puppet:///modules/given/two", "puppet:///modules/given/top"]
            return {
                "source": both,
                "recurse": self._r.choice((True, "remote")),
                "sourceselect": self._r.choice(("all", "first")),
            }
        return {"source": "ROOT/given/f" if self._chance(50) else "ROOT/given", "recurse": True}

    def _recursion(self) -> Resource:
        if not self._chance(45):
            return {}
        found: Resource = {"recurse": True, **self._purging()}
        if self._chance(30):
            found["recurselimit"] = self._r.choice((1, 2))
        if self._chance(20):
            found["ignore"] = self._r.choice(("e1*", ["e2*", "n*"]))
        return found

    def _purging(self) -> Resource:
        return {"purge": True} if self._chance(50) else {}

    def _access(self, parameters: Resource, kind: str, present: str) -> None:
        for percent, name, values in (
            (45, "mode", MODES),
            (25, "owner", OWNERS),
            (25, "group", GROUPS),
            (10, "replace", (False, True)),
            (45, "force", (True, False)),
            (15, "backup", (".bak", False, True)),
        ):
            if self._chance(percent):
                parameters[name] = self._r.choice(values)
        # Puppet says of a directory that it leaves for want of force that it was removed, each time; it keeps of a link
        # what it leads to, and keeps a file also if it is not replaced in the end.
        if parameters.get("ensure") == "absent" or "purge" in parameters:
            parameters["force"] = True
        if "recurse" in parameters or present == "link" or "validate_cmd" in parameters:
            parameters.pop("backup", None)
        if present in ("directory", "link") and kind in ("content", "file", "source"):
            parameters.pop("mode", None)  # Puppet takes the file for the directory that was there until the second run
        if present in ("directory", "link") or kind in ("directory", "source", "present"):
            parameters.pop("owner", None)  # we do not follow links that strangers could have laid
        if "owner" in parameters and parameters.get("mode") in ("4755", "u+s,g-w"):
            del parameters["owner"]  # Puppet loses the set-uid bit in the first run and sets it in the second

    def _line(self) -> None:
        path = self._r.choice([path for path, kind, *_ in self.entries if kind == "file"])
        parameters: Resource = {"path": path, "line": self._r.choice(("k=3", "z", "new line", "line one"))}
        for percent, name, values in (
            (40, "match", ("^k=", "^line", "^z$", "nothing")),
            (25, "after", ("^k=1", "^line", "nothing")),
            (25, "multiple", (True, False)),
            (20, "ensure", ("absent", "present")),
            (10, "replace", (False,)),
            (10, "append_on_no_match", (False,)),
        ):
            if self._chance(percent):
                parameters[name] = self._r.choice(values)
        if "match" not in parameters:
            parameters.pop("replace", None)  # Puppet fails with a pattern that is nil
        if parameters.get("ensure") == "absent" and "match" in parameters:
            parameters["match_for_absence"] = True
        self._add("File_line", f"line {len(self.resources)}", parameters)

    def _concat(self) -> None:
        # Never a directory: resources below it would follow the file that Puppet makes of a concat, which is none in ours.
        files = [path for path, kind, *_ in self.entries if kind == "file" and path not in self._taken]
        number = len(self.resources)
        path = self._r.choice([*files[:3], f"ROOT/c{number}"])
        self._taken.add(path)
        for index in range(self._r.randrange(4)):
            parameters: Resource = {"target": path, "content": self._r.choice(CONTENTS)}
            if self._chance(70):
                parameters["order"] = str(self._r.randrange(30))
            self._add("Concat_fragment", f"part {number} {index}", parameters)
        parameters = {
            "tag": f"concat{number}",
            "ensure_newline": self._chance(50),
            "order": self._r.choice(("alpha", "numeric")),
        }
        if self._chance(50):
            parameters["mode"] = self._r.choice(MODES[:6])
        self._add("Concat_file", path, parameters)

    def _exec(self) -> None:
        number = len(self.resources)
        parameters: Resource = {"command": f"/bin/sh -c 'echo {number} >> ROOT/log'", "path": "/usr/bin:/bin"}
        kind = self._r.randrange(5)
        if kind == 0:
            parameters["creates"] = self._r.choice([path for path, *_ in self.entries])
        elif kind == 1:
            parameters["unless"] = f"/usr/bin/test -f {self._r.choice(self.entries)[0]}"
        elif kind == 2:
            parameters["onlyif"] = f"/usr/bin/test -d {self._r.choice(self.entries)[0]}"
        elif self._refs:
            parameters["refreshonly"] = True
            parameters["subscribe"] = self._r.sample(self._refs, min(3, len(self._refs)))
        if self._chance(8):
            parameters["command"] = "/bin/false"
        self._add("Exec", f"run {number}", parameters)

    def _notify(self) -> None:
        self._add("Notify", f"say {len(self.resources)}", {"message": "hello"})

    # As both sides need it

    def lay(self, root: Path) -> None:
        """Make the tree that is there before."""
        root.mkdir(parents=True)
        (root / "given").mkdir()
        (root / "given/f").write_text("local\n")
        (root / "given/l").symlink_to("f")
        for path, kind, text, mode, uid, gid in self.entries:
            place = Path(path.replace("ROOT", str(root)))
            if kind == "directory":
                place.mkdir()
            elif kind == "link":
                place.symlink_to(text.replace("ROOT", str(root)))
            else:
                place.write_text(text)
            os.chown(place, uid, gid, follow_symlinks=False)
            if kind != "link":
                place.chmod(mode)

    def catalog(self, root: Path, content: Mapping[str, str]) -> Resource:
        """The catalog for a tree below `root`."""
        refs = [f"{each['type']}[{each['title']}]" for each in self.resources]
        data = {
            "name": "node", "version": "1", "environment": "production", "catalog_format": 2, "classes": ["main"], "tags": [],
            "resources": [
                {"type": "Stage", "title": "main", "parameters": {}, "tags": ["stage"]},
                {"type": "Class", "title": "main", "parameters": {}, "tags": ["class"]},
                *({"tags": [each["type"].lower()], "kind": "compilable_type", **each} for each in self.resources),
            ],
            "edges": [
                {"source": "Stage[main]", "target": "Class[main]"},
                *({"source": "Class[main]", "target": ref} for ref in refs),
            ],
            "content": dict(content),
        }  # fmt: skip
        return placed(data, str(root))  # type: ignore[no-any-return]


def placed(data: Any, root: str) -> Any:
    """The data with ROOT replaced, keys included."""
    if isinstance(data, str):
        return data.replace("ROOT", root)
    if isinstance(data, list):
        return [placed(item, root) for item in data]
    if isinstance(data, dict):
        return {placed(key, root): placed(item, root) for key, item in data.items()}
    return data
