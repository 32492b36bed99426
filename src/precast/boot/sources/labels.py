"""The label of a disk, read from its first blocks: for the early stage, in which udev may not have looked at every disk yet.

Three file systems carry data for a boot: iso9660, vfat and ext4. Nothing is mounted to find out, and nothing but the label is believed.
"""

import os
from pathlib import Path

_ISO_AT, _EXT_AT = 32768, 1024
_FAT_SIGNS = ((b"FAT1", 54, 43), (b"FAT32", 82, 71))  # the sign, where it stands, where the label stands
_READ_BYTES = _ISO_AT + 2048


def read_label(device: Path) -> str:
    """The label in small letters; empty if there is none that we know."""
    try:
        # Without waiting: an empty drive would keep us.
        handle = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return parse_label(os.pread(handle, _READ_BYTES, 0))
    except OSError:
        return ""
    finally:
        os.close(handle)


def parse_label(start: bytes) -> str:
    """The label in the first blocks of a file system."""
    if start[_ISO_AT + 1 : _ISO_AT + 6] == b"CD001":
        return _decode_label(start[_ISO_AT + 40 : _ISO_AT + 72])
    if start[_EXT_AT + 56 : _EXT_AT + 58] == b"\x53\xef":
        return _decode_label(start[_EXT_AT + 120 : _EXT_AT + 136])
    for sign, at, label in _FAT_SIGNS:
        if start[at : at + len(sign)] == sign:
            return _decode_label(start[label : label + 11])
    return ""


def _decode_label(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("ascii", errors="replace").strip().lower()
