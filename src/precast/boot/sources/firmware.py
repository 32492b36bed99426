"""What firmware and kernel command line say about the platform: each cloud writes its name somewhere, and where is known.

One table, so that a platform that is confirmed rules out the others without any of them knowing of it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from precast.boot.sources.contract import Evidence, Likelihood, Plausibility


class Mark(NamedTuple):
    """Where a platform writes its name, and how that begins (small and capital letters are the same)."""

    entry: str
    start: str


# The tag of Azure's chassis is the same number on every machine; the others are names.
MARKS: Mapping[str, tuple[Mark, ...]] = {
    "azure": (Mark("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),),
    "gce": (Mark("product_name", "Google Compute Engine"), Mark("product_serial", "GoogleCloud-")),
    "digitalocean": (Mark("sys_vendor", "DigitalOcean"),),
    "hetzner": (Mark("sys_vendor", "Hetzner"),),
    "oracle": (Mark("chassis_asset_tag", "OracleCloud.com"),),
    "vultr": (Mark("sys_vendor", "Vultr"),),
    "vmware": (Mark("sys_vendor", "VMware"), Mark("product_name", "VMware")),
    "openstack": (
        Mark("product_name", "OpenStack Nova"),
        Mark("product_name", "OpenStack Compute"),
        Mark("chassis_asset_tag", "OpenStack"),
        Mark("chassis_asset_tag", "HUAWEICLOUD"),
        Mark("chassis_asset_tag", "OpenTelekomCloud"),
        Mark("chassis_asset_tag", "SAP CCloud VM"),
        Mark("chassis_asset_tag", "Samsung Cloud Platform"),
    ),
    "ec2": (
        Mark("sys_vendor", "Amazon EC2"),
        Mark("bios_vendor", "Amazon EC2"),
        Mark("product_uuid", "ec2"),
        Mark("product_serial", "ec2"),
    ),
}
# Platforms that others imitate behind firmware of their own: not ruled out by firmware that names none.
IMITATED = frozenset({"ec2", "openstack", "vmware"})


def find_platform(evidence: Evidence) -> tuple[str, str]:
    """The platform that the firmware names, and the words; empty if none."""
    said = {entry: text.lower() for entry, text in evidence.dmi.items()}
    for platform, marks in MARKS.items() if said else ():
        for mark in marks:
            if said.get(mark.entry, "").startswith(mark.start.lower()):
                text = evidence.dmi_value(mark.entry)
                return platform, f"firmware says {mark.entry} {text!r}"
    return "", ""


def judge_likelihood(name: str, evidence: Evidence) -> Likelihood:
    """What the firmware says about the platform of a source."""
    platform, words = find_platform(evidence)
    if platform == name:
        return Likelihood(Plausibility.CONFIRMED, words)
    if platform:
        return Likelihood(Plausibility.RULED_OUT, f"{words}, which is {platform}")
    if evidence.dmi and name not in IMITATED:
        vendor = evidence.dmi_value("sys_vendor") or evidence.dmi_value("product_name") or "another name"
        return Likelihood(Plausibility.RULED_OUT, f"its firmware would say so, and says {vendor!r}")
    return Likelihood(Plausibility.POSSIBLE, "nothing speaks for or against it")


class NamedSource(NamedTuple):
    """A data source that the kernel command line or the serial number names, with what follows after the semicolons."""

    name: str
    values: Mapping[str, str]
    where: str


def find_named_source(evidence: Evidence) -> NamedSource | None:
    """`ds=NAME;key=value;…` of the kernel command line, else of the SMBIOS serial number."""
    for word in evidence.command_line.split():
        key, _, value = word.partition("=")
        if key in ("ds", "ci.ds", "ci.datasource") and value:
            return _parse_named_source(value, "the kernel command line")
    serial = evidence.dmi_value("product_serial")
    return (
        _parse_named_source(serial.removeprefix("ds="), "the SMBIOS serial number")
        if serial.startswith("ds=")
        else None
    )


def _parse_named_source(text: str, where: str) -> NamedSource:
    name, *pairs = text.strip("'\"").split(";")
    values = {key: value for key, _, value in (pair.partition("=") for pair in pairs) if key}
    return NamedSource(name.lower(), values, where)
