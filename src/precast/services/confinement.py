"""Takes away from a process what a compile never needs: rights, the network, new programs.

As root it becomes nobody in a network without interfaces. Without root it tries the same by a user namespace, and where the kernel
does not allow that, goes on: then the language, which has no way to open a socket, is what keeps it in.
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
    """Give up what is not needed, for good. Call it before anything of a stranger is read."""
    libc = ctypes.CDLL(None, use_errno=True)
    # It ends with its server, however that ends.
    libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.chdir("/")
    if os.geteuid() == 0:
        if libc.unshare(_CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "no network of its own for a compile worker")
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # Changing the user resets it.
        libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    else:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
