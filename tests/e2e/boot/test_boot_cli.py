"""`precast boot` on the command line, on a scratch root with a seed; every user error is one clear line."""

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.boot.http_servers import Service, served

PRECAST = Path(sys.executable).with_name("precast")
SEED = "var/lib/cloud/seed/nocloud"
USER_DATA = """#cloud-config
hostname: alpha
write_files:
  - {path: /etc/motd.d/hello, content: "Hello\\n", permissions: '0640'}
  - {path: /etc/secret, content: s3cret, permissions: '0600'}
"""


def precast(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PRECAST_BOOT")}
    return subprocess.run(
        [PRECAST, "boot", *words],
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with users and a seed, and no programs."""
    place = tmp_path / "root"
    (place / SEED).mkdir(parents=True)
    (place / "etc").mkdir()
    (place / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (place / "etc/group").write_text("root:x:0:\n")
    (place / SEED / "meta-data").write_text("instance-id: i-1\nlocal-hostname: beta\n")
    (place / SEED / "user-data").write_text(USER_DATA)
    return place


def test_run_with_a_seed_directory_writes_files_and_names_the_machine(root: Path) -> None:
    done = precast("run", "--root", str(root))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (root / "etc/hostname").read_text() == "alpha\n"
    assert (root / "etc/motd.d/hello").read_text() == "Hello\n"
    assert stat.S_IMODE((root / "etc/motd.d/hello").stat().st_mode) == 0o640
    assert "source nocloud: here: directory /var/lib/cloud/seed/nocloud, instance i-1" in done.stdout
    assert "2 done, 0 failed, 0 not run" in done.stdout.splitlines()[-2]


def test_run_tells_of_what_was_asked_for_and_of_the_rest_if_all_is_wanted(root: Path) -> None:
    done = precast("run", "--root", str(root))
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    told = {line.partition(":")[0] for line in lines[:-1]}
    assert told == {"source nocloud", "hostname", "write_files/files of root", "instance i-1"}
    assert not any("not run: " in line for line in lines)
    assert lines[-1].endswith("more had nothing to do: --all shows them")
    every = precast("run", "--root", str(root), "--all").stdout
    assert "scripts: not run: there are no scripts of this kind" in every
    assert "source configdrive: absent" in every
    assert "more had nothing to do" not in every


def test_run_leaves_no_secret_that_others_can_read(root: Path) -> None:
    assert precast("run", "--root", str(root)).returncode == 0
    state = root / "var/lib/precast/boot"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    kept = [path for path in state.rglob("*") if path.is_file()]
    assert any(b"s3cret" in path.read_bytes() for path in kept)
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert b"s3cret" not in (state / "record.jsonl").read_bytes()


def test_run_for_the_same_instance_does_what_is_due_only(root: Path) -> None:
    assert precast("run", "--root", str(root)).returncode == 0
    (root / "etc/motd.d/hello").unlink()
    again = precast("run", "--root", str(root))
    assert again.returncode == 0
    assert "hostname: not run: it has already run for this instance" in again.stdout
    assert not (root / "etc/motd.d/hello").exists()
    (root / SEED / "meta-data").write_text("instance-id: i-2\n")
    assert precast("run", "--root", str(root)).returncode == 0
    assert (root / "etc/motd.d/hello").exists()


def test_run_that_is_dry_says_what_it_would_do_and_changes_nothing(root: Path) -> None:
    before = sorted(str(path) for path in root.rglob("*"))
    done = precast("run", "--root", str(root), "--dry-run")
    assert done.returncode == 0
    assert "/etc/motd.d/hello" in done.stdout
    assert "dry run: nothing was changed" in done.stdout
    assert sorted(str(path) for path in root.rglob("*")) == before


def test_run_of_a_failing_module_says_which_and_exits_1(root: Path) -> None:
    (root / SEED / "user-data").write_text("#cloud-config\nruncmd: [date]\n")
    done = precast("run", "--root", str(root))
    assert done.returncode == 1
    assert "runcmd: failed: runcmd (1 commands) is not possible below" in done.stdout
    status = precast("status", "--root", str(root))
    assert status.returncode == 1
    assert "runcmd: failed" in status.stdout


def test_line_of_mounts_that_is_not_written_shows_in_the_status_and_the_exit_code(root: Path) -> None:
    lines = "[shared, /mnt/shared, virtiofs, nofail, '0', '0'], [a, /b, c, d, e, f, g], [{wrong: kind}, /x]"
    (root / SEED / "user-data").write_text(f"#cloud-config\nmounts: [{lines}]\nbogus_key: 1\n")
    assert precast("run", "--root", str(root)).returncode == 1
    fstab = (root / "etc/fstab").read_text()
    assert fstab == "shared\t/mnt/shared\tvirtiofs\tnofail,x-precast-boot\t0\t0\n"
    status = precast("status", "--root", str(root))
    assert status.returncode == 1
    assert (
        "mounts: failed: some entries of mounts and swap failed, the others were applied: line 2 of mounts"
        in status.stdout
    )
    assert "line 3 of mounts" in status.stdout
    # Keys that are not used show too, though the boot is complete without them.
    assert "warning: bogus_key: is not a known key" in status.stdout


def test_value_that_is_not_carried_out_shows_in_the_status_and_the_exit_code(root: Path) -> None:
    (root / SEED / "user-data").write_text(
        "#cloud-config\nssh_pwauth: [maybe]\nbogus_key: 1\nwrite_files: [{path: /etc/x, content: y}, {content: nowhere}]\n"
    )
    done = precast("run", "--root", str(root))
    assert done.returncode == 1
    assert (root / "etc/x").read_text() == "y"
    status = precast("status", "--root", str(root))
    assert status.returncode == 1
    for said in (done.stdout, status.stdout):
        assert "not carried out: ssh_pwauth: must be " in said
        assert "not carried out: write_files[1]: lacks path" in said
        assert "warning: bogus_key: is not a known key" in said
    told = json.loads(precast("status", "--root", str(root), "--json").stdout)
    assert (told["complete"], len(told["rejected"]), len(told["findings"])) == (False, 2, 1)


@pytest.mark.parametrize("data", ["#cloud-config\nruncmd: [\n", "no known kind\n", "#include\nhttp://127.0.0.1:9/x\n"])
def test_part_that_cannot_be_read_shows_in_the_status_and_the_exit_code(root: Path, data: str) -> None:
    (root / SEED / "user-data").write_text(data)
    assert precast("run", "--root", str(root)).returncode == 1
    status = precast("status", "--root", str(root))
    assert status.returncode == 1
    assert "not carried out: user-data" in status.stdout


def test_key_that_is_only_unknown_or_not_supported_is_a_warning(root: Path) -> None:
    (root / SEED / "user-data").write_text("#cloud-config\nbogus_key: 1\nchef: {run_list: []}\n")
    done = precast("run", "--root", str(root))
    assert done.returncode == 0, done.stdout
    assert "not carried out" not in done.stdout
    assert precast("status", "--root", str(root)).returncode == 0


def test_invalid_value_of_the_image_is_a_warning(root: Path) -> None:
    (root / "etc/cloud").mkdir(parents=True, exist_ok=True)
    (root / "etc/cloud/cloud.cfg").write_text("manage_etc_hosts: [wrong]\n")
    (root / SEED / "user-data").write_text("#cloud-config\nwrite_files: [{path: /etc/x, content: y}]\n")
    done = precast("run", "--root", str(root))
    assert done.returncode == 0, done.stdout
    assert "warning: manage_etc_hosts: must be " in done.stdout


def test_run_with_given_user_data_asks_no_source_for_it(root: Path) -> None:
    done = precast(
        "run",
        "--root",
        str(root),
        "--user-data",
        "-",
        "--json",
        given="#cloud-config\nwrite_files: [{path: /etc/x, content: y}]\n",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert "user data, if known" not in {capability["name"] for capability in told["capabilities"]}
    assert (root / "etc/x").read_text() == "y"


def test_explain_says_who_gave_what_and_why(root: Path) -> None:
    precast("run", "--root", str(root))
    done = precast("explain", "--root", str(root))
    assert "user data, if known: from nocloud: it is the identity" in done.stdout
    assert "vendor data, if known: missing: no present source offers it" in done.stdout
    explained = precast("explain", "--root", str(root), "hostname")
    assert "module hostname: done" in explained.stdout
    assert "user data" not in explained.stdout


def test_analyze_shows_the_timeline_as_text_and_as_a_picture(root: Path) -> None:
    precast("run", "--root", str(root))
    done = precast("analyze", "--root", str(root))
    assert "source nocloud" in done.stdout
    assert "critical path (*): source nocloud → " in done.stdout
    picture = precast("analyze", "--root", str(root), "--svg", "-")
    texts = [text for element in ElementTree.fromstring(picture.stdout).iter() if (text := element.text)]
    assert "hostname" in texts


def test_sources_shows_those_that_are_here_and_why_others_are_not_asked(root: Path) -> None:
    done = precast("sources", "--root", str(root))
    assert done.returncode == 0
    assert "nocloud: here: directory /var/lib/cloud/seed/nocloud, instance i-1" in done.stdout
    assert "the network does not describe a machine below another root" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--root", "/no/such"], "FACT-002"),
        (["run", "--stage", "lokal"], "did you mean 'local'?"),
        (["status", "--root", "ROOT"], "[BOOT-003]"),
        (["run", "--root", "ROOT", "--source", "noclod"], "there is no data source noclod; did you mean nocloud?"),
        (["run", "--root", "ROOT", "--address", "ec2"], "[BOOT-005]"),
        (["run", "--root", "ROOT", "--user-data", "/no/such"], "CLI-010"),
    ],
)
def test_mistake_is_one_line_and_a_hint(root: Path, words: list[str], said: str) -> None:
    done = precast(*[str(root) if word == "ROOT" else word for word in words])
    assert done.returncode >= 64
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_explain_of_an_unknown_name_suggests_one(root: Path) -> None:
    precast("run", "--root", str(root))
    done = precast("explain", "--root", str(root), "hostnam")
    assert done.returncode == 66
    assert "did you mean hostname?" in done.stderr


async def test_run_with_a_metadata_service_injects_files_and_believes_only_the_identity(root: Path) -> None:
    """The image has a seed, and an untrusted service has keys: neither may give what the identity does not offer."""
    meta = {
        "uuid": "u-1",
        "hostname": "cloud",
        "public_keys": {"k": "ssh-rsa EVIL"},
        "files": [{"path": "/etc/injected", "content_path": "/content/0000"}],
    }
    files = {"openstack/latest/meta_data.json": json.dumps(meta), "openstack/content/0000": "from the platform\n"}
    async with served(Service(files)) as base:
        words = ["run", "--root", str(root), "--json", "--address", f"openstack={base}"]
        seeded = await asyncio.to_thread(precast, *words)
        told = json.loads(seeded.stdout)
        assert told["identity"] == "nocloud"
        files_job = next(module for module in told["modules"] if module["name"] == "injected_files")
        assert files_job["result"] == "not run"
        assert files_job["reason"].startswith("it needs files: ")
        assert not (root / "etc/injected").exists()
        (root / "etc/precast").mkdir()
        (root / "etc/precast/boot.toml").write_text('trusted_sources = ["openstack"]\n')
        (root / SEED / "meta-data").write_text("instance-id: i-2\n")
        assert (await asyncio.to_thread(precast, *words)).returncode == 0
        assert (root / "etc/injected").read_text() == "from the platform\n"
        (root / SEED / "meta-data").unlink()
        (root / SEED / "user-data").unlink()
        alone = json.loads((await asyncio.to_thread(precast, *words)).stdout)
    assert alone["identity"] == "openstack"
    assert alone["instance_id"] == "u-1"
    assert (root / "etc/hostname").read_text() == "cloud\n"


def test_record_of_a_new_boot_replaces_that_of_the_last(root: Path) -> None:
    for _ in range(3):
        assert precast("run", "--root", str(root)).returncode == 0
    state = root / "var/lib/precast/boot"
    assert (state / "record.jsonl").read_text().count('"began"') == 1
    assert (state / "latest.jsonl").read_text().count("etc_hosts") <= 2


def test_run_in_a_root_without_users_still_writes_files(root: Path) -> None:
    (root / "etc/passwd").unlink()
    (root / "etc/group").unlink()
    done = precast("run", "--root", str(root))
    assert done.returncode == 0, done.stdout
    assert (root / "etc/motd.d/hello").read_text() == "Hello\n"


async def test_later_stages_of_a_boot_do_not_ask_again_and_another_boot_does(root: Path) -> None:
    meta = {"uuid": "u-1", "hostname": "cloud"}
    service = Service({"openstack/latest/meta_data.json": json.dumps(meta), "openstack/latest/user_data": USER_DATA})
    shutil.rmtree(root / SEED)
    number = root / "proc/sys/kernel/random/boot_id"
    number.parent.mkdir(parents=True)
    number.write_text("first\n")
    async with served(service) as base:
        words = ["run", "--root", str(root), "--source", "openstack", "--address", f"openstack={base}"]
        assert (await asyncio.to_thread(precast, *words, "--stage", "network")).returncode == 0
        asked = len(service.asked)
        assert asked > 0
    # The service has stopped.
    for stage in ("config", "final"):
        done = await asyncio.to_thread(precast, *words, "--stage", stage)
        assert done.returncode == 0, done.stdout
        assert f"source openstack: here: {base} (cached), instance u-1" in done.stdout
        assert (root / "var/lib/precast/boot/answers").exists() is (stage == "config")
    assert (root / "etc/secret").read_text() == "s3cret"
    number.write_text("second\n")
    done = await asyncio.to_thread(precast, *words, "--stage", "network")
    assert "does not answer" in done.stdout
    assert len(service.asked) == asked


def test_template_can_name_the_machine_and_its_system(root: Path) -> None:
    (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n')
    (root / SEED / "meta-data").write_text("instance-id: i-1\nlocal-hostname: beta.example.org\nrole: web\n")
    text = "{{ v1.distro_release }} {{ v1.local_hostname }} {{ machine }} {{ v1.cloud_id }} {{ ds.meta_data.role }}"
    template = f"## template: jinja\n#cloud-config\nwrite_files: [{{path: /etc/told, content: '{text}'}}]\n"
    (root / SEED / "user-data").write_text(template)
    done = precast("run", "--root", str(root))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (root / "etc/told").read_text() == f"bookworm beta {os.uname().machine} nocloud web"
