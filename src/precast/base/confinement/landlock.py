"""Landlock: the kernel refuses this process every file except those below the given paths. It needs no privilege.

Later kernels know more rights (the ABI counts them); each is used where the kernel has it. Landlock does not govern `stat`, `chmod`,
`chown` and times of files: the filter of system calls refuses these to a process that writes nothing.
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from precast.base.confinement import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# All rights on files that an ABI knows; 1 has everything up to the making of links, then moves, truncation and devices were added.
_KNOWN_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_BIND_TCP, _CONNECT_TCP = 1, 2
_NETWORK_ABI = 4
_SCOPE_ABSTRACT_SOCKET, _SCOPE_SIGNAL = 1, 2
SCOPE_ABI = 6


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("directory", ctypes.c_int32))


def abi() -> int:
    """The version of Landlock in this kernel, or 0 if there is none or it is disabled."""
    try:
        return kernel.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except OSError:
        return 0


def restrict(
    reads: Iterable[Path], writes: Iterable[Path], *, may_connect: bool = False, may_execute: bool = False
) -> int:
    """Restrict this thread and its future children for good; returns the ABI. Paths that cannot be reached allow nothing.

    Raises OSError if the kernel has no Landlock. `no_new_privs` must be set.
    """
    version = abi()
    known = _KNOWN_RIGHTS[min(max(version, 1), max(_KNOWN_RIGHTS))]
    network = 0 if version < _NETWORK_ABI else _BIND_TCP if may_connect else _BIND_TCP | _CONNECT_TCP
    scopes = 0 if version < SCOPE_ABI else _SCOPE_ABSTRACT_SOCKET | _SCOPE_SIGNAL
    attributes = _RulesetAttributes(known, network, scopes)
    size = 8 if version < _NETWORK_ABI else 16 if version < SCOPE_ABI else 24
    ruleset = kernel.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        reading = _READ_FILE | _READ_DIR | (_EXECUTE if may_execute else 0)
        for path in reads:
            _allow(ruleset, path, reading)
        for path in writes:
            _allow(ruleset, path, known & ~_EXECUTE)
        kernel.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # this process could not reach it anyway
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _OF_FILES
        rule = ctypes.byref(_PathBeneath(rights, handle))
        kind = ctypes.c_int(_RULE_PATH_BENEATH)
        kernel.syscall(_ADD_RULE, ctypes.c_int(ruleset), kind, rule, ctypes.c_uint32(0))
    finally:
        os.close(handle)
