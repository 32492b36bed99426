"""User data in all its forms becomes one configuration and scripts, within limits."""

import base64
import gzip
import io
from email.message import EmailMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.boot.userdata import encodings
from precast.boot.userdata.documents import ScriptKind, UserData
from precast.boot.userdata.reader import ReaderContext, combine, read
from tests.unit.boot.userdata.corpus import cloud_init

CONFIG = b"#cloud-config\nhostname: web\n"


def nothing(url: str) -> bytes:
    raise OSError("nothing is fetched here")


def got(data: bytes, **circumstances: Any) -> UserData:
    return read(data, ReaderContext(**{"fetch": nothing, **circumstances}))


@pytest.mark.parametrize(
    "data",
    [
        CONFIG,
        b"\n\n  #Cloud-Config\nhostname: web\n",
        b"\xef\xbb\xbf" + CONFIG,
        CONFIG.replace(b"\n", b"\r\n"),
        gzip.compress(CONFIG, mtime=0),
        base64.b64encode(CONFIG),
        base64.encodebytes(gzip.compress(CONFIG, mtime=0)),
        b"#cloud-config-archive\n- type: text/cloud-config\n  content: 'hostname: web'\n",
        b"#cloud-config-archive\n- |\n  #cloud-config\n  hostname: web\n",
        b"## template: jinja\n#cloud-config\nhostname: {{ v1.local_hostname }}\n",
        gzip.compress(b"## template: jinja\n#cloud-config\nhostname: {% if 1 > 0 %}web{% endif %}\n", mtime=0),
        b"#include\n# a comment\nhttp://127.0.0.1/x\n",
    ],
)  # fmt: skip
def test_every_packing_says_the_same(data: bytes) -> None:
    variables = {"v1": {"local_hostname": "web"}}
    user_data = got(data, variables=variables, fetch=lambda url: CONFIG)
    assert user_data.config == {"hostname": "web"}
    assert user_data.findings == []


def multipart(*parts: tuple[str, str, str]) -> bytes:
    message = MIMEMultipart()
    for kind, name, content in parts:
        part = MIMEText(content, kind)
        part.add_header("Content-Disposition", "attachment", filename=name)
        message.attach(part)
    return message.as_bytes()


def test_parts_of_a_message_are_merged_in_their_order() -> None:
    data = multipart(
        ("cloud-config", "a.yaml", "packages: [a]\nhostname: one"),
        ("x-shellscript", "b.sh", "#!/bin/sh\necho b"),
        ("cloud-boothook", "c", "#cloud-boothook\n#!/bin/sh\necho c"),
        ("cloud-config", "d.yaml", "packages: [b]\nmerge_how: list(append)+dict(recurse_list)+str()"),
        ("plain", "e", "#!/bin/sh\necho e"),
        ("x-shellscript-per-boot", "f.sh", "#!/bin/sh\necho f"),
    )
    user_data = got(gzip.compress(data))
    assert user_data.config == {"packages": ["a", "b"], "hostname": "one"}
    assert [(script.name, script.kind) for script in user_data.scripts] == [
        ("b.sh", ScriptKind.SCRIPT), ("c", ScriptKind.BOOTHOOK), ("e", ScriptKind.SCRIPT), ("f.sh", ScriptKind.PER_BOOT),
    ]  # fmt: skip
    assert user_data.scripts[1].content == b"#!/bin/sh\necho c"


def test_script_is_called_as_it_was_named_also_where_that_begins_as_the_data_does() -> None:
    script = "#!/bin/sh\n"
    user_data = got(multipart(("x-shellscript", "user-data.sh", script), ("x-shellscript", "z", script)))
    assert [script.name for script in user_data.scripts] == ["user-data.sh", "z"]
    unnamed = MIMEMultipart()
    unnamed.attach(MIMEText(script, "x-shellscript"))
    archive = b"#cloud-config-archive\n- '#!/bin/sh'\n- {filename: user-data-9, content: '#!/bin/sh'}\n"
    for data, names in (
        (script.encode(), ["part-001"]),
        (unnamed.as_bytes(), ["part-001"]),
        (archive, ["part-002", "user-data-9"]),
    ):
        assert [script.name for script in got(data).scripts] == names


def test_header_says_how_to_merge_where_the_part_does_not() -> None:
    message = MIMEMultipart()
    for text in ("packages: [a]", "packages: [b]"):
        part = MIMEText(text, "cloud-config")
        part["X-Merge-Type"] = "list(append)+dict(recurse_list)"
        message.attach(part)
    assert got(message.as_bytes()).config == {"packages": ["a", "b"]}


def test_samples_are_read_for_each_of_several_machines() -> None:
    place = cloud_init("tests-data") / "data"
    archive = (place / "filter_cloud_multipart.yaml").read_bytes()
    assert [len(got(archive, launch_index=number).scripts) for number in range(4)] == [0, 2, 1, 0]
    assert [got(archive, launch_index=number).config for number in (2, 3)] == [{}, {"blah": True}]
    message = (place / "filter_cloud_multipart_1.email").read_bytes()
    assert [got(message, launch_index=number).config for number in (2, 1)] == [{"b": "c"}, {}]


@pytest.mark.parametrize(("index", "has"), [(None, True), (5, True), (4, False)])
def test_part_for_another_machine_is_left_out(index: int | None, has: bool) -> None:
    user_data = got(b"#cloud-config\nlaunch-index: 5\nhostname: web\n", launch_index=index)
    assert ("hostname" in user_data.config) is has


