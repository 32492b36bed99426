"""Every data source reads its platform's answers: samples of real services, served by a real server on loopback."""

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, UnavailableError
from precast.boot import configuration
from precast.boot.capabilities import Capability
from precast.boot.sources.azure import Azure
from precast.boot.sources.configdrive import ConfigDrive
from precast.boot.sources.contract import DetectedSource, Evidence, InjectedFile, Source
from precast.boot.sources.digitalocean import DigitalOcean
from precast.boot.sources.ec2 import Ec2
from precast.boot.sources.gce import Gce
from precast.boot.sources.hetzner import Hetzner
from precast.boot.sources.lxd import Lxd
from precast.boot.sources.machine import Machine
from precast.boot.sources.openstack import OpenStack
from precast.boot.sources.oracle import Oracle
from precast.boot.sources.vmware import VMware
from precast.boot.sources.vultr import Vultr
from tests.unit.boot.http_servers import HttpRequest, Service, Writer, answer, served, silent

PLACE = os.environ.get("PRECAST_CORPORA", "")
SAMPLES = Path(PLACE) / "cloud-init" / "datasource-samples"
pytestmark = pytest.mark.skipif(
    not PLACE or not SAMPLES.is_dir(), reason="PRECAST_CORPORA names no data-source samples"
)


def sample(name: str) -> dict[str, Any]:
    constants: dict[str, Any] = json.loads((SAMPLES / f"test_{name}.json").read_text())["constants"]
    return constants


async def find(source: Source, tmp_path: Path, evidence: Evidence | None = None) -> DetectedSource:
    detected = await source.find(Machine(tmp_path, evidence or Evidence()))
    assert detected is not None
    return detected


async def values(detected: DetectedSource, *wanted: Capability) -> list[Any]:
    return [await detected.get(capability) if capability in detected.capabilities else None for capability in wanted]


