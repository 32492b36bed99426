"""Makes the configuration of a boot: the user's word wins over the vendor's, and that over the image's.

Nothing that somebody wrote raises here: what is wrong is a finding, and the rest is used.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from precast.boot import downloads
from precast.boot.capabilities import Capability
from precast.boot.modules import people, registry
from precast.boot.modules.shapes import Finding
from precast.boot.userdata import reader
from precast.boot.userdata.documents import Script, UserData


class Configuration(NamedTuple):
    """What the modules work with: every value has the shape that its module declares."""

    config: Mapping[str, Any] = {}
    scripts: Sequence[Script] = ()
    findings: Sequence[str] = ()

    def encoded(self) -> bytes:
        """As it is kept, for root only: there are secrets in it."""
        return msgspec.json.encode(self.config, enc_hook=str)


def make(
    values: Mapping[Capability, Any],
    base: Mapping[str, Any],
    once_directory: Path | None,
    system: Mapping[str, str] | None = None,
) -> Configuration:
    """Read user data and vendor data and put them over the image's configuration. `system` is what `system_of` says."""
    metadata = values.get(Capability.METADATA) or {}
    around = reader.ReaderContext(
        downloads.fetch,
        make_variables(values, system or {}),
        _read_launch_index(metadata),
        once_directory,
        is_vendor=False,
    )
    user = reader.read(values.get(Capability.USER_DATA, b""), around)
    vendor_data = values.get(Capability.VENDOR_DATA, b"")
    vendor = reader.read(vendor_data, around._replace(is_vendor=True), "vendor-data") if vendor_data else UserData()
    known = registry.shapes()
    whole = reader.combine(user, vendor, {key: value for key, value in base.items() if key in known})
    config, found = registry.clean(whole.config)
    return Configuration(config, whole.scripts, [_sentence(one) for one in (*whole.findings, *found)])


def read_system(root: Path) -> dict[str, str]:
    """What templates can name of the system below a root, as cloud-init calls it."""
    told, kernel = people.os_release(root), os.uname()
    return {
        "distro": told.get("ID", ""),
        "distro_version": told.get("VERSION_ID", ""),
        "distro_release": told.get("VERSION_CODENAME", ""),
        "variant": told.get("ID", ""),
        "kernel_release": kernel.release,
        "machine": kernel.machine,
    }


def make_variables(values: Mapping[Capability, Any], system: Mapping[str, str]) -> dict[str, Any]:
    """What templates can name, as cloud-init calls it."""
    names = {
        "instance_id": Capability.INSTANCE_ID,
        "local_hostname": Capability.HOSTNAME,
        "availability_zone": Capability.ZONE,
        "region": Capability.REGION,
        "platform": Capability.PLATFORM,
        "cloud_name": Capability.PLATFORM,
        "cloud_id": Capability.PLATFORM,
        "public_ssh_keys": Capability.PUBLIC_KEYS,
    }
    v1 = {name: values[capability] for name, capability in names.items() if capability in values}
    v1 = {**system, **v1, "public_ssh_keys": list(v1.get("public_ssh_keys", ()))}
    if "local_hostname" in v1:
        # The name alone, also where the source has a domain.
        v1["local_hostname"] = v1["local_hostname"].partition(".")[0]
    return {**v1, "v1": v1, "ds": {"meta_data": values.get(Capability.METADATA, {})}}


def _read_launch_index(metadata: Mapping[str, Any]) -> int | None:
    """Which of the machines that were started together this is."""
    for key in ("ami-launch-index", "launch-index", "launch_index"):
        text = str(metadata.get(key, ""))
        if text.isascii() and text.isdigit():
            return int(text[:9])
    return None


def _sentence(finding: Finding) -> str:
    return str(finding)