def test_include_once_is_fetched_once_and_include_each_time(tmp_path: Path) -> None:
    fetched: list[str] = []

    def fetch(url: str) -> bytes:
        fetched.append(url)
        return CONFIG if len(fetched) == 1 else b"#cloud-config\nhostname: later\n"

    once = tmp_path / "once"
    data = b"#include-once\nhttp://127.0.0.1/a\n"
    assert [got(data, fetch=fetch, once_directory=once).config["hostname"] for _ in range(2)] == ["web", "web"]
    assert len(fetched) == 1
    kept = next(once.iterdir())
    assert (kept.stat().st_mode & 0o777, once.stat().st_mode & 0o777) == (0o600, 0o700)
    assert got(b"#include http://127.0.0.1/a", fetch=fetch, once_directory=once).config["hostname"] == "later"


def test_what_cannot_be_included_is_found_and_the_rest_counts() -> None:
    def fetch(url: str) -> bytes:
        if "bad" in url:
            raise OSError("refused")
        return CONFIG

    user_data = got(b"#include\nhttp://127.0.0.1/bad\nhttp://127.0.0.1/good\n", fetch=fetch)
    assert user_data.config == {"hostname": "web"}
    assert "refused" in user_data.findings[0].text


def test_includes_of_one_another_end() -> None:
    user_data = got(b"#include\nhttp://127.0.0.1/x\n", fetch=lambda url: b"#include\nhttp://127.0.0.1/x\n")
    assert "8 levels" in user_data.findings[0].text


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"#cloud-config\n" + b"a" * (encodings.MAX_BYTES + 1)),
        gzip.compress(gzip.compress(CONFIG, mtime=0), mtime=0)[:-3],
        b"\x1f\x8b" + b"junk",
        b"#cloud-config\n\xff\xfe",
        b"#cloud-config\n- a\n- b\n",
        b"#cloud-config\na: [1\n",
        b"#cloud-config-archive\nhostname: web\n",
        b"#cloud-config-jsonp\n[{'op': 'add'}]",
        b"## template: jinja\n#cloud-config\nhostname: {{ x + }}\n",
        b"#part-handler\nprint('x')\n",
        b"#upstart-job\n",
        b"nothing that is known",
        b"#cloud-config\nmerge_how: nonsense\n",
    ],
)
def test_what_is_wrong_is_found_with_a_hint(data: bytes) -> None:
    user_data = got(data)
    assert user_data.config == {}
    assert user_data.findings
    assert all(finding.hint for finding in user_data.findings)


def test_bomb_costs_little_memory() -> None:
    data = gzip.compress(bytes(1 << 28))
    import tracemalloc

    tracemalloc.start()
    got(data)
    assert tracemalloc.get_traced_memory()[1] < 3 * encodings.MAX_BYTES
    tracemalloc.stop()


def test_many_parts_are_bounded() -> None:
    user_data = got(b"#cloud-config-archive\n" + b"- 'a: 1'\n" * 5000)
    assert any("500" in finding.text for finding in user_data.findings)


def test_patches_are_applied_as_a_whole() -> None:
    data = multipart(
        ("cloud-config", "a", "packages: [a, b]\nx: 1"),
        (
            "cloud-config-jsonp",
            "b",
            '[{"op": "add", "path": "/packages/-", "value": "c"}, {"op": "remove", "path": "/x"}]',
        ),
        (
            "cloud-config-jsonp",
            "c",
            '[{"op": "add", "path": "/z", "value": 1}, {"op": "test", "path": "/z", "value": 2}]',
        ),
    )
    user_data = got(data)
    assert user_data.config == {"packages": ["a", "b", "c"]}
    assert len(user_data.findings) == 1


def test_vendor_counts_less_than_the_user_who_may_do_without() -> None:
    user = UserData({"hostname": "mine", "apt": {"proxy": "p"}})
    vendor = UserData({"hostname": "theirs", "apt": {"conf": "c"}, "timezone": "UTC"})
    assert combine(user, vendor, {"locale": "C"}).config == {
        "hostname": "mine", "apt": {"proxy": "p", "conf": "c"}, "timezone": "UTC", "locale": "C",
    }  # fmt: skip
    user.config["vendor_data"] = {"enabled": False}
    assert "timezone" not in combine(user, vendor, {}).config


def test_scripts_of_one_name_are_both_kept_under_plain_names() -> None:
    data = multipart(("x-shellscript", "../../etc/x", "#!/bin/sh\n1"), ("x-shellscript", "../../etc/x", "#!/bin/sh\n2"))
    names = [script.name for script in got(data).scripts]
    assert len(set(names)) == 2
    assert all("/" not in name and not name.startswith(".") for name in names)


@given(st.binary(max_size=200) | st.sampled_from([b"#cloud-config\n", b"#include\n", b"#cloud-config-archive\n"]).flatmap(
    lambda start: st.binary(max_size=100).map(lambda rest: start + rest)))  # fmt: skip
def test_any_bytes_are_read_without_a_crash(data: bytes) -> None:
    got(data)


def test_message_written_by_pythons_own_library_is_read() -> None:
    message = EmailMessage()
    message.set_content("x")
    message.add_attachment(CONFIG, maintype="text", subtype="cloud-config", filename="c")
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        file.write(message.as_bytes())
    assert got(packed.getvalue()).config == {"hostname": "web"}
