"""Runs a program as on a kernel that lacks something: `python -m lab.old_kernel landlock|seccomp|namespaces PROGRAM…`."""

import errno
import os
import sys

from precast.base.confinement import bpf, filters, kernel
from precast.base.confinement.bpf import ALLOW, Condition, Rule

LACKS = {
    "landlock": Rule({"landlock_create_ruleset": (444, 444)}, bpf.refuse(errno.ENOSYS)),
    "seccomp": Rule({"prctl": (157, 167)}, bpf.refuse(errno.EINVAL), Condition(0, (kernel.PR_SET_SECCOMP,)), ALLOW),
    "namespaces": Rule({"unshare": (272, 97)}, bpf.refuse(errno.EPERM)),
}


def main() -> None:
    architecture = filters.current_architecture()
    assert architecture is not None, "the tests run on x86_64 and aarch64"
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    bpf.install(bpf.assemble(architecture, [LACKS[sys.argv[1]]], default=ALLOW, newer=ALLOW))
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
