"""The calls of the kernel that Python has no function for, by the C library's `prctl`, `unshare` and `syscall`."""

import ctypes
import os

PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE = 1, 3, 4
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x08000000, 0x10000000, 0x40000000

_LIBC = ctypes.CDLL(None, use_errno=True)
_CAPABILITY_VERSION_3 = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91}


def prctl(option: int, value: int, pointer: "ctypes.c_void_p | int" = 0) -> int:
    """Call prctl. Raises OSError."""
    return _checked(_LIBC.prctl(option, ctypes.c_ulong(value), pointer, ctypes.c_ulong(0), ctypes.c_ulong(0)))


def unshare(flags: int) -> None:
    """Move this process into new namespaces. Raises OSError."""
    _checked(_LIBC.unshare(flags))


def syscall(number: int, *arguments: object) -> int:
    """Call the kernel by number. Raises OSError."""
    _LIBC.syscall.restype = ctypes.c_long
    return _checked(_LIBC.syscall(ctypes.c_long(number), *arguments))


def drop_capabilities() -> None:
    """Give up every capability for good. Raises OSError."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    syscall(_CAPSET[os.uname().machine], ctypes.byref(header), ctypes.byref(nothing))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
