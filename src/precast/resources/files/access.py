"""Whose a file is and who may use it: what is wanted, and how that differs from what is there."""

import os
import stat
from typing import Any

from precast.resources.contract import Change
from precast.resources.files import modes, settling
from precast.resources.files.owners import Owners
from precast.resources.files.parameters import Spec
from precast.resources.properties import shown

_NEW_FILE = 0o644
_GIVEN = stat.S_ISUID | stat.S_ISGID


class Access:
    """Owner, group and mode of one file. `found` is what is there, `model` a source they are taken from, if any."""

    def __init__(self, spec: Spec, owners: Owners, found: os.stat_result | None, model: os.stat_result | None) -> None:
        self._spec = spec
        self._owners = owners
        self._found = found
        is_ignored = spec.permissions == "ignore" or (spec.permissions == "use_when_creating" and found is not None)
        self._model = None if is_ignored else model

    def uid(self) -> int:
        """-1 if any will do. Raises NotFoundError RESOURCE-107."""
        if self._spec.owner is not None:
            return self._owners.uid(self._spec.owner)
        return -1 if self._model is None else self._model.st_uid

    def gid(self) -> int:
        """-1 if any will do. Raises NotFoundError RESOURCE-108."""
        if self._spec.group is not None:
            return self._owners.gid(self._spec.group)
        return -1 if self._model is None else self._model.st_gid

    def mode(self, present: int, is_directory: bool) -> int:
        """The bits wanted where `present` are."""
        if self._spec.mode is not None:
            return self._spec.mode.bits(present, is_directory)
        return present if self._model is None else stat.S_IMODE(self._model.st_mode)

    def of_new_file(self) -> tuple[int, int, int]:
        """Mode, owner and group of a file that takes the place of what is there; what is not managed stays as it was."""
        uid, gid = self.uid(), self.gid()
        former = self._found
        if former is None or not stat.S_ISREG(former.st_mode):
            return self.mode(_NEW_FILE, False), uid, gid
        uid, gid = (former.st_uid if uid == -1 else uid), (former.st_gid if gid == -1 else gid)
        bits = stat.S_IMODE(former.st_mode)
        mode = self.mode(bits, False)
        if (uid, gid) != (former.st_uid, former.st_gid) and mode == bits and not self._is_octal:
            mode &= ~_GIVEN  # as the system does when a file is given away
        return mode, uid, gid

    @property
    def _is_octal(self) -> bool:
        return self._spec.mode is not None and not self._spec.mode.is_relative

    def differences(self, found: os.stat_result) -> tuple[Change, ...]:
        """What is not as wanted; a link has no mode."""
        changes = []
        uid, gid = self.uid(), self.gid()
        if uid not in (-1, found.st_uid):
            changes.append(_changed("owner", self._owners.user(found.st_uid), self._owners.user(uid)))
        if gid not in (-1, found.st_gid):
            changes.append(_changed("group", self._owners.group(found.st_gid), self._owners.group(gid)))
        bits = stat.S_IMODE(found.st_mode)
        wanted = self.mode(bits, stat.S_ISDIR(found.st_mode))
        if wanted != bits and not stat.S_ISLNK(found.st_mode):
            note = f" ({self._spec.mode_text})" if self._spec.mode is not None and self._spec.mode.is_relative else ""
            changes.append(_changed("mode", modes.written(bits), modes.written(wanted), note))
        return tuple(changes)

    def settle(self, handle: int, name: str) -> None:
        """Change one of the three in place."""
        if name == "owner":
            settling.change_owner(handle, self.uid(), -1)
        elif name == "group":
            settling.change_owner(handle, -1, self.gid())
        # Giving a file away takes its set-uid bits: an octal mode brings them back, a relative one only if it is to change.
        if name == "mode" or self._is_octal:
            now = os.fstat(handle)
            former = self._found or now
            settling.change_mode(handle, self.mode(stat.S_IMODE(former.st_mode), stat.S_ISDIR(now.st_mode)))


def _changed(name: str, present: Any, wanted: Any, note: str = "") -> Change:
    return Change(name, present, wanted, f"{name} changed {shown(present)} to {shown(wanted)}{note}")
