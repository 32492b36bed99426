"""Reads the image's own configuration from cloud-init's files: /etc/cloud/cloud.cfg, then cloud.cfg.d/*.cfg by name. Later files win."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from precast.base.errors import NotFoundError
from precast.boot.modules import user_entries
from precast.boot.sources import documents
from precast.boot.sources.machine import MAX_FILE_BYTES
from precast.boot.userdata import merge
from precast.resources.files import safe_reads

FILE, DIRECTORY = "/etc/cloud/cloud.cfg", "/etc/cloud/cloud.cfg.d"
# Our source name → cloud-init's name for it, and the key of its address.
_ADDRESSES = {
    "nocloud-net": ("NoCloud", "seedfrom"),
    "openstack": ("OpenStack", "metadata_urls"),
    "ec2": ("Ec2", "metadata_urls"),
    "gce": ("GCE", "metadata_url"),
    "hetzner": ("Hetzner", "metadata_url"),
}


def read(root: Path) -> dict[str, Any]:
    """Return the configuration, with this system's default user if it names none.

    Raises InputError BOOT-101, BOOT-104, BOOT-105 for an invalid file.
    """
    base = "" if root == Path("/") else str(root)
    config: dict[str, Any] = {}
    parents = safe_reads.root_parents(base)
    parts = [f"{DIRECTORY}/{name}" for name in safe_reads.list_names(parents, DIRECTORY) if name.endswith(".cfg")]
    for path in (FILE, *parts):
        try:
            content = safe_reads.read_file(parents, path, max_bytes=MAX_FILE_BYTES)
        except (OSError, NotFoundError):
            continue
        if content is not None:
            config = merge.fill(documents.read_map(path, content.data), config)
    return user_entries.add_default_user(config, root)


def read_source_list(config: Mapping[str, Any]) -> list[str]:
    """Return the valid names in cloud-init's datasource_list; empty if it is not a list."""
    listed = config.get("datasource_list")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def read_source_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the map below `datasource`, by cloud-init's names; empty if it is not a map."""
    settings = config.get("datasource")
    return settings if isinstance(settings, dict) else {}


def read_addresses(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the base addresses of sources that the image sets below `datasource`."""
    given = read_source_settings(config)
    addresses = {}
    for name, (theirs, key) in _ADDRESSES.items():
        section = given.get(theirs)
        value = section.get(key) if isinstance(section, dict) else None
        several = (
            [address for address in value if isinstance(address, str) and address] if isinstance(value, list) else []
        )
        # Only EC2 takes more than one address.
        address = ",".join(several) if name == "ec2" else several[0] if several else value
        if isinstance(address, str) and address:
            addresses[name] = address
    return addresses
