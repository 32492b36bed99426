"""Compile workers as real processes: their results, their crashes, and that nothing leaks between them."""

import asyncio
import io
import os
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from lab.key_pairs import OPENSSL, PUBLIC, encrypt, make_pair
from precast.base import digests
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.catalog import body
from precast.catalog.exports import ExportedResource, digest_exports
from precast.lang.compile import CompileResult
from precast.lang.exports import ExportsAnswer, KnownExports
from precast.lang.inputs import DecryptionKey, ExportedQuery, Inputs
from precast.lang.node_answers import NodeData
from precast.lang.settings import Settings
from precast.lang.values.base import Sensitive
from precast.services.code.decryption import KeyDirectory
from precast.services.compile.messages import Begin, Compile, Compiled, encode_frame
from precast.services.compile.worker import Worker
from precast.services.compile.worker_requests import ServerRequests, WorkerRequests
from precast.services.compile.workers import Limits, Sources, Version, Workers
from precast.services.traces.chains import decode_links

NODE = NodeData.local("a.example.org", {"os": {"name": "Debian"}})


class Site:
    """Files of versions, and the workers that compile them."""

    def __init__(self, limits: Limits | None = None, requests: WorkerRequests | None = None) -> None:
        self._contents: dict[str, bytes] = {}
        self.loaded: list[str] = []
        self.exports: list[ExportedResource] = []
        self.asked: list[tuple[str, str, ExportedQuery]] = []
        sources = Sources(self._load, self._load_exports, requests=requests or ServerRequests())
        self.workers = Workers(sources, SystemClock(), limits)

    def version(self, files: Mapping[str, str], environment: str = "production") -> Version:
        known = {path: digests.of_bytes(text.encode()) for path, text in files.items()}
        self._contents.update((known[path], text.encode()) for path, text in files.items())
        return Version(environment, digests.of_bytes(repr(sorted(known.items())).encode()), known, {})

    async def _load_exports(self, environment: str, node: str, question: ExportedQuery) -> ExportsAnswer:
        self.asked.append((environment, node, question))
        answer = KnownExports(self.exports).find(node, question)
        self.exports.append(ExportedResource("late.example", "Notify", f"late {len(self.asked)}"))
        return answer

    async def _load(self, digest: str) -> bytes:
        self.loaded.append(digest)
        return self._contents[digest]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    yield made
    await made.workers.close()


def titles(compiled: Compiled) -> list[str]:
    assert compiled.error is None
    return [resource.title for resource in body.decode(compiled.body).resources if resource.type == "Notify"]


def children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


async def test_worker_fetches_the_files_it_needs_and_returns_its_trace(site: Site) -> None:
    version = site.version(
        {
            "manifests/site.pp": "include web",
            "modules/web/manifests/init.pp": "class web { notify { \"on ${facts['os']['name']}\": } }",
            "modules/web/files/big": "x" * 1000,
        }
    )
    compiled = await site.workers.compile(version, NODE)
    assert titles(compiled) == ["on Debian"]
    asked = [link.question for link in decode_links(compiled.links)]
    assert len(asked) == len(set(asked)) > 3
    # Unread files are not fetched, and no file is fetched twice.
    assert len(site.loaded) == 2
    await site.workers.compile(version, NODE)
    assert len(site.loaded) == 2


async def test_exports_are_asked_for_once_and_are_those_of_the_answer(site: Site) -> None:
    """The exports change after each request; a compile that asked twice would put another list under the digest of its trace."""
    version = site.version({"manifests/site.pp": "Notify <<| |>> notify { 'x': } Notify <<| |>>"})
    first = ExportedResource("b.example", "Notify", "first")
    site.exports = [first]
    compiled = await site.workers.compile(version, NODE)
    assert titles(compiled) == ["x", "first"]
    assert compiled.logs == ()
    question = ExportedQuery("Notify", None)
    assert site.asked == [("production", NODE.certname, question)]
    answers = [link.answer for link in decode_links(compiled.links) if link.question == question]
    assert answers == [digest_exports([first])]
    assert titles(await site.workers.compile(version, NODE)) == ["x", "first", "late 1"]


