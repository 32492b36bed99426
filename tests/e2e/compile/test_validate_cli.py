"""`precast validate` and `precast doc` as a person uses them: the real command, real files, and every mistake one clear line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PRECAST = Path(sys.executable).with_name("precast")


def precast(*arguments: str, given: str | bytes = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    data = given.encode() if isinstance(given, str) else given
    done = subprocess.run([PRECAST, *arguments], input=data, capture_output=True, timeout=60, check=False, cwd=cwd)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_validate_of_good_files_says_so_and_exits_0(tmp_path: Path) -> None:
    (tmp_path / "site.pp").write_text("notify { 'hello': }\n")
    (tmp_path / "motd.epp").write_text("<%- | String $name | -%>\nhello <%= $name %>\n")
    (tmp_path / "notes.txt").write_text("no { manifest")
    done = precast("validate", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 files: valid\n", "")


def test_validate_shows_line_caret_code_and_hint_and_exits_1(tmp_path: Path) -> None:
    (tmp_path / "site.pp").write_text("file { '/a':\n  ensure => file\n  mode => '0644',\n}\n")
    done = precast("validate", "site.pp", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == (
        "site.pp:3:3: error: Syntax error at 'mode', expected ',' [LANG-001]\n"
        "    3 |   mode => '0644',\n"
        "      |   ^~~~\n"
        "  hint: a comma is missing before it\n"
        "1 file, 1 error\n"
    )


def test_validate_collects_what_it_finds_in_the_order_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "site.pp").write_text("$a::b = 1\nclass Foo { }\n$x = { a => 1, a => 2 }\n")
    done = precast("validate", "--json", "site.pp", cwd=tmp_path)
    report = json.loads(done.stdout)
    findings = [(finding["line"], finding["severity"], finding["code"]) for finding in report["findings"]]
    assert findings == [(1, "error", "LANG-112"), (2, "error", "LANG-120"), (3, "warning", "LANG-151")]
    assert (done.returncode, report["valid"], report["files"]) == (1, False, 1)


def test_validate_stops_at_twenty_errors_a_file(tmp_path: Path) -> None:
    (tmp_path / "site.pp").write_text("$a::b = 1\n" * 30)
    assert precast("validate", str(tmp_path)).stdout.endswith("1 file, 20 errors\n")


def test_warnings_alone_are_valid_unless_strict(tmp_path: Path) -> None:
    (tmp_path / "site.pp").write_text('$x = { a => 1, a => 2 }\n$y = "\\q"\n')
    done = precast("validate", str(tmp_path / "site.pp"))
    assert done.returncode == 0
    assert done.stdout.endswith("1 file, 2 warnings: valid\n")
    assert precast("validate", "--strict", str(tmp_path / "site.pp")).returncode == 1


def test_file_of_a_module_may_hold_only_its_own_classes(tmp_path: Path) -> None:
    manifests = tmp_path / "modules" / "ntp" / "manifests"
    manifests.mkdir(parents=True)
    (manifests / "init.pp").write_text("class ntp { }\nclass apache { }\n")
    done = precast("validate", str(tmp_path))
    assert done.returncode == 1
    assert "The name 'apache' is unacceptable in file" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "given", "code"),
    [
        (["-"], "notice(1)", 0),
        (["-"], "notice(", 1),
        (["--epp", "-"], "a <%= 1 %>", 0),
        (["--epp", "-"], "a <%= 1", 1),
    ],
)
def test_validate_reads_standard_input(arguments: list[str], given: str, code: int) -> None:
    assert precast("validate", *arguments, given=given).returncode == code


@pytest.mark.parametrize(
    ("arguments", "given", "code", "says"),
    [
        (["nowhere.pp"], "", 66, "cannot read nowhere.pp"),
        ([], "", 64, "required: FILE"),
        (["--jsn", "-"], "", 64, "did you mean '--json'?"),
        (["-"], b"\xff", 64, "not UTF-8 text"),
        (["-"], b"a\0b", 64, "NUL byte"),
    ],
)
def test_wrong_input_is_one_clear_error(arguments: list[str], given: str | bytes, code: int, says: str) -> None:
    done = precast("validate", *arguments, given=given)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_directory_without_manifests_is_an_error(tmp_path: Path) -> None:
    done = precast("validate", str(tmp_path))
    assert done.returncode == 66
    assert "no manifest (.pp)" in done.stderr


def test_byte_order_mark_is_found_as_puppet_does() -> None:
    done = precast("validate", "-", given=b"\xef\xbb\xbfnotice(1)")
    assert done.returncode == 1
    assert "LANG-007" in done.stdout


def test_doc_describes_functions_and_types() -> None:
    assert "split(String $str, " in precast("doc", "function", "split").stdout
    assert "permissions: octal" in precast("doc", "type", "file").stdout
    assert json.loads(precast("doc", "type", "exec", "--json").stdout)["namevars"] == ["command"]
    assert len(json.loads(precast("doc", "function", "--json").stdout)) > 100
    assert len(json.loads(precast("doc", "type", "--json").stdout)) > 20


def test_doc_of_a_name_with_a_typo_suggests() -> None:
    done = precast("doc", "function", "splt")
    assert (done.returncode, done.stdout) == (66, "")
    assert "did you mean split?" in done.stderr
    assert "did you mean package?" in precast("doc", "type", "pakage").stderr
