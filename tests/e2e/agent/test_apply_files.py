"""`precast apply` of files, as a user runs it: with modules of the environment, and with real modules from Debian packages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PRECAST = str(Path(sys.executable).with_name("precast"))
DEBIAN = Path("/usr/share/puppet/modules")


def apply(root: Path, *words: str, code: int = 0) -> str:
    command = [PRECAST, "apply", *words, "--root", str(root), "--node", "n.example.com"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_directory_of_a_module_is_copied(tmp_path: Path, root: Path) -> None:
    files = tmp_path / "modules/web/files/conf"
    (files / "sub").mkdir(parents=True)
    (files / "a").write_text("A\n")
    (files / "sub/b").write_text("B\n")
    code = "file { '/conf': source => 'puppet:///modules/web/conf', recurse => true, purge => true, force => true, mode => '0640' }"
    words = ("-e", code, "--modulepath", str(tmp_path / "modules"))
    apply(root, *words)
    assert (root / "conf/sub/b").read_text() == "B\n"
    assert (root / "conf/sub").stat().st_mode & 0o777 == 0o750
    (root / "conf/extra").write_text("x")
    assert "changed  File[/conf/extra]: ensure: removed" in apply(root, *words)
    assert "changed" not in apply(root, *words)
    (files / "a").write_text("other\n")
    assert "-A\n" in apply(root, *words)
    assert (root / "conf/a").read_text() == "other\n"


def test_secret_is_in_the_file_and_nowhere_else(root: Path) -> None:
    said = apply(root, "-e", "file { '/s': content => Sensitive('hunter2'), mode => '0600' }", "-v", "-v")
    assert (root / "s").read_text() == "hunter2"
    (root / "s").write_text("leaked")
    said += apply(root, "-e", "file { '/s': content => Sensitive('hunter2'), mode => '0600' }", "-v", "-v", "--json")
    assert "hunter2" not in said
    assert "leaked" not in said
    state = b"".join(path.read_bytes() for path in (root / "var").rglob("*") if path.is_file())
    assert b"hunter2" not in state


def test_wrong_resource_fails_alone_with_a_hint(root: Path) -> None:
    said = apply(root, "-e", "file { '/a': content => 'x', mode => 'rwx' } file { '/b': content => 'x' }", code=4)
    assert "rwx is not a file mode" in said
    assert "hint: write it in octal" in said
    assert (root / "b").exists()
    assert not (root / "a").exists()


@pytest.mark.skipif(
    not all((DEBIAN / name).is_dir() for name in ("concat", "stdlib", "inifile")),
    reason="needs puppet-module-puppetlabs-concat, -stdlib and -inifile (Debian packages)",
)
def test_types_of_real_modules_are_applied(tmp_path: Path, root: Path) -> None:
    (tmp_path / "modules").mkdir()
    for name in ("concat", "stdlib", "inifile"):
        (tmp_path / "modules" / name).symlink_to(DEBIAN / name)
    code = """
    concat { '/whole': warn => "# ours\n" }
    concat::fragment { 'two': target => '/whole', content => "two\n", order => '20' }
    concat::fragment { 'one': target => '/whole', content => "one\n", order => '10' }
    -> file_line { 'more': path => '/hosts', line => '192.0.2.1 host' }
    ini_setting { 'set': path => '/app.ini', section => 'main', setting => 'colour', value => 'blue' }
    """
    (root / "hosts").write_text("127.0.0.1 localhost\n")
    words = ("-e", code, "--modulepath", str(tmp_path / "modules"))
    apply(root, *words)
    assert (root / "whole").read_text() == "# ours\none\ntwo\n"
    assert (root / "hosts").read_text() == "127.0.0.1 localhost\n192.0.2.1 host\n"
    assert (root / "app.ini").read_text() == "[main]\ncolour = blue\n"
    assert "changed" not in apply(root, *words)


def test_facts_that_puppets_agent_adds_are_available(root: Path) -> None:
    said = apply(root, "-e", "notice($clientversion, $facts['clientcert'], $clientnoop, $puppetversion)")
    assert "7.23.0 n.example.com false 7.23.0" in said


def test_file_whose_content_is_not_known_yet_is_not_purged(root: Path) -> None:
    code = """
    file { '/d': ensure => directory, recurse => true, purge => true }
    file { 'late': path => '/d/f', content => Deferred('upcase', ['x']) }
    """
    apply(root, "-e", code)
    assert (root / "d/f").read_text() == "X"
    assert "changed" not in apply(root, "-e", code)


def test_fragment_whose_content_is_not_known_yet_is_part_of_the_file(tmp_path: Path, root: Path) -> None:
    resources = [
        {"type": "Concat_file", "title": "/whole", "parameters": {"tag": "whole"}},
        {"type": "Concat_fragment", "title": "a", "parameters": {"target": "/whole", "content": "a", "order": "1"}},
        {
            "type": "Concat_fragment",
            "title": "b",
            "parameters": {
                "target": "/whole",
                "content": {"__ptype": "Deferred", "name": "upcase", "arguments": ["b"]},
                "order": "2",
            },
        },
    ]
    (tmp_path / "catalog.json").write_text(json.dumps({"resources": resources}))
    apply(root, "--catalog", str(tmp_path / "catalog.json"))
    assert (root / "whole").read_text() == "aB"