async def test_worker_of_a_server_without_exports_warns() -> None:
    site = Site()
    site.workers = Workers(Sources(site._load), SystemClock())
    version = site.version({"manifests/site.pp": "@@notify { 'x': } Notify <<| |>>"})
    compiled = await site.workers.compile(version, NODE)
    await site.workers.close()
    assert [level for level, _ in compiled.logs] == ["warning", "warning"]
    assert site.asked == []


async def test_language_error_is_a_result_with_its_location(site: Site) -> None:
    compiled = await site.workers.compile(site.version({"manifests/site.pp": "include nowhere"}), NODE)
    assert compiled.code is not None
    assert compiled.code.startswith("LANG-")
    assert "manifests/site.pp:1:" in (compiled.error or "")
    assert decode_links(compiled.links)


async def test_versions_that_define_the_same_names_are_isolated(site: Site) -> None:
    def files(word: str) -> dict[str, str]:
        return {
            "manifests/site.pp": "include same",
            "modules/same/manifests/init.pp": f"class same {{ notify {{ same::word(): }} $x = '{word}' notify {{ \"x $x\": }} }}",
            "modules/same/functions/word.pp": f"function same::word() {{ 'function {word}' }}",
        }

    first, second = site.version(files("one"), "one"), site.version(files("two"), "two")
    for _ in range(3):
        assert titles(await site.workers.compile(first, NODE)) == ["function one", "x one"]
        assert titles(await site.workers.compile(second, NODE)) == ["function two", "x two"]


async def test_worker_that_is_killed_fails_one_compile_and_the_next_works(site: Site) -> None:
    version = site.version(
        {"manifests/site.pp": "Integer[1, 3000].each |$n| { Integer[1, 1000].each |$m| { $x = $m } }"}
    )
    before = children()
    running = asyncio.create_task(site.workers.compile(version, NODE))
    while not (started := children() - before):
        await asyncio.sleep(0)
    os.kill(started.pop(), signal.SIGKILL)
    with pytest.raises(PrecastError) as caught:
        await running
    assert caught.value.code == "COMPILE-003"
    fine = site.version({"manifests/site.pp": "notify { 'fine': }"})
    assert titles(await site.workers.compile(fine, NODE)) == ["fine"]


async def test_endless_loop_is_killed_and_the_next_compile_works() -> None:
    site = Site(Limits(compile_s=1.0))
    endless = site.version(
        {"manifests/site.pp": "Integer[1, 1000000].each |$n| { Integer[1, 1000].each |$m| { $x = $m } }"}
    )
    with pytest.raises(PrecastError) as caught:
        await site.workers.compile(endless, NODE)
    assert caught.value.code == "COMPILE-001"
    await site.workers.close()


async def test_memory_bomb_is_stopped_by_its_limit() -> None:
    site = Site(Limits(memory_bytes=200 * 1024 * 1024))
    bomb = "$a = Integer[1, 2000000].map |$n| { \"a string of some length ${n} and more\" }\n$b = $a.map |$x| { [$x, $x] }\nnotify { 'x': }"
    with pytest.raises(PrecastError) as caught:
        await site.workers.compile(site.version({"manifests/site.pp": bomb}), NODE)
    assert caught.value.code == "COMPILE-002"
    fine = site.version({"manifests/site.pp": "notify { 'fine': }"})
    assert titles(await site.workers.compile(fine, NODE)) == ["fine"]
    await site.workers.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give its rights up")
