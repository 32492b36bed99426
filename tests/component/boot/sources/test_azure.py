"""Azure beyond its metadata service: the provisioning document, reports to the fabric, and certificates."""

import asyncio
import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, PrecastError, UnavailableError
from precast.boot.capabilities import Capability
from precast.boot.sources import azure, azure_fabric, azure_ovf
from precast.boot.sources.azure import Azure
from precast.boot.sources.contract import DetectedSource, Evidence
from precast.boot.sources.machine import Machine
from precast.boot.sources.probes import probe
from tests.unit.boot.http_servers import HttpRequest, Service, Writer, answer, served, silent

TAG = {"chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77", "product_uuid": "AB-CD"}
META = {"compute": {"vmId": "FF-1", "name": "box", "location": "westeurope"}, "network": {}}
GOAL = """<?xml version="1.0" encoding="utf-8"?>
<GoalState xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <Version>2012-11-30</Version>
  <Incarnation>3</Incarnation>
  <Machine><ExpectedState>Started</ExpectedState></Machine>
  <Container>
    <ContainerId>c-1</ContainerId>
    <RoleInstanceList>
      <RoleInstance>
        <InstanceId>i-1</InstanceId>
        <Configuration>
          <Certificates>http://168.63.129.16:80/machine/c-1/i-1?comp=certificates&amp;incarnation=3</Certificates>
        </Configuration>
      </RoleInstance>
    </RoleInstanceList>
  </Container>
</GoalState>
"""
OVF = """<?xml version="1.0" encoding="utf-8"?>
<ns0:Environment xmlns:ns0="http://schemas.dmtf.org/ovf/environment/1" xmlns:ns1="http://schemas.microsoft.com/windowsazure">
<ns1:ProvisioningSection><ns1:Version>1.0</ns1:Version>
<ns1:LinuxProvisioningConfigurationSet>
<ns1:ConfigurationSetType>LinuxProvisioningConfiguration</ns1:ConfigurationSetType>
<ns1:HostName>from-ovf</ns1:HostName><ns1:UserName>sam</ns1:UserName><ns1:UserPassword>a&amp;b</ns1:UserPassword>
<ns1:DisableSshPasswordAuthentication>false</ns1:DisableSshPasswordAuthentication>
<ns1:CustomData>I2Nsb3VkLWNvbmZpZwo=</ns1:CustomData>
</ns1:LinuxProvisioningConfigurationSet></ns1:ProvisioningSection></ns0:Environment>
"""


class Fabric(Service):
    """A wire server that records the reports in `told`."""

    def __init__(self, files: dict[str, str] | None = None, status: int = 200) -> None:
        super().__init__({azure.PATH: json.dumps(META), azure_fabric.GOAL_STATE: GOAL, **(files or {})})
        self.told: list[HttpRequest] = []
        self._status = status

    async def __call__(self, asked: HttpRequest, writer: Writer) -> None:
        if asked.method == "POST":
            self.told.append(asked)
            writer.write(answer(self._status))
        else:
            await super().__call__(asked, writer)


def machine(root: Path, dmi: dict[str, str] | None = None) -> Machine:
    return Machine(root, Evidence(dmi=TAG if dmi is None else dmi))


async def find(base: str, root: Path) -> DetectedSource:
    detected = await Azure(f"{base},{base}").find(machine(root))
    assert detected is not None
    return detected


def provisioned(root: Path, text: str = OVF) -> None:
    place = root / "var/lib/waagent"
    place.mkdir(parents=True)
    (place / "ovf-env.xml").write_text(text)


async def test_ready_is_told_with_the_names_of_the_goal_state(tmp_path: Path) -> None:
    fabric = Fabric()
    async with served(fabric) as base:
        tell = await (await find(base, tmp_path)).get(Capability.READY_POST)
        assert fabric.told == []  # only who is believed says so
        await asyncio.to_thread(tell)
    told = fabric.told[0]
    assert told.target == "/machine?comp=health"
    assert told.headers["x-ms-agent-name"] == "WALinuxAgent"
    assert told.headers["x-ms-version"] == "2012-11-30"
    assert told.headers["content-type"] == "text/xml; charset=utf-8"
    body = "".join(told.body.decode().split())
    assert "<GoalStateIncarnation>3</GoalStateIncarnation>" in body
    assert "<ContainerId>c-1</ContainerId>" in body
    assert "<InstanceId>i-1</InstanceId><Health><State>Ready</State></Health>" in body


