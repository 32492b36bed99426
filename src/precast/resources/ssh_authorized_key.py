"""ssh_authorized_key: a key that may log in to an account.

The file is in a directory of its user, who may replace it by a link to any file. So it is written as that user, because root would follow
such a link and overwrite its target. Other lines keep their bytes.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from precast.resources import accounts, issues, issues_system, properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler
from precast.resources.text_files import join_lines, read_text, split_lines, write_text

ALIASES = {"rsa": "ssh-rsa", "dsa": "ssh-dss", "dss": "ssh-dss", "ed25519": "ssh-ed25519"}
_KIND = re.compile(r"(?:ssh-|ecdsa-|sk-)\S+")
_OPTION = re.compile(r'((?:"(?:\\"|[^"])*"|[^,"\s])+),?')
_WRITE = """
umask 077
mkdir -p "${1%/*}" && cat > "$1.precast" && sync "$1.precast" && mv -f "$1.precast" "$1"
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
        entries = [] if target is None else map(parse, split_lines(read_text(self.node, target)))
        key = next((entry for entry in entries if entry is not None and entry.name == self.name), None)
        return {"ensure": ABSENT} if key is None else _properties(key)

    def apply(self, change: Change) -> None:
        target = self._target()
        if target is None:
            raise issues_system.NO_USER.error(user=self._user)
        lines = split_lines(read_text(self.node, target))
        entries = {at: entry for at, line in enumerate(lines) if (entry := parse(line)) and entry.name == self.name}
        if change.property == "ensure" and change.desired == ABSENT:
            lines = [line for at, line in enumerate(lines) if at not in entries]
        elif not entries:
            lines.append(self._line(None))
        else:
            at, entry = next(iter(entries.items()))
            lines[at] = self._line(entry)
        self._write(target, join_lines(lines))

    def _line(self, present: Entry | None) -> str:
        state = {} if present is None else _properties(present)
        kind, key, options = (self.desired.get(name, state.get(name)) for name in self.order)
        if kind is None or key is None:
            raise issues.MISSING_VALUE.error(name="type and key", reason="they make the line", type=self.resource.type)
        start = [] if options in (None, [ABSENT]) else [",".join(options)]
        return " ".join([*start, kind, key, self.name])

    def _write(self, target: str, text: str) -> None:
        data = text.encode(errors="surrogateescape")
        if self._user is not None and self._drops and (not self.node.root or self.node.is_chroot):
            result = self.node.run(["/bin/sh", "-c", _WRITE, "sh", target], user=self._user, stdin=data)
            if result.is_success:
                return
            # In a directory that root owns the user cannot create links, so root may write there.
            if not _is_in_root_directory(self.node, target):
                reason = " ".join(result.output.split())
                raise issues_system.UNWRITABLE.error(path=target, user=self._user, reason=reason)
        self._write_as_root(target, text)

    def _write_as_root(self, target: str, text: str) -> None:
        user = None if self._user is None else accounts.find_user(self.node, self._user, is_local=False)
        place = Path(self.node.path(target))
        if any(path.is_symlink() for path in (place, place.parent)):
            raise issues_system.UNWRITABLE.error(path=target, user=self._user, reason="it is behind a link")
        owner = (0, 0) if user is None else (user.uid, user.gid)
        if not place.parent.exists():
            place.parent.mkdir(mode=0o700)
            _give(place.parent, owner)
        write_text(self.node, target, text, 0o600, owner)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        raise NotImplementedError


def _give(path: Path, owner: tuple[int, int]) -> None:
    if os.geteuid() == 0:
        os.chown(path, *owner, follow_symlinks=False)


def _is_in_root_directory(node: ManagedNode, target: str) -> bool:
    parent = Path(node.path(target)).parent
    return parent.is_dir() and not parent.is_symlink() and parent.stat().st_uid == 0


def _properties(entry: Entry) -> dict[str, Any]:
    return {"ensure": PRESENT, "type": entry.type, "key": entry.key, "options": entry.options or [ABSENT]}
