"""ssh_authorized_key: a key that may log in to an account.

The file is in a directory of its user, who may replace it by any other file. So it is read by the rules of `safe_reads`, its content is
used only if the user may have it, and it is written as that user. Other lines keep their bytes.
"""

import os
import re
import stat
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from precast.resources import accounts, issues, issues_system, properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.files import atomic_writes, safe_reads
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler
from precast.resources.text_files import TextFile, as_owner, encode_lines, read_lines

ALIASES = {"rsa": "ssh-rsa", "dsa": "ssh-dss", "dss": "ssh-dss", "ed25519": "ssh-ed25519"}
_KIND = re.compile(r"(?:ssh-|ecdsa-|sk-)\S+")
_OPTION = re.compile(r'((?:"(?:\\"|[^"])*"|[^,"\s])+),?')
_WRITE = """
umask 077
mkdir -p "${1%/*}" && new=$(mktemp "$1.XXXXXX") || exit
cat > "$new" && sync "$new" && mv -f "$new" "$1" || { rm -f "$new"; exit 1; }
"""


class Entry(NamedTuple):
    options: list[str]
    type: str
    key: str
    name: str


def parse(line: str) -> Entry | None:
    """The key on a line: options if there are any, type, key, and the comment that names it."""
    text = line.strip()
    if not text or text.startswith("#"):
        return None
    options: list[str] = []
    if not _KIND.match(text):
        options_text = re.match(r'(?:"(?:\\"|[^"])*"|[^"\s])+', text)
        if options_text is None:
            return None
        options = _OPTION.findall(options_text[0])
        text = text[options_text.end() :].lstrip()
    fields = text.split(None, 2)
    if len(fields) < 2 or not _KIND.fullmatch(fields[0]):
        return None
    return Entry(options, fields[0], fields[1], fields[2].strip() if len(fields) > 2 else "")


class SshAuthorizedKey(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("type", "key", "options")
    can_be_purged: ClassVar[bool] = False
    locks: ClassVar[tuple[str, ...]] = ("ssh_authorized_key",)
    invalidates: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if resource.get("user") is None and resource.get("target") is None:
            raise issues.MISSING_VALUE.error(name="user", reason="a key opens an account", type=resource.type)
        self._user = None if resource.get("user") is None else str(resource.get("user"))
        self._drops = properties.read_boolean(resource, "drop_privileges", is_default=True)

    def munge(self, name: str, value: Any) -> Any:
        if name == "options":
            texts = [text for text in properties.as_texts(value) if text not in ("", ABSENT)]
            return texts or [ABSENT]
        text = str(value)
        if not text or any(sign.isspace() for sign in text):
            raise properties.invalid_value(self.resource, name, value, "it is one word")
        return ALIASES.get(text, text) if name == "type" else text

    def _target(self) -> str | None:
        """The file; None as long as the user does not exist."""
        if self.resource.get("target") is not None:
            return str(self.resource.get("target"))
        user = accounts.find_user(self.node, str(self._user), is_local=False)
        return None if user is None else f"{user.home.rstrip('/')}/.ssh/authorized_keys"

    def read(self) -> State:
        target = self._target()
        entries = [] if target is None else map(parse, self._read_file(target).lines)
        key = next((entry for entry in entries if entry is not None and entry.name == self.name), None)
        return {"ensure": ABSENT} if key is None else _properties(key)

    def _read_file(self, target: str) -> TextFile:
        """Read the file. Raises DeniedError RESOURCE-126 if its content must not be given to the user."""
        file = read_lines(self.node, target)
        if file.found is not None:
            file.found.check_may_get(target, self._owner()[0])
        return file

    def _owner(self) -> tuple[int, int]:
        user = None if self._user is None else accounts.find_user(self.node, self._user, is_local=False)
        return (0, 0) if user is None else (user.uid, user.gid)

    def apply(self, change: Change) -> None:
        target = self._target()
        if target is None:
            raise issues_system.NO_USER.error(user=self._user)
        file = self._read_file(target)
        lines = file.lines
        entries = {at: entry for at, line in enumerate(lines) if (entry := parse(line)) and entry.name == self.name}
        if change.property == "ensure" and change.desired == ABSENT:
            lines = [line for at, line in enumerate(lines) if at not in entries]
        elif not entries:
            lines.append(self._line(None))
        else:
            at, entry = next(iter(entries.items()))
            lines[at] = self._line(entry)
        self._write(file, lines)

    def _line(self, present: Entry | None) -> str:
        state = {} if present is None else _properties(present)
        kind, key, options = (self.desired.get(name, state.get(name)) for name in self.order)
        if kind is None or key is None:
            raise issues.MISSING_VALUE.error(name="type and key", reason="they make the line", type=self.resource.type)
        start = [] if options in (None, [ABSENT]) else [",".join(options)]
        return " ".join([*start, kind, key, self.name])

    def _write(self, file: TextFile, lines: list[str]) -> None:
        if self._user is not None and self._drops and (not self.node.root or self.node.is_chroot):
            argv = ["/bin/sh", "-c", _WRITE, "sh", file.path]
            result = self.node.run(argv, user=self._user, stdin=encode_lines(lines))
            if result.is_success:
                return
            # In a directory that root owns the user cannot create links, so root may write there.
            if not _is_in_root_directory(self.node, file.path):
                reason = " ".join(result.output.split())
                raise issues_system.UNWRITABLE.error(path=file.path, user=self._user, reason=reason)
        self._write_as_root(file, lines)

    def _write_as_root(self, file: TextFile, lines: list[str]) -> None:
        parents, owner, place = safe_reads.node_parents(self.node), self._owner(), file.path.rpartition("/")[0]
        for path in (place, file.path):
            status = safe_reads.find_status(parents, path)
            if status is not None and stat.S_ISLNK(status.st_mode):
                raise issues_system.UNWRITABLE.error(path=file.path, user=self._user, reason="it is behind a link")
        if not safe_reads.exists(parents, place):
            uid, gid = as_owner(owner)
            with parents.opened(place) as (directory, name):
                atomic_writes.make_directory(directory, name, mode=lambda _: 0o700, uid=uid, gid=gid)
        file.write(self.node, lines, 0o600, owner)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        raise NotImplementedError


def _is_in_root_directory(node: ManagedNode, target: str) -> bool:
    with safe_reads.node_parents(node).opened(target) as (directory, _):
        status = os.fstat(directory)
    return status.st_uid == 0 and not safe_reads.is_writable_by_others(status)


def _properties(entry: Entry) -> dict[str, Any]:
    return {"ensure": PRESENT, "type": entry.type, "key": entry.key, "options": entry.options or [ABSENT]}
