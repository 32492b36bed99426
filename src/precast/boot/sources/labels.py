"""Reads the label of a disk from its first blocks, for the early stage, in which udev may not have probed every disk yet.

Seeds use three file systems: iso9660, vfat and ext4. Nothing is mounted, and only the label is read.
"""

import os
from pathlib import Path

_ISO_AT, _EXT_AT = 32768, 1024
_FAT_SIGNS = ((b"FAT1", 54, 43), (b"FAT32", 82, 71))  # signature, its offset, offset of the label
_READ_BYTES = _ISO_AT + 2048


def read_label(device: Path) -> str:
    """Return the label in lower case; empty if the file system is unknown or has none."""
    try:
        # Non-blocking: opening an empty drive would block.
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
    """Return the label in the first blocks of a file system."""
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
