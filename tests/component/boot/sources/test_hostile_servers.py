"""A hostile server in place of a metadata service is harmless: size, depth, time, redirects, types and paths are bounded."""

import asyncio
import base64
import gzip
import itertools
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError
from precast.boot.sources import vmware, web
from precast.boot.sources.configdrive import ConfigDrive
from precast.boot.sources.contract import Evidence, RetryPolicy, Source
from precast.boot.sources.digitalocean import DigitalOcean
from precast.boot.sources.ec2 import Ec2
from precast.boot.sources.hetzner import Hetzner
from precast.boot.sources.machine import MAX_ANSWER_BYTES, Machine
from precast.boot.sources.nocloud import NoCloud
from precast.boot.sources.openstack import OpenStack
from precast.boot.sources.probes import probe
from precast.boot.sources.vultr import Vultr
from tests.unit.boot.http_servers import Handler, HttpRequest, Service, Writer, answer, served, silent, trickling

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def saying(data: bytes) -> Handler:
    async def say(_: HttpRequest, writer: Writer) -> None:
        writer.write(data)

    return say


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (trickling, f"is larger than {MAX_ANSWER_BYTES} bytes"),
        (saying(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), "is larger than"),
        (saying(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"), "its length is '-5'"),
        (saying(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n"), "is larger than 65536 bytes"),
        (saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n"), "is larger than"),
        (saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "a chunk has no valid size"),
        (saying(answer(302, Location="http://127.0.0.1:1/evil")), "answers with a redirect to http://127.0.0.1:1/evil"),
        (saying(b"SSH-2.0-OpenSSH_9\r\n\r\n"), "does not speak HTTP"),
        (saying(b""), "it closed the connection"),
        (saying(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), "the answer is incomplete"),
        (saying(answer(503)), "its status is 503"),
        (saying(answer(200, b"{}" * 3)), "it is not JSON"),
        (saying(answer(200, b"[" * 100_000)), "it is not JSON"),
        (saying(answer(200, b'{"a":' * 100 + b"1" + b"}" * 100)), "nested more than 64 deep"),
        (saying(answer(200, b"[]")), "should be a map, but is a list"),
        (saying(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 1_000_000), "is larger than 65536 bytes"),
        (saying(b"HTTP/1.1 200 OK" + b" " * 10_000_000), "is larger than 65536 bytes"),
        (saying(b"HTTP/1.1 100 Continue\r\n\r\n"), "its status is 100"),
        (saying(CHUNKED + b"2\r\n{}" + b"x" * 100_000), "a chunk does not have"),
        (saying(CHUNKED + b"2" + b";x" * 100_000), "a chunk has no valid size"),
        (saying(CHUNKED + b"1\r\n{\r\n" * 100), "it closed the connection"),
        (saying(CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n"), "a chunk has no valid size"),
        (saying(answer(200, '{"droplet_id": "ü"}'.encode("latin-1"))), "it is not JSON"),
        (saying(answer(200, '{"droplet_id": 1}'.encode("utf-16"))), "it is not JSON"),
        (saying(answer(200, gzip.compress(b'{"droplet_id": 1}'), Content_Encoding="gzip")), "it is not JSON"),
        (saying(answer(200, b'{"droplet_id": "\\u0000\\n"}')), "should be one short line"),
    ],
)
async def test_strange_answer_is_a_reason_in_one_line(handler: Handler, said: str, tmp_path: Path) -> None:
    async with served(handler) as base, asyncio.timeout(60):
        probed = await probe(DigitalOcean(base), Machine(tmp_path, Evidence()))
    assert probed.detected is None
    assert said in probed.reason
    assert "\n" not in probed.reason


class Hurried(DigitalOcean):
    deadline_s = 0.05


async def dripping(_: HttpRequest, writer: Writer) -> None:
    """Send one byte at a time, which a timeout per read would not stop."""
    for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 60_000:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.01)


async def circling(asked: HttpRequest, writer: Writer) -> None:
    """Redirects every request to itself."""
    writer.write(answer(307, Location=f"http://{asked.headers['host']}{asked.target}"))


async def test_redirects_in_a_circle_are_not_followed_once(tmp_path: Path) -> None:
    async with served(circling) as base:
        probed = await probe(DigitalOcean(base), Machine(tmp_path, Evidence(dmi={"sys_vendor": "DigitalOcean"})))
    assert probed.reason == (
        f"{base}/metadata/v1.json answers with a redirect to {base}/metadata/v1.json, which is not followed"
    )


@pytest.mark.parametrize("handler", [silent, dripping])
@pytest.mark.parametrize("dmi", [{}, {"sys_vendor": "DigitalOcean"}], ids=["possible", "confirmed"])
async def test_silent_service_is_left_at_its_deadline(handler: Handler, dmi: dict[str, str], tmp_path: Path) -> None:
    async with served(handler) as base:
        probed = await probe(Hurried(base), Machine(tmp_path, Evidence(dmi=dmi)))
    assert probed.reason == "digitalocean had not answered after 0.05 s"


async def test_refused_service_is_left_at_once_unless_the_firmware_names_it(tmp_path: Path) -> None:
    async with served(silent) as base:
        pass
    probed = await probe(DigitalOcean(base), Machine(tmp_path, Evidence()))
    assert "does not answer: " in probed.reason
    probed = await probe(Hurried(base), Machine(tmp_path, Evidence(dmi={"sys_vendor": "DigitalOcean"})))
    assert probed.reason == "digitalocean had not answered after 0.05 s"


async def test_service_that_comes_late_is_found_where_it_is_asked_again(tmp_path: Path) -> None:
    service = Service({"x": "there"})
    calls = 0

    async def later(asked: HttpRequest, writer: Writer) -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            writer.write(answer(500))
        else:
            await service(asked, writer)

    async with served(later) as base:
        retry_policy = RetryPolicy(pause_s=0.0, is_retried=True)
        probed = await Machine(tmp_path, Evidence()).ask(f"{base}/x", retry_policy=retry_policy)
    assert probed.body == b"there"


META: dict[str, Any] = {"uuid": "u", "files": [{"path": "/etc/x", "content_path": "/content/0000"}]}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"path": "/etc/../../x", "content_path": "/content/0"}, "names the file /etc/../../x"),
        ({"path": "etc/x", "content_path": "/content/0"}, "names the file etc/x"),
        ({"path": "/etc/x", "content_path": "../../../etc/shadow"}, "names the file ../../../etc/shadow"),
        ({"path": "/etc/x", "content_path": 5}, "should be a text, but is a number"),
        ({"path": "/etc/x\n", "content_path": "content/0"}, "names the file"),
        ("x", "should be a map, but is a text"),
    ],
)
async def test_path_that_leaves_its_place_is_refused(row: object, said: str, tmp_path: Path) -> None:
    meta = {**META, "files": [row]}
    async with served(Service({"openstack/latest/meta_data.json": json.dumps(meta)})) as base:
        probed = await probe(OpenStack(base), Machine(tmp_path, Evidence()))
    assert probed.detected is None
    assert said in probed.reason


