"""Files from a web server, set in place by real Puppet and by Precast: what each says that it changed, and when it changes nothing."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from lab.http_files import HttpFiles, Page

PRECAST = str(Path(sys.executable).with_name("precast"))
DEADLINE_S = 120.0
BODY = b"hello\n"
OLD = "Tue, 01 Jan 2019 00:00:00 GMT"
SHA256 = hashlib.sha256(BODY).hexdigest()

pytestmark = pytest.mark.skipif(shutil.which("puppet") is None, reason="real Puppet is not installed (puppet-agent)")


class Case(NamedTuple):
    """What the server says, what the resource wants besides, and whether there is a file that is as new as the server's."""

    headers: dict[str, str]
    more: str = ""
    present: str | None = None


CASES = {
    "time": Case({"Last-Modified": OLD}),
    "time_present": Case({"Last-Modified": OLD}, present="other"),
    "sha256": Case({"X-Checksum-Sha256": SHA256, "Last-Modified": OLD}),
    "sha256_present": Case({"X-Checksum-Sha256": SHA256, "Last-Modified": OLD}, present="other"),
    "sha256_equal": Case({"X-Checksum-Sha256": SHA256}, present=BODY.decode()),
    "sha1": Case({"X-Checksum-Sha1": hashlib.sha1(BODY).hexdigest()}),
    "md5": Case({"Content-MD5": "sZRqySSS0jR8YjW00mERhA=="}, present="other"),
    "value": Case({"Last-Modified": OLD}, f"checksum_value => '{SHA256}',", present="other"),
    "value_equal": Case({"Last-Modified": OLD}, f"checksum_value => '{SHA256}',", present=BODY.decode()),
    "kind": Case({"Last-Modified": OLD, "X-Checksum-Sha256": SHA256}, "checksum => 'mtime',", present="other"),
}


def manifest(place: Path, server: HttpFiles) -> Path:
    """One file for each case below a directory, where some are already."""
    place.mkdir()
    for name, case in CASES.items():
        server.pages[f"/{name}"] = Page(BODY, headers=case.headers)
        if case.present is not None:
            (place / name).write_text(case.present)
    resources = [
        f"file {{ '{place}/{name}': source => '{server.url(f'/{name}')}', {case.more} }}"
        for name, case in CASES.items()
    ]
    written = place.with_suffix(".pp")
    written.write_text("\n".join(resources))
    return written


def changed(words: list[str], home: Path) -> set[str]:
    """The files that a run says it changed."""
    environment = {**os.environ, "HOME": str(home), "no_proxy": "127.0.0.1", "NO_COLOR": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode in (0, 2), done.stdout + done.stderr
    return {name for name in CASES for line in done.stdout.splitlines() if f"/{name}]" in line}


def test_both_change_the_same_files_and_leave_the_same(tmp_path: Path) -> None:
    with HttpFiles() as server:
        said: dict[str, list[set[str]]] = {}
        for who in ("puppet", "precast"):
            written = manifest(tmp_path / who, server)
            common = [
                "puppet",
                "apply",
                "--color",
                "false",
                "--confdir",
                str(tmp_path / "c"),
                "--vardir",
                str(tmp_path / "v"),
            ]
            words = (
                [*common, str(written)]
                if who == "puppet"
                else [PRECAST, "apply", str(written), "--state", str(tmp_path / "s")]
            )
            said[who] = [changed(words, tmp_path), changed(words, tmp_path)]
    assert said["precast"] == said["puppet"]
    assert said["puppet"][0] == {"time", "sha256", "sha256_present", "sha1", "md5", "value"}
    assert said["puppet"][1] == set()
    found = [{name: (tmp_path / who / name).read_text() for name in CASES} for who in ("puppet", "precast")]
    assert found[0] == found[1]