async def test_worker_started_by_root_runs_as_nobody_without_network(site: Site) -> None:
    before = children()
    await site.workers.compile(site.version({"manifests/site.pp": "notify { 'x': }"}), NODE)
    (worker,) = children() - before
    status = Path(f"/proc/{worker}/status").read_text()
    assert "Uid:\t65534\t65534\t65534\t65534" in status
    assert "NoNewPrivs:\t1" in status
    assert Path(f"/proc/{worker}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()


async def test_idle_workers_are_ended() -> None:
    site = Site(Limits(idle_s=-1.0))
    before = children()
    await site.workers.compile(site.version({"manifests/site.pp": "notify { 'x': }"}), NODE)
    assert len(children() - before) == 1
    await site.workers.retire()
    assert children() == before


SECRET = "hunter22-secret"


@pytest.mark.parametrize(
    ("code", "is_shown"),
    [
        ('notice("it is ${plain}") warning($plain) notify { "x": }', True),
        ('fail("it is ${plain}")', True),
        ("$x = Integer($plain)", True),
        ("Integer[1] $x = $plain", False),
        (f"$y = Sensitive('{SECRET}') fail('on the line of the secret')", True),
        ('notify { "x ${plain}": }', False),
        ("notify { 'x': require => Notify[$plain] }", True),
        ("include $plain", False),
    ],
)
async def test_secret_is_in_no_log_error_or_problem_of_a_compile(site: Site, code: str, is_shown: bool) -> None:
    begin = "$secret = Sensitive(join(['hunter22', 'secret'], '-'))\n$plain = $secret.unwrap\n"
    compiled = await site.workers.compile(site.version({"manifests/site.pp": begin + code}), NODE)
    assert compiled.logs or compiled.error
    told = repr((compiled.logs, compiled.error, compiled.problems))
    assert SECRET not in told
    assert ("[redacted]" in told) == is_shown
    assert SECRET.encode() not in compiled.source_map
    assert SECRET.encode() not in compiled.links


async def test_secret_is_not_in_the_report_of_a_crash(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    outgoing = io.BytesIO()
    worker = Worker(io.BytesIO(), outgoing)

    def crash(inputs: Inputs, settings: Settings) -> CompileResult:
        with inputs.secrets.collecting():
            raise KeyError(Sensitive(SECRET).unwrap())

    monkeypatch.setattr("precast.services.compile.worker.compile_catalog", crash)
    frames = [encode_frame(Begin("production", {}, {}, b"", False)), encode_frame(Compile(NODE))]
    worker._incoming = io.BytesIO(b"".join(frames))
    worker.run()
    assert SECRET.encode() not in outgoing.getvalue()
    assert b"KeyError: '[redacted]'" in outgoing.getvalue()


HIERA = """\
version: 5
hierarchy:
  - {name: secrets, path: secrets.eyaml, lookup_key: eyaml_lookup_key,
     options: {pkcs7_private_key: keys/private_key.pkcs7.pem, pkcs7_public_key: keys/public_key.pkcs7.pem}}
"""


@pytest.mark.skipif(OPENSSL is None, reason="openssl makes the keys and envelopes")
async def test_encrypted_value_is_decrypted_by_the_server_for_its_environment_only(tmp_path: Path) -> None:
    make_pair(tmp_path / "production")
    encrypted = encrypt("hunter2", tmp_path / "production" / PUBLIC)
    files = {
        "hiera.yaml": HIERA,
        "data/secrets.eyaml": f"password: {encrypted}\n",
        "manifests/site.pp": "notify { 'x': message => lookup('password') }",
    }
    site = Site(requests=ServerRequests(KeyDirectory(tmp_path).find))
    try:
        compiled = await site.workers.compile(site.version(files), NODE)
        assert compiled.error is None
        assert "hunter2" in compiled.body.decode()
        (answer,) = [link.answer for link in decode_links(compiled.links) if isinstance(link.question, DecryptionKey)]
        assert len(answer) == 64
        other = await site.workers.compile(site.version(files, "staging"), NODE)
        assert other.code == "HIERA-051"
    finally:
        await site.workers.close()


@pytest.mark.skipif(OPENSSL is None, reason="openssl makes the keys and envelopes")
async def test_value_for_another_key_is_an_error_of_the_code(tmp_path: Path) -> None:
    make_pair(tmp_path / "production")
    make_pair(tmp_path / "other")
    encrypted = encrypt("hunter2", tmp_path / "other" / PUBLIC)
    site = Site(requests=ServerRequests(KeyDirectory(tmp_path).find))
    files = {"hiera.yaml": HIERA, "data/secrets.eyaml": f"p: {encrypted}\n", "manifests/site.pp": "notice(lookup('p'))"}
    try:
        compiled = await site.workers.compile(site.version(files), NODE)
        assert compiled.code == "HIERA-052"
        assert "secrets.eyaml" in (compiled.error or "")
    finally:
        await site.workers.close()