def flattened(tree: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """A tree as EC2 serves it: a directory is a listing, a list has a line for each."""
    files = {}
    names = [f"{name}/" if isinstance(value, dict) else name for name, value in tree.items()]
    files[prefix] = "\n".join(names)
    for name, value in tree.items():
        if isinstance(value, dict):
            files |= flattened(value, f"{prefix}/{name}")
        else:
            files[f"{prefix}/{name}"] = "\n".join(value) if isinstance(value, list) else str(value)
    return files


async def test_ec2_with_a_token_gives_identity_keys_and_network(tmp_path: Path) -> None:
    meta = dict(sample("ec2")["DEFAULT_METADATA"])
    keys = meta.pop("public-keys")
    files = flattened(meta, "latest/meta-data")
    for number, (name, lines) in enumerate(keys.items()):
        files["latest/meta-data/public-keys"] = f"{number}={name}"
        files[f"latest/meta-data/public-keys/{number}/openssh-key"] = "\n".join(lines)
    service = Service({**files, "latest/user-data": "#!/bin/sh\n"})
    refused = []

    async def guarded(asked: HttpRequest, writer: Writer) -> None:
        if asked.method == "PUT" and asked.target == "/latest/api/token":
            assert asked.headers["x-aws-ec2-metadata-token-ttl-seconds"] == "21600"
            writer.write(answer(200, b"TOKEN=="))
        elif asked.headers.get("x-aws-ec2-metadata-token") != "TOKEN==":
            refused.append(asked.target)
            writer.write(answer(401))
        else:
            await service(asked, writer)

    async with served(guarded) as base:
        detected = await find(Ec2(base), tmp_path)
        assert detected.instance_id == "i-0a33f80f09c96477f"
        host, zone, key, user_data, network = await values(
            detected,
            Capability.HOSTNAME,
            Capability.ZONE,
            Capability.PUBLIC_KEYS,
            Capability.USER_DATA,
            Capability.NETWORK_CONFIG,
        )
    assert host == "ip-172-3-3-15.us-east-2.compute.internal"
    assert zone == "us-east-2b"
    assert await detected.get(Capability.REGION) == "us-east-2"
    assert key == ("ssh-rsa AAAAB3Nz....w== brickies",)
    assert user_data == b"#!/bin/sh\n"
    macs = [ethernet["match"]["macaddress"] for ethernet in network["ethernets"].values()]
    assert macs == ["06:17:04:d7:26:09", "06:17:04:d7:26:08"]
    assert network["ethernets"]["nic0"]["dhcp6"] is True
    assert refused == []


async def test_ec2_without_tokens_is_asked_as_before(tmp_path: Path) -> None:
    service = Service({"latest/meta-data/instance-id": "i-1"})
    async with served(service) as base:
        detected = await find(Ec2(base), tmp_path)
    assert detected.instance_id == "i-1"
    assert Capability.USER_DATA not in detected.capabilities


async def test_ec2_tells_a_template_all_but_credentials(tmp_path: Path) -> None:
    meta = {**sample("ec2")["DEFAULT_METADATA"], "iam": {"info": "x", "security-credentials": {"role": "SECRET"}}}
    del meta["public-keys"]
    files = flattened(meta, "latest/meta-data")
    text = "## template: jinja\n#cloud-config\nhostname: {{ ds.meta_data.public_ipv4 | replace('.', '-') }}\n"
    service = Service({**files, "latest/user-data": text})
    async with served(service) as base:
        detected = await find(Ec2(base), tmp_path)
        told = {
            capability: await detected.get(capability) for capability in (Capability.METADATA, Capability.USER_DATA)
        }
        asked = len(service.asked)
        plain = Service({**files, "latest/user-data": "#cloud-config\n"})
    assert told[Capability.METADATA]["iam"] == {"info": "x"}
    macs = told[Capability.METADATA]["network"]["interfaces"]["macs"]
    assert len(macs) == 2
    assert not any("SECRET" in str(each) or "credentials" in each.target for each in service.asked)
    assert configuration.make(told, {}, None).config["hostname"] == meta["public-ipv4"].replace(".", "-")
    async with served(plain) as base:
        assert (await (await find(Ec2(base), tmp_path)).get(Capability.METADATA))["instance-id"] == detected.instance_id
    assert len(plain.asked) < 12 < asked


@pytest.mark.parametrize("failing", ["/latest/meta-data/", "/latest/meta-data/iam/info"])
async def test_ec2_that_fails_at_one_question_answers_the_others(tmp_path: Path, failing: str) -> None:
    files = flattened({"instance-id": "i-1", "mac": "m", "iam": {"info": "x", "other": "y"}}, "latest/meta-data")
    service = Service({**files, "latest/user-data": "## template: jinja\n#cloud-config\n"})

    async def broken(asked: HttpRequest, writer: Writer) -> None:
        if asked.target == failing:
            writer.write(answer(400))
        else:
            await service(asked, writer)

    async with served(broken) as base:
        told = await (await find(Ec2(base), tmp_path)).get(Capability.METADATA)
    known = {"instance-id": "i-1", "mac": "m"}
    assert told == (known if failing.endswith("data/") else {**known, "iam": {"other": "y"}})


async def test_ec2_that_is_endless_is_asked_so_often_and_not_more(tmp_path: Path) -> None:
    count = 0

    async def endless(asked: HttpRequest, writer: Writer) -> None:
        nonlocal count
        count += 1
        body = b"i-1" if asked.target.endswith("instance-id") else b"a/\nb/\nc" if asked.target.endswith("/") else b"x"
        writer.write(answer(200 if asked.method == "GET" else 404, body))

    async with served(endless) as base:
        await (await find(Ec2(base), tmp_path)).get(Capability.METADATA)
    assert count < 400


async def test_ec2_answers_at_either_of_its_addresses(tmp_path: Path) -> None:
    async with served(silent) as mute, served(Service({"latest/meta-data/instance-id": "i-6"})) as base:
        detected = await find(Ec2(f"{mute},{base}"), tmp_path)
        assert detected.instance_id == "i-6"
        assert detected.origin == base
    with pytest.raises(UnavailableError, match=rf"{base}/latest/api/token does not answer"):
        await Ec2(f"{base},{base}").find(Machine(tmp_path, Evidence()))


async def test_openstack_joins_both_kinds_of_vendor_data(tmp_path: Path) -> None:
    files = {
        "openstack/latest/meta_data.json": '{"uuid": "u"}',
        "openstack/latest/vendor_data.json": '{"cloud-init": "#cloud-config\\ntimezone: A/B\\nlocale: a\\n"}',
        "openstack/latest/vendor_data2.json": '{"x": 1, "cloud-init": {"locale": "b"}}',
    }
    async with served(Service(files)) as base:
        data = await (await find(OpenStack(base), tmp_path)).get(Capability.VENDOR_DATA)
    made = configuration.make({Capability.VENDOR_DATA: data}, {}, None)
    assert made.findings == []
    assert (made.config["timezone"], made.config["locale"]) == ("A/B", "b")


async def test_openstack_gives_what_its_files_say_and_takes_a_password(tmp_path: Path) -> None:
    files = sample("openstack")["OS_FILES"]
    service = Service(files)

    async def with_posts(asked: HttpRequest, writer: Writer) -> None:
        if asked.method == "POST":
            service.asked.append(asked)
            writer.write(answer(200))
        else:
            await service(asked, writer)

    import asyncio

    async with served(with_posts) as base:
        detected = await find(OpenStack(base), tmp_path)
        assert detected.instance_id == "b0fa911b-69d4-4476-bbe2-1c92bff6535c"
        host, zone, keys, user_data, injected, post = await values(
            detected,
            Capability.HOSTNAME,
            Capability.ZONE,
            Capability.PUBLIC_KEYS,
            Capability.USER_DATA,
            Capability.FILES,
            Capability.PASSWORD_POST,
        )
        with pytest.raises(InputError, match="it contains no network device"):
            await detected.get(Capability.NETWORK_CONFIG)
        await asyncio.to_thread(post, b"ENCRYPTED")
    assert (host, zone) == ("sm-foo-test.novalocal", "nova")
    assert keys == ("ssh-rsa AAAAB3NzaC1....sIkJhq8wdX+4I3A4cYbYP ubuntu@server-460",)
    assert user_data == b"#!/bin/sh\necho This is user data\n"
    assert injected[0] == InjectedFile("/etc/foo.cfg", b"This is contents of /etc/foo.cfg\n")
    assert Capability.VENDOR_DATA not in detected.capabilities  # it has nothing below `cloud-init`
    posted = service.asked[-1]
    assert (posted.target, posted.body) == ("/openstack/2013-04-04/password", b"ENCRYPTED")


async def test_configdrive_in_a_seed_directory_is_read_like_the_service(tmp_path: Path) -> None:
    for path, text in sample("configdrive")["CFG_DRIVE_FILES_V2"].items():
        place = tmp_path / "var/lib/cloud/seed/config_drive" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    detected = await find(ConfigDrive(), tmp_path)
    assert detected.instance_id == "b0fa911b-69d4-4476-bbe2-1c92bff6535c"
    files, user_data, network = await values(
        detected, Capability.FILES, Capability.USER_DATA, Capability.NETWORK_CONFIG
    )
    assert [file.path for file in files] == ["/etc/foo.cfg", "/etc/bar/bar.cfg"]
    assert user_data.startswith(b"#!/bin/sh")
    assert len(network["ethernets"]) == 3


async def test_gce_gives_user_data_and_the_zone(tmp_path: Path) -> None:
    given = sample("gce")["GCE_USER_DATA_TEXT"]
    attributes = {**given["instance/attributes"], "ssh-keys": "cloudinit:ssh-rsa A me\nalice:ssh-rsa B alice"}
    project = {"ssh-keys": "ubuntu:ssh-ed25519 C"}
    files = {path: value for path, value in given.items() if isinstance(value, str)}
    files["instance/attributes/?recursive=true"] = json.dumps(attributes)
    files["project/attributes/?recursive=true"] = json.dumps(project)
    nics = [
        {"mac": "42:01:0A:80:00:02", "mtu": 1460, "ip": "10.128.0.2"},
        {"mac": "42:01:0a:80:00:03", "ipv6s": ["fd20::1"]},
    ]
    files["instance/network-interfaces/?recursive=true"] = json.dumps(nics)
    service = Service(files, Metadata_Flavor="Google")
    async with served(service) as base:
        detected = await find(Gce(base), tmp_path)
        first, second = (await detected.get(Capability.NETWORK_CONFIG))["ethernets"].values()
    assert first == {
        "match": {"macaddress": "42:01:0a:80:00:02"},
        "dhcp4": True,
        "dhcp4-overrides": {"route-metric": 100},
        "mtu": 1460,
    }
    assert second["dhcp6-overrides"] == {"route-metric": 200, "use-dns": False}
    assert detected.instance_id == "12345"
    assert await values(
        detected, Capability.HOSTNAME, Capability.ZONE, Capability.PUBLIC_KEYS, Capability.USER_DATA
    ) == [
        "server.project-baz.local",
        "bang",
        ("ssh-rsa A me", "ssh-ed25519 C"),
        given["instance/attributes"]["user-data"].encode(),
    ]
    assert all(asked.headers["metadata-flavor"] == "Google" for asked in service.asked)


async def test_gce_of_somebody_without_the_flavor_is_not_here(tmp_path: Path) -> None:
    async with served(Service({"instance/id": "1"})) as base:
        assert await Gce(base).find(Machine(tmp_path, Evidence())) is None


async def test_azure_gives_keys_and_prefers_custom_data(tmp_path: Path) -> None:
    meta = sample("azure")["NETWORK_METADATA"]
    meta["compute"]["userData"] = base64.b64encode(b"#cloud-config\n").decode()
    path = "metadata/instance?api-version=2021-08-01&extended=true"
    async with served(Service({path: json.dumps(meta)})) as base:
        detected = await find(Azure(base), tmp_path)
        assert detected.instance_id == "ff702a6b-cb6a-4fcd-ad68-b4ce38227642"
        host, region, keys, user_data, network = await values(
            detected,
            Capability.HOSTNAME,
            Capability.REGION,
            Capability.PUBLIC_KEYS,
            Capability.USER_DATA,
            Capability.NETWORK_CONFIG,
        )
        seed = tmp_path / "var/lib/waagent"
        seed.mkdir(parents=True)
        custom = base64.b64encode(b"#!custom").decode()
        (seed / "ovf-env.xml").write_text(f"<a><wa:CustomData>{custom}</wa:CustomData></a>")
        assert await (await find(Azure(base), tmp_path)).get(Capability.USER_DATA) == b"#!custom"
    assert (host, region, keys, user_data) == ("my-hostname", "eastus2", ("ssh-rsa key1",), b"#cloud-config\n")
    assert network["ethernets"]["nic0"]["match"] == {"macaddress": "00:0d:3a:04:75:98"}


async def test_digitalocean_gives_all_from_one_document(tmp_path: Path) -> None:
    given = sample("digitalocean")
    meta = {**given["DO_META"], "public_keys": given["DO_MULTIPLE_KEYS"]}
    async with served(Service({"metadata/v1.json": json.dumps(meta)})) as base:
        detected = await find(DigitalOcean(base), tmp_path)
        network = await detected.get(Capability.NETWORK_CONFIG)
    assert detected.instance_id == "22532410"
    assert await values(
        detected, Capability.HOSTNAME, Capability.USER_DATA, Capability.VENDOR_DATA, Capability.PUBLIC_KEYS
    ) == [
        "utl-96268",
        b"userdata goes here",
        b"vendordata goes here",
        tuple(given["DO_MULTIPLE_KEYS"]),
    ]
    assert "2604:a880:0800:0000:1000:0000:0000:0000/64" in network["ethernets"]["nic0"]["addresses"]


async def test_hetzner_gives_its_network_with_private_ones(tmp_path: Path) -> None:
    given = sample("hetzner")
    files = {"metadata": given["METADATA"], "metadata/private-networks": given["PRIVATE_NETWORKS"], "userdata": "#!x"}
    async with served(Service(files)) as base:
        detected = await find(Hetzner(base), tmp_path)
        network = await detected.get(Capability.NETWORK_CONFIG)
    assert detected.instance_id == "123456"
    assert await values(detected, Capability.HOSTNAME, Capability.USER_DATA, Capability.VENDOR_DATA) == [
        "cloudinit-test",
        b"#!x",
        b"test",
    ]
    assert "86:00:00:aa:5d:f8" in json.dumps(network)


async def test_oracle_is_addressed_as_oracle(tmp_path: Path) -> None:
    given = sample("oracle")
    files = {"v2/instance": given["OPC_V2_METADATA"], "v2/vnics": given["OPC_VM_SECONDARY_VNIC_RESPONSE"]}
    service = Service(files)
    async with served(service) as base:
        detected = await find(Oracle(base), tmp_path)
        network = await detected.get(Capability.NETWORK_CONFIG)
    assert detected.instance_id is not None
    assert detected.instance_id.startswith("ocid1.instance.")
    assert await values(detected, Capability.HOSTNAME, Capability.REGION, Capability.USER_DATA) == [
        "instance-20200320-1400",
        "us-phoenix-1",
        b"#!/bin/sh\ntouch /tmp/foo",
    ]
    assert network["ethernets"]["nic1"]["addresses"] == ["10.0.0.231/24"]
    assert {asked.headers["authorization"] for asked in service.asked} == {"Bearer Oracle"}


@pytest.mark.parametrize("which", ["VULTR_V1_1", "VULTR_V1_2"])
async def test_vultr_gives_keys_vendor_data_and_network(which: str, tmp_path: Path) -> None:
    meta = sample("vultr")[which]
    async with served(Service({"v1.json": json.dumps(meta)})) as base:
        detected = await find(Vultr(base), tmp_path)
        network = await detected.get(Capability.NETWORK_CONFIG)
    assert detected.instance_id == "29bea708-2e6e-480a-90ad-0e6b5d5ad62f"
    assert await values(detected, Capability.REGION, Capability.VENDOR_DATA, Capability.USER_DATA) == [
        "EWR",
        sample("vultr")["VENDOR_DATA"].encode(),
        None,
    ]
    assert len(network["ethernets"]) == len(meta["interfaces"])


async def test_lxd_is_asked_through_its_socket(tmp_path: Path) -> None:
    given = sample("lxd")
    config = given["LXD_V1_METADATA_NO_NETWORK_CONFIG"]["config"]
    files = {f"1.0/config/{name}": text for name, text in config.items()}
    files["1.0/config/cloud-init.network-config"] = json.dumps(given["NETWORK_V1"])
    listing = json.dumps([f"/{path}" for path in files])
    files |= {"1.0/meta-data": given["LXD_V1_METADATA_NO_NETWORK_CONFIG"]["meta-data"], "1.0/config": listing}
    (tmp_path / "dev/lxd").mkdir(parents=True)
    async with served(Service(files), tmp_path / "dev/lxd/sock"):
        detected = await find(Lxd(), tmp_path, Evidence(has_lxd=True))
    assert detected.instance_id == "my-lxc"
    assert await values(detected, Capability.HOSTNAME, Capability.VENDOR_DATA, Capability.NETWORK_CONFIG) == [
        "my-lxc",
        config["user.vendor-data"].encode(),
        given["NETWORK_V1"],
    ]


class GuestInfo(Machine):
    """A machine whose guest tools return these values."""

    def __init__(self, root: Path, info: Mapping[str, bytes]) -> None:
        super().__init__(root, Evidence(dmi={"sys_vendor": "VMware, Inc."}))
        self._info = info

    async def command(self, words: list[str], max_bytes: int = 0) -> bytes | None:
        return self._info.get(words[-1].removeprefix("info-get guestinfo."))


async def test_vmware_reads_guestinfo_plain_and_packed(tmp_path: Path) -> None:
    import gzip

    given = sample("vmware")
    access = GuestInfo(
        tmp_path,
        {
            "metadata": base64.b64encode(gzip.compress(given["VMW_METADATA_YAML"].encode())),
            "metadata.encoding": b"gzip+base64",
            "userdata": b"#!/bin/sh\n",
            "vendordata": base64.b64encode(given["VMW_VENDORDATA_YAML"].encode()),
            "vendordata.encoding": b"b64",
        },
    )
    detected = await VMware().find(access)
    assert detected is not None
    assert detected.instance_id == "cloud-vm"
    network, vendor = await values(detected, Capability.NETWORK_CONFIG, Capability.VENDOR_DATA)
    assert network["ethernets"]["nics"]["match"] == {"name": "ens*"}
    assert vendor == given["VMW_VENDORDATA_YAML"].encode()
