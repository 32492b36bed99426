"""Chooses the system calls of a confined process.

A process that starts no programs gets a list of what it may call; everything else fails. A process that runs programs of others cannot
be described by such a list: there the dangerous calls fail, and all that are newer than our tables.
"""

import os

from precast.base.confinement import bpf, system_calls
from precast.base.confinement.bpf import ALLOW, Condition, Rule
from precast.base.confinement.system_calls import BY_ARGUMENT, Architecture

_AF_INET, _AF_INET6, _AF_NETLINK = 2, 10, 16
_PROT_EXEC = 4
_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020000
_PR_SET_NAME, _PR_GET_NAME, _PR_GET_DUMPABLE, _PR_SET_VMA = 15, 16, 3, 0x53564D41
_AT_EMPTY_PATH = 0x1000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FIONBIO, _FIOCLEX = 0x5421, 0x5451
_REFUSED = bpf.refuse(system_calls.REFUSED)
_ABSENT = bpf.refuse(system_calls.ABSENT)


def current_architecture() -> Architecture | None:
    """The architecture of this machine, or None if the tables do not have it."""
    return system_calls.ARCHITECTURES.get(os.uname().machine)


def make_compute_filter(
    architecture: Architecture,
    *,
    may_read: bool,
    may_write: bool,
    may_connect: bool,
    may_thread: bool,
    may_accept: bool = False,
) -> bytes:
    """The filter of a process that starts no programs."""
    rules = [
        Rule(system_calls.COMPUTING, ALLOW),
        # After the start nothing new becomes executable, except in a process that may still load libraries.
        *([Rule(_calls("mmap", "mprotect"), ALLOW)] if may_read else []),
        Rule(_calls("mmap", "mprotect"), ALLOW, Condition(2, (0,), _PROT_EXEC), _REFUSED),
        Rule(_calls("prlimit64"), ALLOW, Condition(0, (0, os.getpid())), _REFUSED),
        Rule(_calls("kill", "tgkill"), ALLOW, Condition(0, (os.getpid(),)), _REFUSED),
        Rule(
            _calls("prctl"),
            ALLOW,
            Condition(0, (_PR_SET_NAME, _PR_GET_NAME, _PR_GET_DUMPABLE, _PR_SET_VMA)),
            _REFUSED,
        ),
        # Python sets the time-out of a socket by the first of these.
        Rule(_calls("ioctl"), ALLOW, Condition(1, (_FIONBIO, _FIOCLEX)), bpf.refuse(system_calls.NO_TERMINAL)),
        Rule(_calls("clone3"), _ABSENT),
        _sockets(may_connect),
    ]
    if may_read or may_write:
        rules.append(Rule(system_calls.READING, ALLOW))
    else:
        # The C library asks for the size of an open descriptor by an empty path.
        of_descriptors = {"newfstatat": system_calls.READING["newfstatat"]}
        rules.append(Rule(of_descriptors, ALLOW, Condition(3, (_AT_EMPTY_PATH,), _AT_EMPTY_PATH), _REFUSED))
    if may_write:
        rules.append(Rule(system_calls.WRITING, ALLOW))
    if may_connect:
        rules.append(Rule(system_calls.CONNECTING, ALLOW))
    if may_accept:
        rules.append(Rule(system_calls.ACCEPTING, ALLOW))
    if may_thread:
        thread = Condition(0, (_CLONE_THREAD,), _CLONE_THREAD | _CLONE_NAMESPACES)
        rules.append(Rule(_calls("clone"), ALLOW, thread, _REFUSED))
    return bpf.assemble(architecture, rules, default=_REFUSED, newer=_ABSENT)


def make_program_filter(architecture: Architecture, *, may_connect: bool, may_write: bool, parent: int) -> bytes:
    """The filter of a process that runs programs of others. It cannot signal the process that started it."""
    rules = [
        Rule(system_calls.DANGEROUS, _REFUSED),
        Rule(system_calls.TRUNCATING, _REFUSED),
        *([] if may_write else [Rule(system_calls.CHANGING_ATTRIBUTES, _REFUSED)]),
        Rule(_calls("clone"), ALLOW, Condition(0, (0,), _CLONE_NAMESPACES), _REFUSED),
        Rule(_calls("clone3"), _ABSENT),
        Rule(_calls("kill", "tgkill", "prlimit64"), _REFUSED, Condition(0, (parent, -parent, -1)), ALLOW),
        Rule(_calls("ioctl"), _REFUSED, Condition(1, (_TIOCSTI, _TIOCLINUX)), ALLOW),
        _sockets(may_connect),
    ]
    return bpf.assemble(architecture, rules, default=ALLOW, newer=_ABSENT)


def _sockets(may_connect: bool) -> Rule:
    """Sockets of the network only: a Unix socket leads to the services of this machine, such as a database that trusts our user."""
    if not may_connect:
        return Rule(_calls("socket"), _REFUSED)
    return Rule(_calls("socket"), ALLOW, Condition(0, (_AF_INET, _AF_INET6, _AF_NETLINK)), _REFUSED)


def _calls(*names: str) -> system_calls.Table:
    return {name: BY_ARGUMENT[name] for name in names}
