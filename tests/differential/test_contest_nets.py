"""`precast net check` over nets of the Model Checking Contest contradicts no verdict that is known for them, and always ends.

`PRECAST_NETS` names a directory of nets, as the contest distributes them: any `*.pnml`, with verdicts beside it. Known verdicts are read
from `GenericPropertiesVerdict.xml` (the properties that come with a model), from `*-RD.out` (what the tools of a contest agreed on), and
from a file `expected` of our own with one word, `deadlock` or `free`. Each net is searched for `PRECAST_NETS_SECONDS` at most (20).
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from precast.net.exchange.pnml_writer import write_pnml
from tests.property.net.contest import Case, kanban, philosophers

PRECAST = Path(sys.executable).with_name("precast")
NETS = os.environ.get("PRECAST_NETS")
FILES = sorted(Path(NETS).rglob("*.pnml")) if NETS else []
WITHIN_S = int(os.environ.get("PRECAST_NETS_SECONDS", "20"))
# Reading and the analysis of structure are not searches; a file of the largest size that is read takes less than this.
GRACE_S = 120
FORMULA = re.compile(r"ReachabilityDeadlock(?:-\d+)?\s+(TRUE|FALSE)\b")
WRONG_NET_TYPE = "NET-023"


def read_known_verdict(file: Path) -> bool | None:
    """Whether the net has a deadlock, as a file beside it says; None if that is unknown."""
    own = file.with_name("expected")
    if own.is_file():
        return {"deadlock": True, "free": False}[own.read_text(encoding="utf-8").strip()]
    for oracle in sorted(file.parent.glob("*-RD.out")):
        if match := FORMULA.search(oracle.read_text(encoding="utf-8", errors="replace")):
            return match[1] == "TRUE"
    generic = file.with_name("GenericPropertiesVerdict.xml")
    if generic.is_file():
        for element in ElementTree.parse(generic).iter():
            if element.tag.rpartition("}")[2] == "verdict" and element.get("reference") == "DEADLOCK":
                return {"true": True, "false": False}.get(element.get("value", ""))
    return None


def check_net(file: Path) -> str | None:
    """The verdict of the command; None for a net that is no place/transition net, which it refuses in one line."""
    done = subprocess.run(
        [PRECAST, "net", "check", "--json", "--within", f"{WITHIN_S}s", file],
        capture_output=True,
        timeout=WITHIN_S + GRACE_S,
        check=False,
        text=True,
    )
    if done.returncode == 64:
        assert WRONG_NET_TYPE in done.stderr, done.stderr
        return None
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert done.returncode == {True: 0, False: 1, None: 2}[report["sound"]]
    verdict: str = report["deadlock"]["verdict"]
    return verdict


def require_not_contradicted(file: Path) -> str | None:
    verdict, known = check_net(file), read_known_verdict(file)
    if verdict in ("found", "free") and known is not None:
        assert (verdict == "found") == known, f"{file}: the check says {verdict}, known is deadlock={known}"
    return verdict


@pytest.mark.skipif(not NETS, reason="PRECAST_NETS names no directory with nets of the Model Checking Contest")
@pytest.mark.timeout(WITHIN_S + GRACE_S + 30)
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(str(NETS))))
def test_check_of_a_contest_net_ends_and_contradicts_no_known_verdict(file: Path) -> None:
    verdict = require_not_contradicted(file)
    print(f"\n{file}: {verdict or 'no P/T net'}, known: {read_known_verdict(file)}")
    if verdict is None:
        pytest.skip("not a place/transition net")


def write_case(directory: Path, case: Case, value: str) -> Path:
    """A folder as the contest's archives have them."""
    folder = directory / case.name
    folder.mkdir()
    (folder / "model.pnml").write_text(write_pnml(case.net), encoding="utf-8")
    (folder / "GenericPropertiesVerdict.xml").write_text(
        '<?xml version="1.0"?><toolspecific xmlns="http://mcc.lip6.fr/" tool="mcc" version="1">'
        f'<verdict reference="SAFE" value="true"/><verdict reference="DEADLOCK" value="{value}"/></toolspecific>',
        encoding="utf-8",
    )
    return folder / "model.pnml"


def test_verdict_beside_a_net_is_compared_with_that_of_the_check(tmp_path: Path) -> None:
    assert require_not_contradicted(write_case(tmp_path, philosophers(4), "true")) == "found"
    assert require_not_contradicted(write_case(tmp_path, kanban(2), "false")) == "free"
    wrong = write_case(tmp_path, philosophers(3), "false")
    with pytest.raises(AssertionError, match="the check says found, known is deadlock=False"):
        require_not_contradicted(wrong)
    (wrong.parent / "Philosophers-PT-003-RD.out").write_text(
        "FORMULA Philosophers-PT-003-ReachabilityDeadlock TRUE TECHNIQUES ORACLE2021\n", encoding="utf-8"
    )
    assert require_not_contradicted(wrong) == "found"
    wrong.with_name("expected").write_text("free\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="deadlock=False"):
        require_not_contradicted(wrong)


def test_verdict_that_is_not_known_is_not_compared(tmp_path: Path) -> None:
    file = write_case(tmp_path, philosophers(2), "unknown")
    assert read_known_verdict(file) is None
    assert require_not_contradicted(file) == "found"
