"""Identifies the platform by the firmware and the kernel command line: each cloud writes its name to a known place.

It is one table for all platforms, so that a confirmed platform rules out the others.
"""

from collections.abc import Mapping
from typing import NamedTuple

from precast.boot.sources.contract import Evidence, Likelihood, Plausibility


class Mark(NamedTuple):
    """The DMI entry that holds a platform's name, and the beginning of its text, without regard to case."""

    entry: str
    start: str


# Azure's chassis tag is the same number on every machine; the other texts are names.
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
# Platforms that other vendors imitate with their own firmware: unknown firmware does not rule them out.
IMITATED = frozenset({"ec2", "openstack", "vmware"})


def find_platform(evidence: Evidence) -> tuple[str, str]:
    """Return the platform that the firmware names, and the reason; empty if none."""
    said = {entry: text.lower() for entry, text in evidence.dmi.items()}
    for platform, marks in MARKS.items() if said else ():
        for mark in marks:
            if said.get(mark.entry, "").startswith(mark.start.lower()):
                text = evidence.dmi_value(mark.entry)
                return platform, f"firmware says {mark.entry} {text!r}"
    return "", ""


def judge_likelihood(name: str, evidence: Evidence) -> Likelihood:
    """Return how likely the firmware makes a source's platform."""
    platform, words = find_platform(evidence)
    if platform == name:
        return Likelihood(Plausibility.CONFIRMED, words)
    if platform:
        return Likelihood(Plausibility.RULED_OUT, f"{words}, which is {platform}")
    if evidence.dmi and name not in IMITATED:
        vendor = evidence.dmi_value("sys_vendor") or evidence.dmi_value("product_name") or "another name"
        return Likelihood(Plausibility.RULED_OUT, f"the firmware would name it, but says {vendor!r}")
    return Likelihood(Plausibility.POSSIBLE, "there is no evidence for or against it")


class NamedSource(NamedTuple):
    """A data source that the kernel command line or the serial number names, with the values after the semicolons."""

    name: str
    values: Mapping[str, str]
    where: str


def find_named_source(evidence: Evidence) -> NamedSource | None:
    """Parse `ds=NAME;key=value;…` of the kernel command line, else of the SMBIOS serial number."""
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
