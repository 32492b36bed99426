"""What the image itself says, where cloud-init has it: /etc/cloud/cloud.cfg, then cloud.cfg.d/*.cfg by name. Later files win."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from precast.boot.modules import people
from precast.boot.sources import documents
from precast.boot.sources.machine import MAX_FILE_BYTES
from precast.boot.userdata import merge
from precast.resources.files import safe_paths

FILE, DIRECTORY = "/etc/cloud/cloud.cfg", "/etc/cloud/cloud.cfg.d"
# By source of ours: cloud-init's name for it, and the key of its address.
_ADDRESSES = {
    "nocloud-net": ("NoCloud", "seedfrom"),
    "openstack": ("OpenStack", "metadata_urls"),
    "ec2": ("Ec2", "metadata_urls"),
    "gce": ("GCE", "metadata_url"),
    "hetzner": ("Hetzner", "metadata_url"),
}


def read(root: Path) -> dict[str, Any]:
    """The configuration, with the default user of this system if it names none.

    Raises InputError BOOT-101, BOOT-104, BOOT-105 for a file that is wrong.
    """
    base = "" if root == Path("/") else str(root)
    config: dict[str, Any] = {}
    for path in [Path(safe_paths.resolve(base, FILE, is_followed=True)), *_list_parts(base)]:
        try:
            data = path.read_bytes()[: MAX_FILE_BYTES + 1]
        except OSError:
            continue
        config = merge.fill(documents.read_map(str(path), data), config)
    return people.with_defaults(config, root)


def read_source_list(config: Mapping[str, Any]) -> list[str]:
    """cloud-init's datasource_list, as far as it is one."""
    found = config.get("datasource_list")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def read_source_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What stands below `datasource`, by cloud-init's names; nothing if that is no map."""
    found = config.get("datasource")
    return found if isinstance(found, dict) else {}


def read_addresses(config: Mapping[str, Any]) -> dict[str, str]:
    """Base addresses that the image names where cloud-init reads them, below `datasource`."""
    given = read_source_settings(config)
    found = {}
    for name, (theirs, key) in _ADDRESSES.items():
        section = given.get(theirs)
        value = section.get(key) if isinstance(section, dict) else None
        several = [one for one in value if isinstance(one, str) and one] if isinstance(value, list) else []
        # Of these only EC2 has more than one address.
        address = ",".join(several) if name == "ec2" else several[0] if several else value
        if isinstance(address, str) and address:
            found[name] = address
    return found


def _list_parts(base: str) -> list[Path]:
    directory = Path(safe_paths.resolve(base, DIRECTORY, is_followed=True))
    try:
        names = sorted(each.name for each in directory.iterdir() if each.suffix == ".cfg")
    except OSError:
        return []
    return [Path(safe_paths.resolve(base, f"{DIRECTORY}/{name}", is_followed=True)) for name in names]