async def test_fabric_that_refuses_is_an_error_in_one_line(tmp_path: Path) -> None:
    async with served(Fabric(status=400)) as base:
        tell = await (await find(base, tmp_path)).get(Capability.READY_POST)
        with pytest.raises(UnavailableError, match="was sent that the machine is ready, and responded with status 400"):
            await asyncio.to_thread(tell)


async def test_fabric_that_stays_silent_holds_nobody_past_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("precast.boot.sources.metadata_service.TELL_DEADLINE_S", 0.05)
    async with served(Fabric()) as base, served(silent) as other:
        detected = await Azure(f"{base},{other}").find(machine(tmp_path))
        assert detected is not None
        tell = await detected.get(Capability.READY_POST)
        with pytest.raises(UnavailableError, match=r"nothing for 0\.05 s"):
            await asyncio.to_thread(tell)


@pytest.mark.parametrize(
    "text", ["", "<GoalState/>", GOAL.replace("c-1</Cont", "</Cont"), "<!DOCTYPE x [<!ENTITY a 'b'>]>"]
)
def test_document_that_is_no_goal_state_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="goal should be one short line"):
        azure_fabric.parse_goal_state("goal", text.encode())


async def test_document_that_makes_no_sense_is_told_as_the_failure_it_is(tmp_path: Path) -> None:
    fabric = Fabric({azure.PATH: '{"compute": {"vmId": "<x>", "osProfile": 5}}'})
    async with served(fabric) as base:
        probed = await probe(Azure(f"{base},{base}"), machine(tmp_path))
        assert "osProfile" in probed.reason
        body = "".join(fabric.told[0].body.decode().split())
        assert "<State>NotReady</State><Details><SubStatus>ProvisioningFailed</SubStatus>" in body
        # If the firmware does not name Azure, no failure is reported.
        await probe(Azure(f"{base},{base}"), machine(tmp_path, {}))
    assert len(fabric.told) == 1


def test_reason_is_short_and_cannot_leave_its_element() -> None:
    body = azure_fabric.build_report(azure_fabric.GoalState("1", "c", "i"), "</Description>&" * 500).decode()
    assert body.count("</Description>") == 1
    assert len(body) < 4000


async def test_provisioning_gives_what_the_service_does_not_say(tmp_path: Path) -> None:
    provisioned(tmp_path)
    async with served(Fabric()) as base:
        detected = await find(base, tmp_path)
    assert detected.instance_id == "ff-1"
    wanted = (Capability.HOSTNAME, Capability.USER_DATA, Capability.PASSWORD_GET, Capability.VENDOR_DATA)
    host, data, password, wishes = [await detected.get(capability) for capability in wanted]
    assert (host, data, password) == ("from-ovf", b"#cloud-config\n", "a&b")
    assert wishes == b'#cloud-config\n{"user":{"name":"sam"},"ssh_pwauth":true}'


async def test_service_says_who_the_user_is_before_provisioning(tmp_path: Path) -> None:
    provisioned(tmp_path)
    profile = {"adminUsername": "ann", "computerName": "named", "disablePasswordAuthentication": "true"}
    meta = {"compute": {**META["compute"], "osProfile": profile}}
    async with served(Fabric({azure.PATH: json.dumps(meta)})) as base:
        detected = await find(base, tmp_path)
    assert await detected.get(Capability.HOSTNAME) == "named"
    assert await detected.get(Capability.VENDOR_DATA) == b'#cloud-config\n{"user":{"name":"ann"},"ssh_pwauth":false}'


async def test_provisioning_alone_is_enough_where_the_service_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure, "SERVICE_DEADLINE_S", 0.05)
    async with served(silent) as base:
        probed = await probe(Azure(f"{base},{base}"), machine(tmp_path))
        assert probed.reason.endswith("does not answer: nothing for 0.05 s")
        provisioned(tmp_path)
        probed = await probe(Azure(f"{base},{base}"), machine(tmp_path))
    assert probed.detected is not None
    assert probed.detected.instance_id == "ab-cd"
    assert Capability.NETWORK_CONFIG not in probed.detected.capabilities


def insert(image: Path, text: str = OVF) -> None:
    place = image.parent / "disc"
    place.mkdir(parents=True)
    (place / "ovf-env.xml").write_text(text)
    if shutil.which("genisoimage") is None:
        pytest.skip("genisoimage is not installed")
    subprocess.run(["genisoimage", "-quiet", "-R", "-o", str(image), str(place)], check=True)


