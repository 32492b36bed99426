"""ssh_authorized_key: a key that opens an account.

The file lies where its user may do anything, link it elsewhere too. So it is written as that user: root, who follows every link,
would write where they lead him. Other lines keep their bytes.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from precast.resources import accounts, issues, issues_system, properties
from precast.resources.contract import Change, Instance, Node, State, Wanted
from precast.resources.lines import join_lines, read_text, split_lines, write_text
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler

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
        found = re.match(r'(?:"(?:\\"|[^"])*"|[^"\s])+', text)
        if found is None:
            return None
        options = _OPTION.findall(found[0])
        text = text[found.end() :].lstrip()
    fields = text.split(None, 2)
    if len(fields) < 2 or not _KIND.fullmatch(fields[0]):
        return None
    return Entry(options, fields[0], fields[1], fields[2].strip() if len(fields) > 2 else "")


class SshAuthorizedKey(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("type", "key", "options")
    can_be_purged: ClassVar[bool] = False
    locks: ClassVar[tuple[str, ...]] = ("ssh_authorized_key",)
    invalidates: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        if wanted.get("user") is None and wanted.get("target") is None:
            raise issues.MISSING_VALUE.error(name="user", reason="a key opens an account", type=wanted.type)
        self._user = None if wanted.get("user") is None else str(wanted.get("user"))
        self._drops = properties.truth(wanted, "drop_privileges", is_default=True)

    def munge(self, name: str, value: Any) -> Any:
        if name == "options":
            texts = [text for text in properties.listed(value) if text not in ("", ABSENT)]
            return texts or [ABSENT]
        text = str(value)
        if not text or any(sign.isspace() for sign in text):
            raise properties.bad(self.wanted, name, value, "it is one word")
        return ALIASES.get(text, text) if name == "type" else text

    def _target(self) -> str | None:
        """The file; None as long as the user is not there."""
        if self.wanted.get("target") is not None:
            return str(self.wanted.get("target"))
        user = accounts.find_user(self.node, str(self._user), is_local=False)
        return None if user is None else f"{user.home.rstrip('/')}/.ssh/authorized_keys"

    def read(self) -> State:
        target = self._target()
        entries = [] if target is None else map(parse, split_lines(read_text(self.node, target)))
        found = next((entry for entry in entries if entry is not None and entry.name == self.name), None)
        return {"ensure": ABSENT} if found is None else _properties(found)

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
            raise issues.MISSING_VALUE.error(name="type and key", reason="they make the line", type=self.wanted.type)
        start = [] if options in (None, [ABSENT]) else [",".join(options)]
        return " ".join([*start, kind, key, self.name])

    def _write(self, target: str, text: str) -> None:
        data = text.encode(errors="surrogateescape")
        if self._user is not None and self._drops and (not self.node.root or self.node.is_chroot):
            done = self.node.run(["/bin/sh", "-c", _WRITE, "sh", target], user=self._user, stdin=data)
            if done.is_success:
                return
            # A directory that is root's is not the user's to lead us astray: there root writes.
            if not _is_roots(self.node, target):
                reason = " ".join(done.output.split())
                raise issues_system.UNWRITABLE.error(path=target, user=self._user, reason=reason)
        self._write_as_root(target, text)

    def _write_as_root(self, target: str, text: str) -> None:
        user = None if self._user is None else accounts.find_user(self.node, self._user, is_local=False)
        place = Path(self.node.path(target))
        if any(each.is_symlink() for each in (place, place.parent)):
            raise issues_system.UNWRITABLE.error(path=target, user=self._user, reason="it is behind a link")
        owner = (0, 0) if user is None else (user.uid, user.gid)
        if not place.parent.exists():
            place.parent.mkdir(mode=0o700)
            _give(place.parent, owner)
        write_text(self.node, target, text, 0o600, owner)

    @classmethod
    def instances(cls, node: Node) -> Iterable[Instance]:
        raise NotImplementedError


def _give(path: Path, owner: tuple[int, int]) -> None:
    if os.geteuid() == 0:
        os.chown(path, *owner, follow_symlinks=False)


def _is_roots(node: Node, target: str) -> bool:
    parent = Path(node.path(target)).parent
    return parent.is_dir() and not parent.is_symlink() and parent.stat().st_uid == 0


def _properties(entry: Entry) -> dict[str, Any]:
    return {"ensure": PRESENT, "type": entry.type, "key": entry.key, "options": entry.options or [ABSENT]}
