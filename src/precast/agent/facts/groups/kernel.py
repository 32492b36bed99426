"""`kernel…`, `fips_enabled`, `load_averages`: facts of the kernel, from /proc."""

import re

from precast.agent.facts.machine import Facts, Machine, present


def collect(machine: Machine) -> Facts:
    release = machine.read_line("/proc/sys/kernel/osrelease")
    numbers = re.findall(r"\d+", release or "")
    return present(
        kernel=machine.read_line("/proc/sys/kernel/ostype"),
        kernelrelease=release,
        kernelversion=".".join(numbers[:3]) or None,
        kernelmajversion=".".join((release or "").split(".")[:2]) or None,
        fips_enabled=machine.read_line("/proc/sys/crypto/fips_enabled") == "1",
        load_averages=_load_averages(machine),
    )


def _load_averages(machine: Machine) -> Facts | None:
    words = (machine.read_line("/proc/loadavg") or "").split()[:3]
    if len(words) < 3 or not all(re.fullmatch(r"\d{1,9}\.\d{1,9}", word, re.ASCII) for word in words):
        return None
    return dict(zip(("1m", "5m", "15m"), map(float, words), strict=True))
