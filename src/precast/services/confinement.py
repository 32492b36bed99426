"""Drops the privileges that a compile never needs: user rights, the network, starting programs.

A process of root becomes the user nobody in a network namespace without interfaces. Without root it tries the same through a user
namespace. Where the kernel does not allow that, it continues: then only the language, which cannot open a socket, confines it.
"""

import contextlib
import ctypes
import os
import resource

NOBODY = 65534
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_PDEATHSIG = 38, 1
_SIGKILL = 9


def confine() -> None:
    """Drop the privileges irrevocably. Call it before the process reads untrusted input."""
    libc = ctypes.CDLL(None, use_errno=True)
    # The kernel kills this process when its server ends, however that happens.
    libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.chdir("/")
    if os.geteuid() == 0:
        if libc.unshare(_CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "cannot create a network namespace for a compile worker")
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # A change of the user resets the signal.
        libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    else:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
