"""Reports to Azure's fabric, a service at its own address that marks a machine as failed if it does not report ready in time.

The fabric also has the machine's certificates, encrypted for the requester. The first request is for the goal state, a document with the
fabric's ids of this machine; only a few elements of it are read.
"""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, unescape

from precast.base import programs
from precast.boot.sources import documents, issues
from precast.boot.sources.metadata_service import MetadataClient

ADDRESS = "http://168.63.129.16"
HEADERS = {"x-ms-agent-name": "WALinuxAgent", "x-ms-version": "2012-11-30"}
GOAL_STATE, HEALTH = "machine/?comp=goalstate", "machine?comp=health"
MAX_REASON = 512
_COMMAND_S = 20.0
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE-----\n")
_REPORT = """<?xml version="1.0" encoding="utf-8"?>
<Health xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
  <GoalStateIncarnation>{incarnation}</GoalStateIncarnation>
  <Container>
    <ContainerId>{container}</ContainerId>
    <RoleInstanceList>
      <Role>
        <InstanceId>{instance}</InstanceId>
        <Health>{health}</Health>
      </Role>
    </RoleInstanceList>
  </Container>
</Health>
"""


class GoalState(NamedTuple):
    """The fabric's ids of this machine, and the address of its certificates; empty if it has none."""

    incarnation: str
    container: str
    instance: str
    certificates: str = ""


def parse_goal_state(where: str, data: bytes) -> GoalState:
    """Parse a goal state. Raises InputError BOOT-104, BOOT-105 if one of the three ids is missing."""
    text = documents.read_text(where, data.removeprefix(b"\xef\xbb\xbf"))
    incarnation, container, instance = [
        documents.read_name(f"{name} in {where}", _find_element(text, name))
        for name in ("Incarnation", "ContainerId", "InstanceId")
    ]
    return GoalState(incarnation, container, instance, _find_element(text, "Certificates"))


def _find_element(text: str, name: str) -> str:
    match = re.search(rf"<{name}>([^<]*)</{name}>", text)
    return unescape(match[1]).strip() if match else ""


def build_report(goal: GoalState, reason: str = "") -> bytes:
    """Build the report that the machine is ready or, with a reason, that it is not."""
    health = "<State>Ready</State>"
    if reason:
        words = escape(reason[:MAX_REASON])
        health = f"<State>NotReady</State><Details><SubStatus>ProvisioningFailed</SubStatus><Description>{words}</Description></Details>"
    return _REPORT.format(
        incarnation=escape(goal.incarnation),
        container=escape(goal.container),
        instance=escape(goal.instance),
        health=health,
    ).encode()


class Fabric:
    """A client of the fabric: it reports at every boot that the machine is ready, and fetches the certificates once per instance."""

    def __init__(self, client: MetadataClient) -> None:
        self._client = client.with_headers(HEADERS)

    @property
    def url(self) -> str:
        return self._client.url(HEALTH)

    async def goal_state(self) -> GoalState:
        """Fetch the goal state. Raises UnavailableError BOOT-100, and InputError for an invalid document."""
        where = self._client.url(GOAL_STATE)
        data = await self._client.get(GOAL_STATE)
        if data is None:
            raise issues.NO_ANSWER.error(url=where, reason="its status is 404")
        return parse_goal_state(where, data)

    async def report(self, reason: str = "") -> None:
        """Report that the machine is ready or, with a reason, that it is not. Raises UnavailableError BOOT-100, BOOT-112."""
        body = build_report(await self.goal_state(), reason)
        client = self._client.with_headers({"Content-Type": "text/xml; charset=utf-8"})
        status = await client.send(HEALTH, body)
        if status >= 300:
            what = "that the machine is not ready" if reason else "that the machine is ready"
            raise issues.NOT_TOLD.error(url=self.url, what=what, status=status)

    async def certificates(self) -> tuple[str, ...]:
        """Return the certificates of the machine, without their keys. Raises PrecastError if they cannot be fetched or decrypted."""
        goal = await self.goal_state()
        if not goal.certificates:
            return ()
        with tempfile.TemporaryDirectory(prefix="precast-boot-") as name:
            place = Path(name)
            ours = await asyncio.to_thread(_make_key, place)
            headers = {"x-ms-cipher-name": "DES_EDE3_CBC", "x-ms-guest-agent-public-x509-cert": ours}
            # The host in the document is untrusted; only its path is used.
            path = "machine/" + goal.certificates.partition("/machine/")[2]
            data = await self._client.with_headers(headers).get(path) or b""
            where = self._client.url(path)
            packed = documents.decode_bytes(where, _find_element(documents.read_text(where, data), "Data"), "base64")
            return await asyncio.to_thread(_decrypt, where, place, packed) if packed else ()


def _make_key(place: Path) -> str:
    """Make a key for this request; return its certificate on one line, as the fabric requires."""
    names = ["-keyout", "key.pem", "-out", "cert.pem"]
    _run_openssl(
        place, ["req", "-x509", "-nodes", "-subj", "/CN=LinuxTransport", "-days", "30", "-newkey", "rsa:3072", *names]
    )
    lines = (place / "cert.pem").read_text().splitlines()
    return "".join(line for line in lines if not line.startswith("-----"))


def _decrypt(where: str, place: Path, packed: bytes) -> tuple[str, ...]:
    opened = _run_openssl(
        place, ["cms", "-decrypt", "-inform", "DER", "-inkey", "key.pem", "-recip", "cert.pem", "-binary"], packed
    )
    read = ["pkcs12", "-nokeys", "-password", "pass:"]
    listed = _run_openssl(place, read, opened, is_tried=True) or _run_openssl(place, [*read, "-legacy"], opened)
    certificates = tuple(_PEM.findall(listed.decode(errors="replace")))
    if not certificates:
        raise issues.BAD_DOCUMENT.error(where=where, reason="it holds no certificate")
    return certificates


def _run_openssl(place: Path, words: list[str], given: bytes = b"", is_tried: bool = False) -> bytes:
    """Run openssl and return its output; with `is_tried` a failure returns nothing. Raises UnavailableError BOOT-113."""
    options = programs.StartOptions(directory=str(place), stdin=given, umask=0o077)
    try:
        ended = programs.run(["openssl", *words], _COMMAND_S, 8 * 1024 * 1024, options)
    except FileNotFoundError:
        reason = "is not installed"
    except (OSError, TimeoutError) as error:
        reason = f"could not be run: {error}"
    else:
        if ended.code == 0 or is_tried:
            return ended.out if ended.code == 0 else b""
        reason = f"failed: {' '.join(ended.error.decode(errors='replace').split())[-200:]}"
    raise issues.NO_PROGRAM.error(what="certificates of Azure", program="openssl", reason=reason)