def bomb(size: int) -> bytes:
    """Compressed zero bytes of a given length."""
    packer = zlib.compressobj(wbits=31)
    return b"".join([*(packer.compress(b"\0" * 1_000_000) for _ in range(size // 1_000_000)), packer.flush()])


def test_compressed_guestinfo_is_unpacked_to_a_limit() -> None:
    packed = base64.b64encode(bomb(100_000_000))
    with pytest.raises(InputError, match="is larger than 8388608 bytes"):
        vmware.decode_value("guestinfo.userdata", packed, "gzip+base64")


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in itertools.pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "it is not YAML"),
        ("a: " + "[" * 5_000, "cannot be read"),
        ("a: " + "{b: " * 100 + "}" * 100, "cannot be read"),
        ("instance-id: x\n" + "k: v\n" * 100_000, "is larger than"),
        ("instance-id: !!python/object/apply:os.system [id]\n", "cannot be read"),
    ],
)
async def test_hostile_yaml_is_refused_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    async with served(Service({"metadata": text})) as base:
        probed = await probe(Hetzner(base), Machine(tmp_path, Evidence()))
    assert probed.detected is None
    assert said in probed.reason
    assert "\n" not in probed.reason
    assert "this is a bug" not in probed.reason


WRONG: list[tuple[Callable[[str], Source], dict[str, str]]] = [
    (Vultr, {"v1.json": '{"instance-v2-id": ["x"]}'}),
    (Vultr, {"v1.json": '{"instance-v2-id": "x", "user-data": {"a": 1}}'}),
    (Vultr, {"v1.json": '{"instance-v2-id": "x", "public-keys": [[5]]}'}),
    (Hetzner, {"metadata": "instance-id: {a: b}\n"}),
    (OpenStack, {"openstack/latest/meta_data.json": '{"uuid": null}'}),
    (OpenStack, {"openstack/latest/meta_data.json": '{"uuid": "a\\nb"}'}),
    (Ec2, {"latest/meta-data/instance-id": "x" * 1000}),
    (Ec2, {"latest/meta-data/instance-id": "a\x1b[31m"}),
]


@pytest.mark.parametrize(("source", "files"), WRONG)
async def test_wrong_type_is_refused_and_never_passed_on(
    source: Callable[[str], Source], files: dict[str, str], tmp_path: Path
) -> None:
    async with served(Service(files)) as base:
        probed = await probe(source(base), Machine(tmp_path, Evidence()))
    assert probed.detected is None
    assert " should be " in probed.reason
    assert "this is a bug" not in probed.reason


@pytest.mark.parametrize("interfaces", ["x", [5], {"a": 1}, [{"mac": 5, "ipv4": "x"}]])
async def test_network_that_makes_no_sense_costs_the_network_alone(interfaces: object, tmp_path: Path) -> None:
    from precast.base.errors import PrecastError
    from precast.boot.capabilities import Capability

    meta = {"instance-v2-id": "x", "interfaces": interfaces}
    async with served(Service({"v1.json": json.dumps(meta)})) as base:
        probed = await probe(Vultr(base), Machine(tmp_path, Evidence()))
    assert probed.detected is not None
    try:
        await probed.detected.get(Capability.NETWORK_CONFIG)
    except PrecastError as error:
        assert error.code == "BOOT-104"  # noqa: PT017 - some of these convert to a document, which its reader refuses


@pytest.mark.parametrize("text", ["{", "\xff: [", "[]", "a: &a [*a]"])
async def test_broken_network_document_costs_the_network_alone(text: str, tmp_path: Path) -> None:
    from precast.base.errors import PrecastError
    from precast.boot.capabilities import Capability

    place = tmp_path / "var/lib/cloud/seed"
    for path, data in {
        "nocloud/meta-data": "instance-id: i-1\n",
        "nocloud/network-config": text,
        "config_drive/openstack/latest/meta_data.json": '{"uuid": "i-1"}',
        "config_drive/openstack/latest/network_data.json": text,
    }.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(data, encoding="latin-1")
    for source in (NoCloud(), ConfigDrive()):
        probed = await probe(source, Machine(tmp_path, Evidence()))
        assert probed.detected is not None
        assert probed.detected.instance_id == "i-1"
        with pytest.raises(PrecastError):
            await probed.detected.get(Capability.NETWORK_CONFIG)


@pytest.mark.parametrize("url", ["ftp://x/", "http://", "http://u:p@h/", "http://h/a b", "http://h:x/", "gopher:x"])
async def test_address_that_is_none_is_refused(url: str) -> None:
    from precast.base.errors import InputError

    with pytest.raises(InputError, match="is not a valid address of a data source"):
        await web.ask(url, "GET", {}, b"", 10, None)


def test_resolver_that_hangs_keeps_nobody_past_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop ends while the look-up still hangs: it is abandoned, not awaited."""
    import socket
    import threading

    may_end, is_looking = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        is_looking.set()
        assert may_end.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    probed = asyncio.run(probe(Hurried("http://metadata.invalid"), Machine(tmp_path, Evidence())))
    assert is_looking.is_set()
    assert probed.reason == "digitalocean had not answered after 0.05 s"
    assert not may_end.is_set()
    may_end.set()


async def test_name_that_is_not_known_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def unknown(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    probed = await probe(DigitalOcean("http://metadata.invalid"), Machine(tmp_path, Evidence()))
    assert probed.reason.endswith("does not answer: Name or service not known")
