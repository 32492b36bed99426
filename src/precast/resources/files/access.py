"""Owner, group and mode of a file: the desired ones, and how they differ from the current ones."""

import os
import stat
from typing import Any

from precast.resources.contract import Change
from precast.resources.files import modes, permissions
from precast.resources.files.owners import Owners
from precast.resources.files.parameters import Spec
from precast.resources.properties import format_value

_NEW_FILE = 0o644
_SET_ID = stat.S_ISUID | stat.S_ISGID


class Access:
    """Owner, group and mode of one file. `found` is the stat of the existing file, `model` that of a source they are taken from, if any."""

    def __init__(self, spec: Spec, owners: Owners, found: os.stat_result | None, model: os.stat_result | None) -> None:
        self._spec = spec
        self._owners = owners
        self._found = found
        is_ignored = spec.permissions == "ignore" or (spec.permissions == "use_when_creating" and found is not None)
        self._model = None if is_ignored else model

    def uid(self) -> int:
        """The desired user id; -1 if any is accepted. Raises NotFoundError RESOURCE-107."""
        if self._spec.owner is not None:
            return self._owners.uid(self._spec.owner)
        return -1 if self._model is None else self._model.st_uid

    def gid(self) -> int:
        """The desired group id; -1 if any is accepted. Raises NotFoundError RESOURCE-108."""
        if self._spec.group is not None:
            return self._owners.gid(self._spec.group)
        return -1 if self._model is None else self._model.st_gid

    def mode(self, present: int, is_directory: bool) -> int:
        """The desired mode for a file that has the mode `present` now."""
        if self._spec.mode is not None:
            return self._spec.mode.bits(present, is_directory)
        return present if self._model is None else stat.S_IMODE(self._model.st_mode)

    def of_new_file(self) -> tuple[int, int, int]:
        """Mode, owner and group of a file that replaces the existing one; those that are not managed stay the same."""
        uid, gid = self.uid(), self.gid()
        former = self._found
        if former is None or not stat.S_ISREG(former.st_mode):
            return self.mode(_NEW_FILE, False), uid, gid
        uid, gid = (former.st_uid if uid == -1 else uid), (former.st_gid if gid == -1 else gid)
        bits = stat.S_IMODE(former.st_mode)
        mode = self.mode(bits, False)
        if (uid, gid) != (former.st_uid, former.st_gid) and mode == bits and not self._is_octal:
            mode &= ~_SET_ID  # as the kernel does when the owner of a file changes
        return mode, uid, gid

    @property
    def _is_octal(self) -> bool:
        return self._spec.mode is not None and not self._spec.mode.is_relative

    def differences(self, found: os.stat_result) -> tuple[Change, ...]:
        """The changes of those that are not in sync; a link has no mode."""
        changes = []
        uid, gid = self.uid(), self.gid()
        if uid not in (-1, found.st_uid):
            changes.append(_make_change("owner", self._owners.user(found.st_uid), self._owners.user(uid)))
        if gid not in (-1, found.st_gid):
            changes.append(_make_change("group", self._owners.group(found.st_gid), self._owners.group(gid)))
        bits = stat.S_IMODE(found.st_mode)
        desired = self.mode(bits, stat.S_ISDIR(found.st_mode))
        if desired != bits and not stat.S_ISLNK(found.st_mode):
            note = f" ({self._spec.mode_text})" if self._spec.mode is not None and self._spec.mode.is_relative else ""
            changes.append(_make_change("mode", modes.format_mode(bits), modes.format_mode(desired), note))
        return tuple(changes)

    def apply(self, handle: int, name: str) -> None:
        """Change owner, group or mode in place."""
        if name == "owner":
            permissions.change_owner(handle, self.uid(), -1)
        elif name == "group":
            permissions.change_owner(handle, -1, self.gid())
        # Changing the owner clears the set-id bits: an octal mode restores them, a relative mode only if the mode changes too.
        if name == "mode" or self._is_octal:
            now = os.fstat(handle)
            former = self._found or now
            permissions.change_mode(handle, self.mode(stat.S_IMODE(former.st_mode), stat.S_ISDIR(now.st_mode)))


def _make_change(name: str, present: Any, desired: Any, note: str = "") -> Change:
    return Change(name, present, desired, f"{name} changed {format_value(present)} to {format_value(desired)}{note}")
