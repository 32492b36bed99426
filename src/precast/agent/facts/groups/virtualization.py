"""`virtual`, `is_virtual`, `hypervisors`, `cloud`: the container, virtual machine or cloud that the machine runs in.

A container is recognized by the traces of its runtime in /proc, a virtual machine by its firmware or, if it has none, by the clock that
its hypervisor offers. /.dockerenv proves nothing: machines made from a container image have it too.
"""

import re
from typing import NamedTuple

from precast.agent.facts.groups import dmi
from precast.agent.facts.machine import Facts, Machine

# Parts of the product's name, tried in this order.
_PRODUCTS = {
    "VMware": "vmware",
    "VirtualBox": "virtualbox",
    "Parallels": "parallels",
    "KVM": "kvm",
    "Virtual Machine": "hyperv",
    "RHEV Hypervisor": "rhev",
    "oVirt Node": "ovirt",
    "HVM domU": "xenhvm",
    "Bochs": "bochs",
    "OpenBSD": "vmm",
    "BHYVE": "bhyve",
}
_VENDORS = {
    "QEMU": "kvm",
    "Amazon EC2": "kvm",
    "OpenStack Foundation": "kvm",
    "VMware, Inc.": "vmware",
    "Xen": "xenhvm",
}
_CLOCKS = {"kvm-clock": "kvm", "hyperv_clocksource_tsc_page": "hyperv", "xen": "xenu"}
_AZURE = "7783-7084-3265-9085-8269-3286-77"
_ENVIRONMENTS = {"lxc": "lxc", "systemd-nspawn": "systemd_nspawn", "podman": "podman", "docker": "docker"}


class Container(NamedTuple):
    """The kind of a container, and the id or name of this one."""

    kind: str
    details: Facts


def collect(machine: Machine) -> Facts:
    container = find_container(machine)
    hypervisor = _hypervisor(machine)
    hypervisors: Facts = {container.kind: container.details} if container else {}
    if hypervisor is not None:
        hypervisors |= _describe_hypervisor(machine, hypervisor)
    virtual = container.kind if container else hypervisor or "physical"
    if not container and "Google" in (dmi.entry(machine, "bios_vendor") or ""):
        virtual = "gce"
    facts: Facts = {"virtual": virtual, "is_virtual": virtual not in ("physical", "xen0")}
    if hypervisors:
        facts["hypervisors"] = hypervisors
    if (provider := _cloud(machine)) is not None:
        facts["cloud"] = {"provider": provider}
    return facts if machine.exists("/proc/self") or hypervisors else {}


def find_container(machine: Machine) -> Container | None:
    """Find the container that the machine runs in; None if it runs in none."""
    groups = machine.read_text("/proc/1/cgroup") or ""
    if match := re.search(r"docker[/-]([0-9a-f]{12,64})", groups):
        return Container("docker", {"id": match[1]})
    if match := re.search(r":/lxc(?:\.payload)?[./]([^/\s]+)", groups):
        return Container("lxc", {"name": match[1]})
    if match := re.search(r"(cri-containerd|crio)[-:]([0-9a-f]{12,64})", groups):
        return Container(match[1].removeprefix("cri-"), {"id": match[2]})
    # In a cgroup namespace of its own the control group is only "/", but the runtime mounts files of its own over some of the image.
    mounted = machine.read_text("/proc/self/mountinfo") or ""
    if match := re.search(r"/docker/containers/([0-9a-f]{64})/", mounted):
        return Container("docker", {"id": match[1]})
    if "/kubelet/pods/" in mounted:
        return Container("container_other", {})
    if machine.exists("/run/.containerenv"):
        return Container("podman", _podman_id(machine))
    return _declared_container(machine)


def _podman_id(machine: Machine) -> Facts:
    match = re.search(r'(?m)^id="([0-9a-f]+)"', machine.read_text("/run/.containerenv") or "")
    return {"id": match[1]} if match else {}


def _declared_container(machine: Machine) -> Container | None:
    """The container that the runtime names in the environment of the first process, or that systemd has recorded."""
    environment = (machine.read_text("/proc/1/environ") or "").split("\0")
    declared = next(
        (variable.removeprefix("container=") for variable in environment if variable.startswith("container=")), None
    )
    kind = _ENVIRONMENTS.get(declared or machine.read_line("/run/systemd/container") or "")
    if kind is None:
        return None
    identity = machine.read_line("/etc/machine-id") if kind == "systemd_nspawn" else None
    return Container(kind, {"id": identity} if identity else {})


def _hypervisor(machine: Machine) -> str | None:
    """The kind of virtual machine; None for a physical one."""
    if machine.exists("/dev/xen/evtchn"):
        privileged = (machine.read_line("/proc/xen/capabilities") or "") == "control_d"
        return "xen0" if privileged else "xenhvm" if "HVM" in (dmi.entry(machine, "product_name") or "") else "xenu"
    product, vendor = dmi.entry(machine, "product_name") or "", dmi.entry(machine, "sys_vendor") or ""
    firmware = dmi.entry(machine, "bios_vendor") or ""
    for sign, kind in _PRODUCTS.items():
        if sign in product:
            return kind
    for sign, kind in _VENDORS.items():
        if sign in (vendor, firmware):
            return kind
    if "Google" in firmware:
        return "kvm"
    return _hypervisor_by_clock(machine)


def _hypervisor_by_clock(machine: Machine) -> str | None:
    clocks = machine.read_line("/sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    return next((_CLOCKS[name] for name in clocks.split() if name in _CLOCKS), None)


def _describe_hypervisor(machine: Machine, kind: str) -> Facts:
    if kind.startswith("xen"):
        return {"xen": {"context": "hvm" if kind == "xenhvm" else "pv", "privileged": kind == "xen0"}}
    if kind != "kvm":
        return {kind: {}}
    vendor = dmi.entry(machine, "sys_vendor") or ""
    providers = {"Google": "google", "OpenStack": "openstack", "Amazon": "amazon"}
    return {"kvm": {name: True for sign, name in providers.items() if vendor.startswith(sign)}}


def _cloud(machine: Machine) -> str | None:
    """The provider that the firmware names; no request is sent to the network."""
    if "Amazon EC2" in (dmi.entry(machine, "sys_vendor"), dmi.entry(machine, "bios_vendor")):
        return "aws"
    if "Google" in (dmi.entry(machine, "bios_vendor") or ""):
        return "gce"
    return "azure" if dmi.entry(machine, "chassis_asset_tag") == _AZURE else None
