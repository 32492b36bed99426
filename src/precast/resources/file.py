"""file: a file, directory or link.

Reading is one look and, where content is wanted, one read: the checksum decides, never size or time, since both can be kept by who
changes a byte. A change of content, kind or target writes the whole thing anew with the wanted owner and mode, so that there is no
moment at which a secret is open to others; owner, group and mode alone are changed in place.
"""

import functools
import os
import stat
from collections.abc import Sequence
from typing import Any, Final

from precast.resources.contract import Change, Handler, Node, State, Wanted
from precast.resources.files import (
    backups,
    checksums,
    diffs,
    issues,
    modes,
    owners,
    places,
    recursion,
    settling,
    sources,
    writing,
)
from precast.resources.files.access import Access
from precast.resources.files.parameters import Spec

_KINDS: Final = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "characterSpecial",
    stat.S_IFBLK: "blockSpecial",
}
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_REDACTED = "[redacted]"


class File(Handler):
    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        self.spec = spec = Spec(wanted)
        self._owners: owners.Owners  # known from reading on
        self._audited = wanted.metaparameters.get("audit") is not None
        self._source: sources.Source | None = sources.Text(spec.content) if spec.content is not None else None
        self._checksum: str | None = None
        self._found: os.stat_result | None = None
        self._made: os.stat_result | None = None  # what was written, until something else is done to it
        self._below: list[Handler] | None = None  # known if another directory's recursion found it
        if spec.backup:
            backups.check(node, spec.backup)
        if spec.validate_cmd is not None and node.root and not node.is_chroot:
            raise issues.NO_COMMANDS.error(root=node.root)

    # Reading

    def read(self) -> State:
        spec = self.spec
        self._owners = owners.of(self.node)
        path = places.inside(self.node.root, spec.path, spec.is_followed)
        if spec.sources and not spec.is_absent:
            self._source, self._checksum = sources.find(self.node, spec.sources, spec.is_followed), None
        try:
            found = os.stat(path) if spec.is_followed else os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            self._found = None
            return {"ensure": "absent"}
        self._found = found
        state = self._described(found)
        kind = state["ensure"]
        if kind == "link":
            state["target"] = os.readlink(path)
        elif kind == "file" and (self._audited or self._wants_content) and self.spec.checksum != "none":
            state["content"] = self._present_checksum(path, found)
        if self._audited:
            state |= {"type": kind, "mtime": _moment(found.st_mtime), "ctime": _moment(found.st_ctime)}
        return state

    def _described(self, found: os.stat_result) -> dict[str, Any]:
        return {
            "ensure": _KINDS[stat.S_IFMT(found.st_mode)],
            "owner": self._owners.user(found.st_uid),
            "group": self._owners.group(found.st_gid),
            "mode": modes.written(stat.S_IMODE(found.st_mode)),
        }

    @property
    def _wants_content(self) -> bool:
        return self.spec.is_replaced and (self._source is not None or self.spec.checksum_value is not None)

    def _present_checksum(self, path: str, found: os.stat_result) -> str:
        kind = self._checksum_kind
        if kind in checksums.TIMES:
            return checksums.of_time(kind, found)
        handle = os.open(path, _READ if self.spec.is_followed else _READ | os.O_NOFOLLOW)
        try:
            if found.st_size < checksums.PIECE_BYTES:
                # One byte more than there is tells whether that was all; a larger buffer would cost more than the reading.
                data = os.read(handle, found.st_size + 1)
                if len(data) <= found.st_size:
                    return self._wanted_checksum() if self._is_wanted(data) else checksums.of_bytes(kind, data)
                os.lseek(handle, 0, os.SEEK_SET)
            with os.fdopen(handle, "rb", closefd=False) as file:
                return checksums.of_stream(kind, file)
        finally:
            os.close(handle)

    def _is_wanted(self, data: bytes) -> bool:
        """Whether it is byte for byte what the catalog holds: then its checksum need not be found twice."""
        source = self._source
        return isinstance(source, sources.Text) and source.data == data and self.spec.checksum_value is None

    @property
    def _checksum_kind(self) -> str:
        """By what content is compared: what is wanted, or what the source can say."""
        kind = self.spec.checksum
        if self._source is None or self.spec.checksum_value is not None:
            return kind
        return self._source.comparable(kind)

    # Comparing

    def compare(self, state: State) -> Sequence[Change]:
        spec, present = self.spec, state["ensure"]
        if spec.is_absent and (spec.is_replaced or present == "absent"):
            return self._compare_absent(present)
        kind = self._kind()
        if present == "absent":
            return () if kind is None and spec.ensure is None else (self._ensure(present, kind or "file"),)
        if spec.is_replaced:
            if kind is not None and kind != present:
                return (self._ensure(present, kind),)
            return (*self._compare_content(state), *self._compare_target(state), *self._compare_access())
        return self._compare_access()

    def _compare_access(self) -> tuple[Change, ...]:
        assert self._found is not None, "it is there"
        return self._access().differences(self._found)

    def _kind(self) -> str | None:
        """What must be there; None if any kind will do."""
        if self.spec.sources and self._source is not None:
            return self._source.kind
        if self.spec.ensure is None and self._source is not None:
            return "file"
        return None if self.spec.ensure == "present" else self.spec.ensure

    def _compare_absent(self, present: str) -> Sequence[Change]:
        if present == "absent":
            return ()
        if present == "directory" and not self.spec.is_forced:
            self.say("warning", "Not removing directory; use 'force' to override")
            return ()
        return (Change("ensure", present, "absent", "removed"),)

    def _ensure(self, present: str, kind: str) -> Change:
        desired = kind if self.spec.sources else self.spec.ensure or kind
        if kind == "file" and self._source is not None:
            if self.spec.is_secret:
                return Change("ensure", _REDACTED, _REDACTED, f"changed {_REDACTED} to {_REDACTED}", is_sensitive=True)
            return Change("ensure", present, desired, f"defined content as '{self._wanted_checksum()}'")
        said = "created" if present == "absent" else f"ensure changed '{present}' to '{desired}'"
        return Change("ensure", present, desired, said)

    def _wanted_checksum(self) -> str:
        if self.spec.checksum_value is not None:
            return f"{{{self.spec.checksum}}}{self.spec.checksum_value}"
        if self._checksum is None:
            assert self._source is not None
            self._checksum = self._source.checksum(self._checksum_kind)
        return self._checksum

    def _compare_content(self, state: State) -> tuple[Change, ...]:
        if state["ensure"] != "file" or self._source is None:
            return ()
        wanted, present = self._wanted_checksum(), state["content"]
        if wanted == present or self._is_newer():
            return ()
        if self.spec.is_secret:
            said = f"changed {_REDACTED} to {_REDACTED}"
            return (Change("content", _REDACTED, _REDACTED, said, "[diff redacted]", is_sensitive=True),)
        diff = self._diff() if self.spec.shows_diff else None
        return (Change("content", present, wanted, f"content changed '{present}' to '{wanted}'", diff),)

    def _is_newer(self) -> bool:
        """Where only times decide: whether what is there is as new as the source."""
        if self._source is None or self._found is None or (kind := self._checksum_kind) not in checksums.TIMES:
            return False
        changed_s = self._source.changed_at(kind)
        present_s = self._found.st_mtime if kind == "mtime" else self._found.st_ctime
        return changed_s is not None and present_s >= changed_s

    def _diff(self) -> str:
        assert self._source is not None
        path = places.inside(self.node.root, self.spec.path, self.spec.is_followed)
        with open(path, "rb") as old, self._source.open() as new:
            return diffs.between(self.spec.path, old, new)

    def _compare_target(self, state: State) -> tuple[Change, ...]:
        wanted, present = self._target(), state.get("target")
        if present is None or wanted is None or wanted == present:
            return ()
        return (Change("target", present, wanted, f"target changed '{present}' to '{wanted}'"),)

    def _target(self) -> str | None:
        if self._source is not None:
            return self._source.target if self._source.kind == "link" else None
        return self.spec.target

    def _access(self) -> Access:
        return Access(self.spec, self._owners, self._found, self._source.found if self._source is not None else None)

    # Applying

    def apply(self, change: Change) -> None:
        if change.property in ("ensure", "content", "target"):
            self._make("absent" if self.spec.is_absent else self._kind() or "file")
            return
        self._made = None
        with settling.opened(self.node.root, self.spec.path, self.spec.is_followed) as handle:
            self._access().settle(handle, change.property)

    def _make(self, kind: str) -> None:
        """Put the whole thing in place. What is there goes last, when nothing else can fail."""
        spec, access = self.spec, self._access()
        self._made = None
        places.flush_later(self.node, spec.path)
        with places.parents(self.node).holding(spec.path) as (directory, name):
            if _is_directory(directory, name) and not spec.is_forced:
                raise issues.IS_DIRECTORY.error(path=spec.path)

            def make_room() -> None:
                for text in backups.keep(self.node, spec.backup, directory, name, spec.path):
                    self.say("info", text)
                if kind == "absent" or _is_directory(directory, name):
                    writing.sweep(directory, name)

            if kind == "absent":
                make_room()
            elif kind == "link":
                writing.make_link(
                    directory, name, self._target() or "", uid=access.uid(), gid=access.gid(), before=make_room
                )
            elif kind == "directory":
                bits = functools.partial(access.mode, is_directory=True)
                writing.make_directory(directory, name, mode=bits, uid=access.uid(), gid=access.gid(), before=make_room)
            else:
                source = self._source or sources.Text(b"")
                self._verify(source)
                mode, uid, gid = access.of_new_file()
                check = self._validate if spec.validate_cmd is not None else None
                with source.open() as content:
                    self._made = writing.write(
                        directory, name, content, mode=mode, uid=uid, gid=gid, check=check, before=make_room
                    )

    def state_after(self) -> State:
        is_by_digest = self._checksum_kind not in checksums.TIMES and self.spec.checksum != "none"
        if self._made is None or self._audited or not self._wants_content or not is_by_digest:
            return self.read()
        return {**self._described(self._made), "content": self._wanted_checksum()}

    def _verify(self, source: sources.Source) -> None:
        if self.spec.checksum_value is not None and self._source is not None:
            with source.open() as content:
                found, wanted = checksums.of_stream(self.spec.checksum, content), self._wanted_checksum()
            if found != wanted:
                raise issues.WRONG_CHECKSUM.error(path=self.spec.path, found=found, wanted=wanted)

    def _validate(self, temporary: str) -> None:
        """The user's own command line: it goes through a shell, as Puppet has it."""
        beside = f"{self.spec.path.rpartition('/')[0]}/{temporary}"
        command = str(self.spec.validate_cmd).replace(self.spec.validate_replacement, beside)
        ended = self.node.run(["/bin/sh", "-c", command])
        if not ended.is_success:
            raise issues.NOT_VALID.error(command=command, exit_code=ended.exit_code, output=ended.output.rstrip())

    # Recursion

    def expand(self, state: State) -> Sequence[Handler]:
        spec = self.spec
        if self._below is not None:
            return self._below
        if not spec.recurse or spec.is_absent or self._kind() not in ("directory", None):
            return ()
        is_directory = state["ensure"] == "directory"
        return self._nested(recursion.children(self.wanted, spec, self.node, is_directory, self.say))

    def _nested(self, found: Sequence[Wanted]) -> list[Handler]:
        """Each with what is below it: where a directory cannot be made, nothing in it is tried."""
        top: list[Handler] = []
        above: list[File] = []
        for wanted in found:
            child = File(wanted, self.node)
            child._below = []
            while above and not wanted.title.startswith(f"{above[-1].wanted.title}/"):
                above.pop()
            (above[-1]._below if above and above[-1]._below is not None else top).append(child)
            above.append(child)
        return top


def _is_directory(directory: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(name, dir_fd=directory).st_mode)
    except FileNotFoundError:
        return False


def _moment(seconds: float) -> str:
    import datetime

    return f"{datetime.datetime.fromtimestamp(int(seconds), datetime.UTC):%Y-%m-%d %H:%M:%S +0000}"
