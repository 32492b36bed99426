"""All data sources by name. A source is imported when it is chosen, since most machines need few."""

import importlib
from collections.abc import Mapping

from precast.boot.sources.contract import Source

SOURCE_CLASSES: Mapping[str, str] = {
    "nocloud": "nocloud:NoCloud",
    "nocloud-net": "nocloud:NoCloudNet",
    "configdrive": "configdrive:ConfigDrive",
    "vmware": "vmware:VMware",
    "lxd": "lxd:Lxd",
    "azure": "azure:Azure",
    "gce": "gce:Gce",
    "digitalocean": "digitalocean:DigitalOcean",
    "hetzner": "hetzner:Hetzner",
    "oracle": "oracle:Oracle",
    "vultr": "vultr:Vultr",
    "openstack": "openstack:OpenStack",
    "ec2": "ec2:Ec2",
    "plain": "plain:Plain",
}
# The names in cloud-init's datasource_list and `ds=`, in lower case, where they differ from ours.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "nocloud": ("nocloud", "nocloud-net"),
    "nocloud-net": ("nocloud", "nocloud-net"),
}


def make_source(name: str, address: str = "") -> Source:
    """Make a source, with its default address unless another is given."""
    module, _, cls = SOURCE_CLASSES[name].partition(":")
    made: Source = getattr(importlib.import_module(f"precast.boot.sources.{module}"), cls)(
        *([address] if address else [])
    )
    return made