async def test_disc_is_read_only_where_the_firmware_names_azure(tmp_path: Path) -> None:
    insert(tmp_path / "dev/sr0")
    async with served(Fabric()) as base:
        assert await (await find(base, tmp_path)).get(Capability.USER_DATA) == b"#cloud-config\n"
        other = await Azure(f"{base},{base}").find(machine(tmp_path, {}))
    assert other is not None
    assert Capability.USER_DATA not in other.capabilities


async def test_wrong_document_on_a_disc_is_told_as_the_failure_it_is(tmp_path: Path) -> None:
    insert(tmp_path / "dev/sr0", OVF.replace("I2Ns", "%%%%"))
    fabric = Fabric()
    async with served(fabric) as base:
        probed = await probe(Azure(f"{base},{base}"), machine(tmp_path))
    assert "ovf-env.xml on /dev/sr0" in probed.reason
    assert b"<State>NotReady</State>" in fabric.told[0].body


async def test_disc_is_not_looked_for_outside_of_the_root(tmp_path: Path) -> None:
    insert(tmp_path / "outside/sr0")
    (tmp_path / "root/dev").mkdir(parents=True)
    (tmp_path / "root/dev/sr0").symlink_to(tmp_path / "outside/sr0")
    async with served(Fabric()) as base:
        assert Capability.USER_DATA not in (await find(base, tmp_path / "root")).capabilities


async def test_disc_of_somebody_else_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/sr0").write_bytes(b"\0" * 100)
    async with served(Fabric()) as base:
        assert (await find(base, tmp_path)).instance_id == "ff-1"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", azure_ovf.Provisioning()),
        ("<UserPassword>REDACTED</UserPassword>", azure_ovf.Provisioning()),
        ("\ufeff<wa:UserName>x</wa:UserName>", azure_ovf.Provisioning(user="x")),
        ("<UserName><b>x</b></UserName>", azure_ovf.Provisioning()),
        ('<CustomData xsi:nil="true">eA==</CustomData>', azure_ovf.Provisioning(b"x")),
    ],
)
def test_provisioning_document_is_read_by_its_elements(text: str, wanted: azure_ovf.Provisioning) -> None:
    assert azure_ovf.parse("x", text.encode()) == wanted


@pytest.mark.parametrize(
    "text", ["<CustomData>%%%</CustomData>", "<HostName>a\nb</HostName>", "<HostName>\x1b</HostName>"]
)
def test_provisioning_document_that_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(PrecastError):
        azure_ovf.parse("x", text.encode())


def openssl(place: Path, *words: str, given: bytes = b"") -> bytes:
    return subprocess.run(["openssl", *words], cwd=place, input=given, capture_output=True, check=True).stdout


async def test_certificates_are_decrypted_with_a_key_made_for_that(tmp_path: Path) -> None:
    key = ["-newkey", "rsa:2048", "-keyout", "k.pem", "-out", "c.pem"]
    openssl(tmp_path, "req", "-x509", "-nodes", "-subj", "/CN=mine", *key)
    pfx = openssl(tmp_path, "pkcs12", "-export", "-inkey", "k.pem", "-in", "c.pem", "-password", "pass:")
    service = Fabric()

    async def guarded(asked: HttpRequest, writer: Writer) -> None:
        if "comp=certificates" not in asked.target:
            await service(asked, writer)
            return
        assert asked.target == "/machine/c-1/i-1?comp=certificates&incarnation=3"
        theirs = asked.headers["x-ms-guest-agent-public-x509-cert"]
        (tmp_path / "theirs.der").write_bytes(base64.b64decode(theirs))
        encrypt = ["cms", "-encrypt", "-des3", "-binary", "-outform", "DER"]
        openssl(tmp_path, "x509", "-inform", "DER", "-in", "theirs.der", "-out", "theirs.pem")
        data = base64.b64encode(openssl(tmp_path, *encrypt, "theirs.pem", given=pfx)).decode()
        writer.write(answer(200, f"<CertificateFile><Data>{data}</Data></CertificateFile>".encode()))

    async with served(guarded) as base:
        certificates: Any = await (await find(base, tmp_path)).get(Capability.CERTIFICATES)
    assert [certificate.strip() for certificate in certificates] == [(tmp_path / "c.pem").read_text().strip()]
