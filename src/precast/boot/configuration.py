"""Makes the configuration of a boot: user data overrides vendor data, and vendor data overrides the image's configuration.

Invalid input does not raise here: each problem becomes a finding, and the rest is used.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from precast.boot import downloads
from precast.boot.capabilities import Capability
from precast.boot.modules import registry, user_entries
from precast.boot.userdata import reader
from precast.boot.userdata.documents import Script, UserData

_UNKNOWN = "unknown"


class Configuration(NamedTuple):
    """The configuration that modules read: every value has the type that its module declares.

    `rejected` says what of the user data and vendor data is invalid and was left out, `findings` what else is wrong.
    """

    config: Mapping[str, Any] = {}
    scripts: Sequence[Script] = ()
    findings: Sequence[str] = ()
    rejected: Sequence[str] = ()

    def encoded(self) -> bytes:
        """Encode it for the state directory. It may contain secrets, so only root may read the file."""
        return msgspec.json.encode(self.config, enc_hook=str)


def make(
    values: Mapping[Capability, Any],
    base: Mapping[str, Any],
    once_directory: Path | None,
    system: Mapping[str, str] | None = None,
) -> Configuration:
    """Read user data and vendor data and merge them over the image's configuration. `system` is the result of `read_system`."""
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
    known = registry.list_schemas()
    whole = reader.combine(user, vendor, {key: value for key, value in base.items() if key in known})
    config, findings = registry.clean(whole.config)
    findings = [*whole.findings, *findings]
    # An invalid value of the image alone is nothing that somebody requested for this machine.
    requested = user.config.keys() | vendor.config.keys()
    rejected = [
        finding for finding in findings if not finding.is_warning and (not finding.path or finding.path[0] in requested)
    ]
    others = [finding for finding in findings if finding not in rejected]
    return Configuration(config, whole.scripts, list(map(str, others)), list(map(str, rejected)))


def read_system(root: Path) -> dict[str, str]:
    """Return the variables that describe the system below a root, by cloud-init's names."""
    told, kernel = user_entries.read_os_release(root), os.uname()
    return {
        "distro": told.get("ID", ""),
        "distro_version": told.get("VERSION_ID", ""),
        "distro_release": told.get("VERSION_CODENAME", ""),
        "variant": told.get("ID", ""),
        "kernel_release": kernel.release,
        "machine": kernel.machine,
    }


def make_variables(values: Mapping[Capability, Any], system: Mapping[str, str]) -> dict[str, Any]:
    """Return all variables of templates, by cloud-init's names."""
    names = {
        "instance_id": Capability.INSTANCE_ID,
        "local_hostname": Capability.HOSTNAME,
        "availability_zone": Capability.ZONE,
        "region": Capability.REGION,
        "platform": Capability.PLATFORM,
        "public_ssh_keys": Capability.PUBLIC_KEYS,
    }
    v1 = {name: values[capability] for name, capability in names.items() if capability in values}
    v1 = {**system, **v1, "public_ssh_keys": list(v1.get("public_ssh_keys", ()))}
    if "local_hostname" in v1:
        # The short name, even if the source gives a domain with it.
        v1["local_hostname"] = v1["local_hostname"].partition(".")[0]
    metadata = values.get(Capability.METADATA) or {}
    if "platform" in v1:
        v1["cloud_name"] = _find_cloud_name(v1["platform"], metadata)
        v1["cloud_id"] = v1["platform"] if v1["cloud_name"] == _UNKNOWN else v1["cloud_name"]
    return {**v1, "v1": v1, "ds": {"meta_data": metadata}}


def _find_cloud_name(platform: str, metadata: Mapping[str, Any]) -> str:
    """Return the name of the cloud, as cloud-init does: metadata may give it, and a seed alone does not tell it."""
    given = metadata.get("cloud-name")
    if isinstance(given, str) and given:
        return given.lower()
    return _UNKNOWN if platform == "nocloud" else platform


def _read_launch_index(metadata: Mapping[str, Any]) -> int | None:
    """Return this machine's number among the machines that were launched together."""
    for key in ("ami-launch-index", "launch-index", "launch_index"):
        text = str(metadata.get(key, ""))
        if text.isascii() and text.isdigit():
            return int(text[:9])
    return None
