"""`virtual`: physical machines, virtual machines and containers, and how they are recognized."""

from pathlib import Path

import pytest

from precast.agent.facts.groups import virtualization
from precast.agent.facts.machine import Facts
from tests.unit.agent.facts.roots import machine

DMI = "/sys/class/dmi/id"
CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
ID = "0123456789abcdef" * 4


def collect(root: Path, files: dict[str, str]) -> Facts:
    return virtualization.collect(machine(root, {"/proc/self/": ""}, files))


@pytest.mark.parametrize(
    ("files", "virtual", "hypervisors"),
    [
        ({f"{DMI}/product_name": "KVM"}, "kvm", {"kvm": {}}),
        ({f"{DMI}/product_name": "Standard PC (Q35)", f"{DMI}/sys_vendor": "QEMU"}, "kvm", {"kvm": {}}),
        ({f"{DMI}/product_name": "VMware7,1"}, "vmware", {"vmware": {}}),
        ({f"{DMI}/product_name": "VirtualBox"}, "virtualbox", {"virtualbox": {}}),
        ({f"{DMI}/product_name": "Virtual Machine"}, "hyperv", {"hyperv": {}}),
        ({f"{DMI}/product_name": "HVM domU"}, "xenhvm", {"xen": {"context": "hvm", "privileged": False}}),
        (
            {"/dev/xen/evtchn": "", "/proc/xen/capabilities": "control_d\n"},
            "xen0",
            {"xen": {"context": "pv", "privileged": True}},
        ),
        ({f"{DMI}/sys_vendor": "Amazon EC2"}, "kvm", {"kvm": {"amazon": True}}),
        ({f"{DMI}/bios_vendor": "Google", f"{DMI}/sys_vendor": "Google"}, "gce", {"kvm": {"google": True}}),
        ({CLOCKS: "kvm-clock tsc acpi_pm\n"}, "kvm", {"kvm": {}}),
    ],
)
def test_virtual_machine_is_recognized_by_firmware_or_clock(
    tmp_path: Path, files: dict[str, str], virtual: str, hypervisors: Facts
) -> None:
    facts = collect(tmp_path, files)
    assert (facts["virtual"], facts["hypervisors"]) == (virtual, hypervisors)
    assert facts["is_virtual"] is (virtual != "xen0")


@pytest.mark.parametrize(
    ("files", "virtual", "details"),
    [
        ({"/proc/1/cgroup": f"1:cpu:/docker/{ID}\n"}, "docker", {"id": ID}),
        ({"/proc/1/cgroup": f"0::/system.slice/docker-{ID}.scope\n"}, "docker", {"id": ID}),
        (
            {"/proc/self/mountinfo": f"1 2 8:1 /var/lib/docker/containers/{ID}/hosts /etc/hosts rw - ext4 x rw\n"},
            "docker",
            {"id": ID},
        ),
        ({"/proc/1/cgroup": "1:cpu:/lxc/web1\n"}, "lxc", {"name": "web1"}),
        ({"/proc/1/cgroup": "0::/lxc.payload.web1\n"}, "lxc", {"name": "web1"}),
        ({"/proc/1/environ": "A=b\0container=lxc\0"}, "lxc", {}),
        ({"/run/.containerenv": 'engine="podman"\nid="abc123"\n'}, "podman", {"id": "abc123"}),
        ({"/run/.containerenv": ""}, "podman", {}),
        (
            {"/proc/1/environ": "container=systemd-nspawn\0", "/etc/machine-id": "4711\n"},
            "systemd_nspawn",
            {"id": "4711"},
        ),
        ({"/run/systemd/container": "lxc\n"}, "lxc", {}),
        ({"/proc/1/cgroup": f"0::/kubepods.slice/cri-containerd-{ID}.scope\n"}, "containerd", {"id": ID}),
        ({"/proc/1/cgroup": f"0::/kubepods.slice/crio-{ID}.scope\n"}, "crio", {"id": ID}),
        (
            {"/proc/self/mountinfo": "1 2 8:1 /var/lib/kubelet/pods/0815/etc-hosts /etc/hosts rw - ext4 x rw\n"},
            "container_other",
            {},
        ),
    ],
)
def test_container_is_recognized_by_the_traces_of_its_runtime(
    tmp_path: Path, files: dict[str, str], virtual: str, details: Facts
) -> None:
    facts = collect(tmp_path, files)
    assert facts == {"virtual": virtual, "is_virtual": True, "hypervisors": {virtual: details}}


def test_container_in_a_virtual_machine_is_a_container_with_both_hypervisors(tmp_path: Path) -> None:
    facts = collect(tmp_path, {"/proc/1/cgroup": f"1:cpu:/docker/{ID}\n", f"{DMI}/product_name": "KVM"})
    assert (facts["virtual"], facts["hypervisors"].keys()) == ("docker", {"docker", "kvm"})


def test_metal_is_physical_even_with_a_file_from_an_image(tmp_path: Path) -> None:
    facts = collect(tmp_path, {f"{DMI}/product_name": "PowerEdge", "/.dockerenv": "", CLOCKS: "tsc hpet\n"})
    assert facts == {"virtual": "physical", "is_virtual": False}


def test_image_without_proc_does_not_say_where_it_runs(tmp_path: Path) -> None:
    assert virtualization.collect(machine(tmp_path, {"/etc/hostname": "image"})) == {}


@pytest.mark.parametrize(
    ("files", "provider"),
    [
        ({f"{DMI}/sys_vendor": "Amazon EC2"}, "aws"),
        ({f"{DMI}/bios_vendor": "Google"}, "gce"),
        ({f"{DMI}/chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"}, "azure"),
    ],
)
def test_cloud_provider_is_named_by_the_firmware(tmp_path: Path, files: dict[str, str], provider: str) -> None:
    assert collect(tmp_path, files)["cloud"] == {"provider": provider}
