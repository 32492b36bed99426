"""`os`: name, family, release and distribution, from /etc/os-release and the older release files of distributions."""

import re

from precast.agent.facts.machine import Facts, Machine, present

# Facter's names, where they are not the first word of NAME.
_NAMES = {
    "amzn": "Amazon",
    "arch": "Archlinux",
    "centos": "CentOS",
    "linuxmint": "Linuxmint",
    "manjaro": "Manjarolinux",
    "mariner": "Mariner",
    "ol": "OracleLinux",
    "opensuse-leap": "openSUSE",
    "opensuse-tumbleweed": "openSUSE",
    "rhel": "RedHat",
    "virtuozzo": "VirtuozzoLinux",
}
_FAMILIES = {
    "RedHat": (
        "rhel fedora centos rocky almalinux ol oracle amzn scientific cloudlinux virtuozzo photon mariner azurelinux"
    ),
    "Debian": "debian ubuntu linuxmint devuan raspbian kali pop neon",
    "Suse": "suse sles sled opensuse opensuse-leap opensuse-tumbleweed",
    "Gentoo": "gentoo",
    "Archlinux": "arch manjaro",
    "Mandrake": "mandriva mageia",
}
_FAMILY_OF = {identifier: family for family, names in _FAMILIES.items() for identifier in names.split()}


def collect(machine: Machine) -> Facts:
    """Collect the fact `os`; without any release file it has only the facts of the kernel and SELinux."""
    release = _os_release(machine)
    identifier = release.get("ID", "").lower()
    family = _family(identifier, release)
    full = _full_release(machine, identifier, family, release)
    parts = _release_parts(identifier, full)
    hardware = machine.kernel.hardware() or machine.read_line("/proc/sys/kernel/arch")
    facts = present(
        name=_name(identifier, release),
        family=family,
        release=parts,
        distro=_distro(machine, identifier, family, release, parts),
        hardware=hardware,
        architecture=_architecture(hardware, family),
        selinux=_selinux(machine),
    )
    return {"os": facts}


def _os_release(machine: Machine) -> dict[str, str]:
    text = machine.read_text("/etc/os-release") or machine.read_text("/usr/lib/os-release") or ""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().strip("\"'") for key, value in pairs}


def _name(identifier: str, release: dict[str, str]) -> str | None:
    words = release.get("NAME", "").split()
    return _NAMES.get(identifier) or (words[0] if words else identifier.capitalize() or None)


def _family(identifier: str, release: dict[str, str]) -> str | None:
    for name in [identifier, *release.get("ID_LIKE", "").lower().split()]:
        if name in _FAMILY_OF:
            return _FAMILY_OF[name]
    return _name(identifier, release)


def _full_release(machine: Machine, identifier: str, family: str | None, release: dict[str, str]) -> str | None:
    """The release with its minor number, which is missing from the os-release file of some distributions."""
    version = release.get("VERSION_ID") or None
    if identifier == "debian":
        return machine.read_line("/etc/debian_version") or version
    if identifier == "alpine":
        return machine.read_line("/etc/alpine-release") or version
    if family == "RedHat":
        match = re.search(r"release\s+(\S+)", machine.read_line("/etc/redhat-release") or "")
        return match[1] if match else version
    if version and "." not in version and identifier not in ("ubuntu", "fedora"):
        return f"{version}.0"
    return version


def _release_parts(identifier: str, full: str | None) -> Facts | None:
    if full is None:
        return None
    if identifier == "ubuntu":  # its major release is year and month: 22.04 and 22.10 share nothing
        return {"full": full, "major": full}
    major, *others = full.split(".")
    minor = re.sub(r"^0([1-9])", r"\1", others[0]) if others else None
    return present(full=full, major=major, minor=minor)


def _distro(
    machine: Machine, identifier: str, family: str | None, release: dict[str, str], parts: Facts | None
) -> Facts | None:
    description = release.get("PRETTY_NAME")
    codename = release.get("VERSION_CODENAME") or _in_brackets(release.get("VERSION", ""))
    distributor = identifier.capitalize() or None
    if family == "RedHat" and (line := machine.read_line("/etc/redhat-release")):
        description, codename = line, _in_brackets(line)
        words = line.partition("release")[0].split()
        distributor = "".join(word for word in words if word.lower() != "linux") or None
    return present(id=distributor, description=description, codename=codename, release=parts) or None


def _in_brackets(text: str) -> str | None:
    match = re.search(r"\(([^()]+)\)\s*$", text)
    return match[1] if match else None


def _architecture(hardware: str | None, family: str | None) -> str | None:
    """The distribution's name for the hardware."""
    if hardware is None:
        return None
    if re.fullmatch(r"i[3456]86|pentium", hardware):
        return "i386"
    return "amd64" if hardware == "x86_64" and family in ("Debian", "Gentoo") else hardware


def _selinux(machine: Machine) -> Facts:
    mounts = [line.split() for line in (machine.read_text("/proc/self/mounts") or "").splitlines()]
    place = next((words[1] for words in mounts if len(words) > 2 and words[2] == "selinuxfs"), None)
    settings = dict(re.findall(r"(?m)^(SELINUX|SELINUXTYPE)=\s*(\S+)", machine.read_text("/etc/selinux/config") or ""))
    if place is None or not settings:
        return {"enabled": False}
    is_enforced = machine.read_line(f"{place}/enforce") == "1"
    return present(
        enabled=True,
        enforced=is_enforced,
        current_mode="enforcing" if is_enforced else "permissive",
        config_mode=settings.get("SELINUX"),
        config_policy=settings.get("SELINUXTYPE"),
        policy_version=machine.read_line(f"{place}/policyvers"),
    )
