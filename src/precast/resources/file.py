"""file: a file, directory or link.

Reading costs one stat and, where content is managed, one read: the checksum decides, never size or time, because a change of a byte can
leave both the same. A change of content, kind or target writes a new file with the desired owner and mode, so that other users can never
read a secret in between; changes of only owner, group or mode are made in place.
"""

import functools
import os
import stat
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from precast.base.errors import DeniedError, NotFoundError
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import (
    atomic_writes,
    backups,
    checksums,
    diffs,
    issues,
    modes,
    owners,
    permissions,
    recursion,
    safe_paths,
    safe_reads,
    sources,
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
_REDACTED = "[redacted]"


class File(Handler):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self.spec = spec = Spec(resource)
        self._owners: owners.Owners  # set by `read`
        self._audited = resource.metaparameters.get("audit") is not None
        self._source: sources.Source | None = sources.Text(spec.content) if spec.content is not None else None
        self._checksum: str | None = None
        self._stat: os.stat_result | None = None
        self._made: os.stat_result | None = None  # of the file that was written, until something else changes it
        self._below: list[Handler] | None = None  # set if the recursion of another directory found this one
        if spec.backup:
            backups.check(node, spec.backup)
        if spec.validate_cmd is not None and node.root and not node.is_chroot:
            raise issues.NO_COMMANDS.error(root=node.root)

    @property
    def check_needs_trust(self) -> str:
        return (
            "its check asks a server that the catalog names" if any(map(sources.is_remote, self.spec.sources)) else ""
        )

    # Reading

    def read(self) -> State:
        spec = self.spec
        self._owners = owners.current(self.node)
        if spec.sources and not spec.is_absent:
            self._source, self._checksum = sources.find(self.node, spec.sources, spec.is_followed), None
        self._stat = None
        try:
            parents = safe_reads.node_parents(self.node)
            with safe_reads.find_entry(parents, spec.path, spec.is_followed) as (directory, name, there):
                self._stat = file_stat = os.lstat(name, dir_fd=directory)
                there.check(file_stat)
                state = self._describe(file_stat)
                kind = state["ensure"]
                if kind == "link":
                    state["target"] = os.readlink(name, dir_fd=directory)
                elif kind == "file" and (self._audited or self._wants_content) and spec.checksum != "none":
                    state["content"] = self._present_checksum(directory, name, there)
        except (FileNotFoundError, NotADirectoryError, NotFoundError):
            if self._stat is not None:
                raise  # the source, or the file was removed meanwhile
            return {"ensure": "absent"}
        if self._audited:
            state |= {
                "type": kind,
                "mtime": _format_time(file_stat.st_mtime),
                "ctime": _format_time(file_stat.st_ctime),
            }
        return state

    def _describe(self, file_stat: os.stat_result) -> dict[str, Any]:
        return {
            "ensure": _KINDS[stat.S_IFMT(file_stat.st_mode)],
            "owner": self._owners.user(file_stat.st_uid),
            "group": self._owners.group(file_stat.st_gid),
            "mode": modes.format_mode(stat.S_IMODE(file_stat.st_mode)),
        }

    @property
    def _wants_content(self) -> bool:
        return self.spec.is_replaced and (self._source is not None or self.spec.checksum_value is not None)

    def _present_checksum(self, directory: int, name: str, there: safe_paths.LinkTarget) -> str:
        kind, path = self._checksum_kind, self.spec.path
        if kind in checksums.TIMES:
            assert self._stat is not None, "the file exists"
            return checksums.of_time(kind, self._stat)
        handle, self._stat = safe_reads.open_at(directory, name, path, self._stat)
        try:
            there.check(self._stat)
            size_bytes = self._stat.st_size
            if size_bytes < checksums.PIECE_BYTES:
                # Reading one byte more than the size shows whether the file has grown; a larger buffer would cost more than the read.
                data = os.read(handle, size_bytes + 1)
                if len(data) <= size_bytes:
                    return self._desired_checksum() if self._is_desired(data) else checksums.of_bytes(kind, data)
                os.lseek(handle, 0, os.SEEK_SET)
            with safe_reads.BoundedFile(os.dup(handle), path) as file:
                return checksums.of_stream(kind, file)
        finally:
            os.close(handle)

    def _is_desired(self, data: bytes) -> bool:
        """Whether the data equals the content in the catalog: then its checksum need not be computed twice."""
        source = self._source
        return isinstance(source, sources.Text) and source.data == data and self.spec.checksum_value is None

    @property
    def _checksum_kind(self) -> str:
        """The kind of checksum by which content is compared: the desired kind, or one that the source provides."""
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
        assert self._stat is not None, "the file exists"
        return self._access().differences(self._stat)

    def _kind(self) -> str | None:
        """The kind of file that must exist; None if any kind is accepted."""
        if self.spec.sources and self._source is not None:
            return self._source.kind
        if self.spec.ensure is None and self._source is not None:
            return "file"
        return None if self.spec.ensure == "present" else self.spec.ensure

    def _compare_absent(self, present: str) -> Sequence[Change]:
        if present == "absent":
            return ()
        if present == "directory" and not self.spec.is_forced:
            self.log("warning", "Not removing directory; use 'force' to override")
            return ()
        return (Change("ensure", present, "absent", "removed"),)

    def _ensure(self, present: str, kind: str) -> Change:
        desired = kind if self.spec.sources else self.spec.ensure or kind
        if kind == "file" and self._source is not None:
            if self.spec.is_secret:
                return Change("ensure", _REDACTED, _REDACTED, f"changed {_REDACTED} to {_REDACTED}", is_sensitive=True)
            return Change("ensure", present, desired, f"defined content as '{self._desired_checksum()}'")
        message = "created" if present == "absent" else f"ensure changed '{present}' to '{desired}'"
        return Change("ensure", present, desired, message)

    def _desired_checksum(self) -> str:
        if self.spec.checksum_value is not None:
            return f"{{{self.spec.checksum}}}{self.spec.checksum_value}"
        if self._checksum is None:
            assert self._source is not None
            self._checksum = self._source.checksum(self._checksum_kind)
        return self._checksum

    def _compare_content(self, state: State) -> tuple[Change, ...]:
        if state["ensure"] != "file" or self._source is None:
            return ()
        desired, present = self._desired_checksum(), state["content"]
        if desired == present or self._is_newer():
            return ()
        if self.spec.is_secret:
            message = f"changed {_REDACTED} to {_REDACTED}"
            return (Change("content", _REDACTED, _REDACTED, message, "[diff redacted]", is_sensitive=True),)
        diff = self._diff() if self.spec.shows_diff else None
        return (Change("content", present, desired, f"content changed '{present}' to '{desired}'", diff),)

    def _is_newer(self) -> bool:
        """Whether the file is as new as the source, where only times decide."""
        if self._source is None or self._stat is None or (kind := self._checksum_kind) not in checksums.TIMES:
            return False
        changed_s = self._source.changed_at(kind)
        present_s = self._stat.st_mtime if kind == "mtime" else self._stat.st_ctime
        return changed_s is not None and present_s >= changed_s

    def _diff(self) -> str:
        assert self._source is not None
        parents = safe_reads.node_parents(self.node)
        try:
            old = safe_reads.open_stream(parents, self.spec.path, self.spec.is_followed)
        except DeniedError as error:
            if not issues.FOREIGN_FILE.matches(error):
                raise
            return "(the content is not shown: the owner of the directory may not read it)\n"
        with old, self._source.open() as new:
            return diffs.diff_streams(self.spec.path, old, new)

    def _compare_target(self, state: State) -> tuple[Change, ...]:
        desired, present = self._target(), state.get("target")
        if present is None or desired is None or desired == present:
            return ()
        return (Change("target", present, desired, f"target changed '{present}' to '{desired}'"),)

    def _target(self) -> str | None:
        if self._source is not None:
            return self._source.target if self._source.kind == "link" else None
        return self.spec.target

    def _access(self) -> Access:
        return Access(self.spec, self._owners, self._stat, self._source.found if self._source is not None else None)

    # Applying

    def apply(self, change: Change) -> None:
        if change.property in ("ensure", "content", "target"):
            self._make("absent" if self.spec.is_absent else self._kind() or "file")
            return
        self._made = None
        with permissions.open_entry(self.node.root, self.spec.path, self.spec.is_followed) as handle:
            self._access().apply(handle, change.property)

    def _make(self, kind: str) -> None:
        """Put the new entry in place. The existing one is removed last, when nothing else can fail."""
        spec, access = self.spec, self._access()
        self._made = None
        safe_paths.flush_later(self.node, spec.path)
        with safe_paths.parent_cache(self.node).opened(spec.path) as (directory, name):
            if _is_directory(directory, name) and not spec.is_forced:
                raise issues.IS_DIRECTORY.error(path=spec.path)

            def make_room() -> None:
                for text in backups.back_up(self.node, spec.backup, directory, name, spec.path):
                    # A line may name the digest of the content, by which a short secret can be guessed.
                    self.log("info", text if self.hidden_properties.isdisjoint(("content", "source")) else "backed up")
                if kind == "absent" or _is_directory(directory, name):
                    atomic_writes.remove(directory, name)

            if kind == "absent":
                make_room()
            elif kind == "link":
                atomic_writes.make_link(
                    directory, name, self._target() or "", uid=access.uid(), gid=access.gid(), before=make_room
                )
            elif kind == "directory":
                bits = functools.partial(access.mode, is_directory=True)
                atomic_writes.make_directory(
                    directory, name, mode=bits, uid=access.uid(), gid=access.gid(), before=make_room
                )
            else:
                source = self._source or sources.Text(b"")
                self._verify(source)
                mode, uid, gid = access.of_new_file()
                check = self._validate if spec.validate_cmd is not None else None
                with source.open() as content:
                    self._made = atomic_writes.write(
                        directory, name, content, mode=mode, uid=uid, gid=gid, check=check, before=make_room
                    )

    def state_after(self) -> State:
        is_by_digest = self._checksum_kind not in checksums.TIMES and self.spec.checksum != "none"
        if self._made is None or self._audited or not self._wants_content or not is_by_digest:
            return self.read()
        return {**self._describe(self._made), "content": self._desired_checksum()}

    def _verify(self, source: sources.Source) -> None:
        if self.spec.checksum_value is not None and self._source is not None:
            with source.open() as content:
                actual, desired = checksums.of_stream(self.spec.checksum, content), self._desired_checksum()
            if actual != desired:
                raise issues.WRONG_CHECKSUM.error(path=self.spec.path, found=actual, wanted=desired)

    def _validate(self, temporary: str) -> None:
        from precast.resources.files.validation import validate  # few files have a validate_cmd

        validate(self.node, self.resource, self.spec, temporary, self._source or sources.Text(b""))

    # Recursion

    def expand(self, state: State) -> Sequence[Handler]:
        spec = self.spec
        if self._below is not None:
            return self._below
        if not spec.recurse or spec.is_absent or self._kind() not in ("directory", None):
            return ()
        is_directory = state["ensure"] == "directory"
        return self._nest(recursion.find_children(self.resource, spec, self.node, is_directory, self.log))

    def is_named(self, ref: str) -> bool:
        return ref in self._pinned_refs

    @functools.cached_property
    def _pinned_refs(self) -> frozenset[str]:
        """The files that the sources have in the catalog, with the directories above them."""
        paths = (PurePosixPath(path) for source in self.spec.sources for path in self.node.pinned_below(source))
        entries = {entry for path in paths for entry in (path, *path.parents)}
        return frozenset(f"File[{self.spec.path.rstrip('/')}/{entry}]" for entry in entries)

    def _nest(self, resources: Sequence[DesiredResource]) -> list[Handler]:
        """Each with what is below it: where a directory cannot be made, nothing in it is tried."""
        top: list[Handler] = []
        above: list[File] = []
        for resource in resources:
            child = File(resource, self.node)
            child._below = []
            while above and not resource.title.startswith(f"{above[-1].resource.title}/"):
                above.pop()
            (above[-1]._below if above and above[-1]._below is not None else top).append(child)
            above.append(child)
        return top


def _is_directory(directory: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(name, dir_fd=directory).st_mode)
    except FileNotFoundError:
        return False


def _format_time(seconds: float) -> str:
    import datetime

    return f"{datetime.datetime.fromtimestamp(int(seconds), datetime.UTC):%Y-%m-%d %H:%M:%S +0000}"
