"""`precast net` as a person uses it: the real command, real files, and one clear line for every mistake."""

import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from precast.base.spans import Source
from precast.net.exchange.notation import parse
from precast.net.exchange.pnml_writer import write_pnml
from tests.property.net.contest import kanban, philosophers

ROOT = Path(__file__).parents[3]
PRECAST = Path(sys.executable).with_name("precast")
EXAMPLES = ROOT / "examples"
UPGRADE = str(EXAMPLES / "rolling-upgrade.net")
LOCKS = str(EXAMPLES / "two-locks.net")


SYMMETRIC = "http://www.pnml.org/version-2009/grammar/symmetricnet"
COLOURED = f'<pnml><net id="n" type="{SYMMETRIC}"><page id="g"/></net></pnml>'


def precast(*arguments: str, given: str | bytes = "") -> subprocess.CompletedProcess[str]:
    data = given.encode() if isinstance(given, str) else given
    done = subprocess.run([PRECAST, *arguments], input=data, capture_output=True, timeout=60, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_check_of_a_sound_net_says_why_and_exits_0() -> None:
    done = precast("net", "check", UPGRADE)
    assert done.returncode == 0
    assert "no deadlock: all work is steps in an order without cycles" in done.stdout


def test_check_of_a_deadlock_shows_the_way_there_and_exits_1() -> None:
    done = precast("net", "check", LOCKS)
    assert done.returncode == 1
    assert "after backup.lock-disk → restore.lock-tape nothing can start" in done.stdout
    assert "backup.copy waits for restore.copy through tape" in done.stdout


def test_check_of_names_with_control_characters_sends_none_to_the_terminal() -> None:
    done = precast("net", "check", "-", given='net "\\u001b[31m"\nstep "\\u0007"\n needs "\\u0007"\n')
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert "\\u{7} → \\u{7}" in done.stdout


def test_check_as_json_is_one_document() -> None:
    done = precast("net", "check", "--json", LOCKS)
    report = json.loads(done.stdout)
    assert report["sound"] is False
    assert report["deadlock"]["verdict"] == "found"
    assert report["deadlock"]["trace"] == ["backup.lock-disk", "restore.lock-tape"]


def test_check_with_a_small_bound_says_not_proven() -> None:
    endless = "place a = 1\nplace b\nplace c\ntransition t\n takes a\n gives b, c\ntransition u\n takes b\n gives a\n"
    done = precast("net", "check", "-", "--bound", "10", given=endless)
    assert done.returncode == 2
    assert "the search found none, but stopped after 10 states" in done.stdout
    report = json.loads(precast("net", "check", "-", "--json", "--bound", "10", given=endless).stdout)
    assert (report["sound"], report["deadlock"]["verdict"]) == (None, "not proven")


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as the Model Checking Contest gives: a folder for each net, one of them coloured, one broken, one that is too large."""
    directory = tmp_path_factory.mktemp("contest")
    texts = {case.name: write_pnml(case.net) for case in (philosophers(5), kanban(3), philosophers(40, True))}
    for name, text in {**texts, "Coloured-COL-5": COLOURED, "Broken-PT-1": "<pnml><net>"}.items():
        (directory / name).mkdir()
        (directory / name / "model.pnml").write_text(text, encoding="utf-8")
        (directory / name / "GenericPropertiesVerdict.xml").write_text("<verdicts/>", encoding="utf-8")
    huge = directory / "Huge-PT-9" / "model.pnml"
    huge.parent.mkdir()
    with huge.open("wb") as file:
        file.write(b"<pnml>")
        file.truncate(65 * 1024 * 1024)
    return directory


def test_check_of_a_directory_prints_a_line_for_each_net_in_order(contest: Path) -> None:
    done = precast("net", "check", str(contest), "--bound", "300")
    lines = [re.sub(r", \d+\.\d s$", "", line.removeprefix(f"{contest}/")) for line in done.stdout.splitlines()]
    assert lines == [
        "Broken-PT-1/model.pnml: not read: this is not XML: no element found [NET-020]",
        f"Coloured-COL-5/model.pnml: not read: the net is of type {SYMMETRIC}, and only place/transition nets can be read [NET-023]",
        "Huge-PT-9/model.pnml: not proven within the bound",
        "Kanban-PT-00003/model.pnml: 16 places, 16 transitions: no deadlock",
        "Philosophers-PT-005/model.pnml: 25 places, 25 transitions: deadlock found",
        "Philosophers-PT-040-ordered/model.pnml: 160 places, 120 transitions: not proven within the bound",
        "6 nets: 1 with deadlock, 1 without deadlock, 2 not proven, 2 not read",
    ]
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["Kanban-PT-00003", "Kanban-PT-00003"], 0),
        (["Kanban-PT-00003", "Huge-PT-9"], 2),
        (["Huge-PT-9"], 2),
        (["Huge-PT-9", "Broken-PT-1"], 64),
        (["Broken-PT-1", "Philosophers-PT-005", "Huge-PT-9"], 1),
    ],
)
def test_exit_code_for_several_nets_is_that_of_the_worst(contest: Path, names: list[str], code: int) -> None:
    assert precast("net", "check", *(str(contest / name / "model.pnml") for name in names)).returncode == code


def test_check_of_a_directory_as_json_is_one_document(contest: Path) -> None:
    done = precast("net", "check", str(contest), "--json", "--within", "500ms")
    document = json.loads(done.stdout)
    assert document["counts"] == {"with deadlock": 1, "without deadlock": 1, "not proven": 2, "not read": 2}
    entries = {entry["path"].split("/")[-2]: entry for entry in document["nets"]}
    assert entries["Coloured-COL-5"]["error"]["code"] == "NET-023"
    assert (entries["Kanban-PT-00003"]["sound"], entries["Kanban-PT-00003"]["places"]) == (True, 16)
    assert len(entries["Philosophers-PT-005"]["deadlock"]["trace"]) == 5
    assert entries["Philosophers-PT-040-ordered"]["deadlock"]["verdict"] == "not proven"
    assert entries["Philosophers-PT-040-ordered"]["deadlock"]["states"] > 0
    assert entries["Huge-PT-9"]["findings"][0]["code"] == "NET-110"


def test_check_of_a_net_beyond_the_memory_of_a_check_is_not_proven(tmp_path: Path) -> None:
    file = tmp_path / "model.pnml"
    with file.open("w", encoding="utf-8") as text:
        text.write("<pnml><net id='n'>")
        text.writelines(f"<place id='p{n}'/>" for n in range(400_000))
        text.write("</net></pnml>")
    done = subprocess.run(
        [PRECAST, "net", "check", file],
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)),
    )
    assert (done.returncode, done.stderr) == (2, b"")
    assert b"the check takes more memory than it may have [NET-110]" in done.stdout


def test_check_of_a_directory_without_nets_is_an_error(tmp_path: Path) -> None:
    done = precast("net", "check", str(tmp_path))
    assert done.returncode == 66
    assert f"there is no PNML file (*.pnml) below {tmp_path} [CLI-037]" in done.stderr


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_pnml_is_read_by_every_command_and_recognised_by_its_content(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "net"
    text = write_pnml(parse(Source(LOCKS, Path(LOCKS).read_text(encoding="utf-8"))))
    file.write_bytes(text.replace("UTF-8", encoding.removesuffix("-sig")).encode(encoding))
    for command in ("check", "simulate", "draw", "export"):
        by_pnml, by_notation = precast("net", command, str(file)), precast("net", command, LOCKS)
        assert (by_pnml.returncode, by_pnml.stdout) == (by_notation.returncode, by_notation.stdout)
        assert by_pnml.stderr == ""


def test_simulate_of_a_net_of_another_tool_without_end_is_cut_off(contest: Path) -> None:
    done = precast("net", "simulate", str(contest / "Kanban-PT-00003" / "model.pnml"))
    assert done.returncode == 1
    assert "cut off after" in done.stdout


def test_simulate_shows_length_critical_path_and_limits() -> None:
    done = precast("net", "simulate", UPGRADE)
    assert done.returncode == 0
    assert "takes 10m55s\n" in done.stdout
    assert "limit batch: " in done.stdout
    assert "critical path (*): Exec[backup database] → " in done.stdout


def test_simulate_with_changes_compares_with_the_net_as_it_is() -> None:
    done = precast("net", "simulate", UPGRADE, "--limit", "batch=3", "--with", "Package[web3/shop]=1m")
    assert "2m25s shorter than without the changes (10m55s)" in done.stdout
    failed = json.loads(precast("net", "simulate", "--json", UPGRADE, "--fail", "Exec[migrate schema]").stdout)
    assert {run["outcome"] for run in failed["runs"]} == {"success", "failure", "skipped"}
    shorter = json.loads(precast("net", "simulate", "--json", UPGRADE, "--without", "Exec[smoke test]").stdout)
    assert shorter["makespan_without_changes_ms"] - shorter["makespan_ms"] == 30_000


def test_simulate_of_a_net_that_gets_stuck_exits_1() -> None:
    done = precast("net", "simulate", LOCKS)
    assert done.returncode == 1
    assert "stuck: backup.copy waits for restore.copy through tape" in done.stdout


def test_draw_writes_svg_or_dot(tmp_path: Path) -> None:
    svg = tmp_path / "net.svg"
    assert precast("net", "draw", UPGRADE, "-o", str(svg)).returncode == 0
    assert "Service[web1/shop]" in "".join(ElementTree.parse(svg).getroot().itertext())
    assert [path.name for path in tmp_path.iterdir()] == ["net.svg"]
    assert precast("net", "draw", UPGRADE, "--format", "dot").stdout.startswith('digraph "rolling-upgrade"')


def test_picture_in_the_documentation_is_the_one_drawn_today() -> None:
    picture = ROOT / "docs" / "pictures" / "rolling-upgrade.svg"
    assert picture.read_text(encoding="utf-8") == precast("net", "draw", UPGRADE).stdout


def test_examples_in_the_reference_are_sound() -> None:
    text = (ROOT / "docs" / "reference" / "net-notation.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    assert [precast("net", "check", "-", given=block).returncode for block in blocks] == [0, 0]


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.net")), ids=lambda path: path.name)
def test_export_and_import_lead_back_to_the_same_net(example: Path, tmp_path: Path) -> None:
    pnml, text = tmp_path / "x.pnml", tmp_path / "x.net"
    assert precast("net", "export", str(example), "-o", str(pnml)).returncode == 0
    assert precast("net", "import", str(pnml), "-o", str(text)).returncode == 0
    again = precast("net", "export", str(text)).stdout
    assert again == pnml.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "given", "code", "part"),
    [
        (["check", "no-such.net"], "", 66, "cannot read no-such.net: No such file or directory [CLI-010]"),
        (["check", UPGRADE, "--within", "0s"], "", 64, "'0s' is not a time such as 90s"),
        (["check", "-"], COLOURED, 64, "only place/transition nets can be read [NET-023]"),
        (["draw", "-"], COLOURED, 64, "only place/transition nets can be read [NET-023]"),
        (["draw", "/"], "", 66, "cannot read /: Is a directory [CLI-010]"),
        (["check", "-"], b"\xff\xfe", 64, "standard input is not UTF-8 text: byte 0 is invalid [CLI-011]"),
        (["check", "-"], b"step\0", 64, "it contains a NUL byte [CLI-011]"),
        (["check", "-"], "stepp a", 64, "standard input:1:1: error: 'stepp' is not a statement"),
        (["check", "-", "--bound", "0"], "", 64, "'0' is not a whole number from 1"),
        (["chekc", "-"], "", 64, "did you mean 'check'?"),
        (["draw", "-", "--format", "png"], "", 64, "unknown --format 'png'; choose one of: svg, dot"),
        (["simulate", UPGRADE, "--fail", "Exec[smoke tset]"], "", 66, "did you mean Exec[smoke test]? [NET-030]"),
        (["simulate", UPGRADE, "--with", "x"], "", 64, "x is not a change [NET-031]"),
        (["draw", "-"], "".join(f"step s{n}\n" for n in range(400)), 64, "more than 300 is unreadable [NET-040]"),
        (["import", UPGRADE], "", 64, "this is not XML"),
        (["import", "-"], "<!DOCTYPE a><pnml/>", 64, "[NET-021]"),
        (
            ["export", UPGRADE, "-o", "/no/such/dir/x.pnml"],
            "",
            66,
            "cannot write /no/such/dir/x.pnml: No such file or directory",
        ),
        (["export", UPGRADE, "-o", "/dev/full"], "", 75, "cannot write /dev/full: No space left on device"),
    ],
)
def test_mistake_is_one_clear_error_with_a_hint_and_no_traceback(
    arguments: list[str], given: str | bytes, code: int, part: str
) -> None:
    done = precast("net", *arguments, given=given)
    assert done.returncode == code
    assert part in done.stderr
    assert "\n  hint: " in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_output_that_does_not_fit_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "kept.pnml"
    target.write_text("old")
    done = subprocess.run(
        [PRECAST, "net", "export", UPGRADE, "-o", target],
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)),
    )
    assert done.returncode == 75
    assert b"cannot write" in done.stderr
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.pnml"]
