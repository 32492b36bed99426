"""Runs a program under the restrictions of a systemd unit that do not need systemd: `python -m lab.unit_restrictions UNIT PROGRAM…`.

In force: the filter of system calls (expanded by systemd itself), refused namespaces and address families, memory that is never writable
and executable, an empty set of capabilities, no new privileges, the user (number 65533), the umask and the limits. Not in force: what
systemd does by mounting (ProtectSystem, PrivateTmp, ProtectProc …) and by user namespaces (PrivateUsers). Needs root, x86_64, and the
kernel's header of system calls.
"""

import errno
import os
import re
import resource
import socket
import subprocess
import sys
from pathlib import Path

from lab.ordinary_user import become_ordinary, make_code_readable
from precast.base.confinement import bpf, kernel, system_calls
from precast.base.confinement.bpf import ALLOW, Condition, Rule

HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
_NAMESPACES = 0x7E020000
_PROT_WRITE_EXEC = 6
_REFUSED = bpf.refuse(errno.EPERM)
_PR_CAPBSET_DROP = 24
_CAPABILITIES = 64


def read_unit(path: Path) -> dict[str, list[str]]:
    """The settings of a unit; each may be given several times."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", path.read_text(), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def expand(names: list[str]) -> set[str]:
    """Expand systemd's sets of system calls."""
    calls: set[str] = set()
    for name in names:
        if not name.startswith("@"):
            calls.add(name)
            continue
        listed = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True)
        words = [line.split("#")[0].strip() for line in listed.stdout.splitlines()[1:]]
        calls |= expand([word for word in words if word])
    return calls


def allowed_calls(lines: list[str]) -> set[str]:
    calls: set[str] = set()
    for line in lines:
        if line.startswith("~"):
            calls -= expand(line[1:].split())
        else:
            calls |= expand(line.split())
    return calls


def assemble(unit: dict[str, list[str]]) -> bytes:
    """The filter that systemd would install for the unit, as one program."""
    numbers = {name: int(number) for name, number in re.findall(r"__NR_(\w+) (\d+)", HEADER.read_text())}
    calls = {name: (numbers[name], -1) for name in allowed_calls(unit["SystemCallFilter"]) if name in numbers}
    rules = []
    if unit.get("RestrictNamespaces") == ["yes"]:
        rules += [
            Rule({"unshare": (numbers["unshare"], -1)}, ALLOW, Condition(0, (0,), _NAMESPACES), _REFUSED),
            Rule({"clone": (numbers["clone"], -1)}, ALLOW, Condition(0, (0,), _NAMESPACES), _REFUSED),
            Rule({"clone3": (numbers["clone3"], -1)}, bpf.refuse(errno.ENOSYS)),
        ]
    if families := unit.get("RestrictAddressFamilies"):
        allowed = [int(getattr(socket, name)) for name in families[-1].split()]
        refused = bpf.refuse(errno.EAFNOSUPPORT)
        rules.append(Rule({"socket": (numbers["socket"], -1)}, ALLOW, Condition(0, allowed), refused))
    if unit.get("MemoryDenyWriteExecute") == ["yes"]:
        both = Condition(2, (_PROT_WRITE_EXEC,), _PROT_WRITE_EXEC)
        rules.append(Rule({"mmap": (numbers["mmap"], -1)}, _REFUSED, both, ALLOW))
        executable = Condition(2, (4,), 4)
        rules.append(Rule({"mprotect": (numbers["mprotect"], -1)}, _REFUSED, executable, ALLOW))
    rules.append(Rule(calls, ALLOW))
    # systemd kills the process unless the unit names an error.
    default = _REFUSED if unit.get("SystemCallErrorNumber") == ["EPERM"] else bpf.KILL
    return bpf.assemble(system_calls.ARCHITECTURES["x86_64"], rules, default=default, newer=default)


def apply(unit: dict[str, list[str]]) -> None:
    """Restrict this process for good."""
    program = assemble(unit)
    os.umask(int(unit.get("UMask", ["0022"])[-1], 8))
    if limit := unit.get("LimitNOFILE"):
        most = min(int(limit[-1]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])  # a container may have less
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if unit.get("CapabilityBoundingSet") == [""]:
        for number in range(_CAPABILITIES):
            try:
                kernel.prctl(_PR_CAPBSET_DROP, number)
            except OSError:
                break
    become_ordinary()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    bpf.install(program)


def main() -> None:
    unit = read_unit(Path(sys.argv[1]))
    make_code_readable()
    apply(unit)
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
