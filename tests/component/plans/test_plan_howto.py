"""The how-tos of plans show what the program prints and draws, over the examples that they show."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from demo.plans import PLAN
from precast.cli.main import main
from precast.plans.drawing.picture import make_picture
from precast.plans.drawing.svg import write_svg
from precast.plans.expansion import expand
from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import load_plan
from precast.plans.model import PlanNode
from precast.wire.plans import states

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "howto" / "write-a-plan.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples" / "plans"
FILES = ("shop-nodes.yaml", "shop-preview.yaml", "shop-preview-nodes.yaml")
COMMANDS = re.findall(r"^    \$ precast (plan .*)\n((?:    (?!\$ ).*\n)*)", PAGE, re.MULTILINE)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory in which the reader works: the example, with a mistake, and without the migration."""
    text = (EXAMPLES / "shop.yaml").read_text(encoding="utf-8")
    (tmp_path / "shop.yaml").write_text(text, encoding="utf-8")
    for name in FILES:
        (tmp_path / name).write_text((EXAMPLES / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "misspelt.yaml").write_text(text.replace("name: migrate", "name: migrat"), encoding="utf-8")
    unpack, _, switch = text.split("\n\n")
    switch = switch.replace("  cross-depends:\n    - name: migrate\n      role: db\n", "")
    (tmp_path / "without-migration.yaml").write_text(f"{unpack}\n{switch}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def run(command: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        main(command.split())
    return out.getvalue()


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_command_of_the_page_prints_what_the_page_shows(command: str, shown: str) -> None:
    printed = run(command).splitlines()
    expected = [line.removeprefix("    ") for line in shown.splitlines()]
    assert printed[: len(expected)] == expected


def test_page_has_commands_and_the_example_as_it_is() -> None:
    assert len(COMMANDS) == 8
    example = (EXAMPLES / "shop.yaml").read_text(encoding="utf-8").split("\n", 1)[1]
    assert f"```yaml\n{example}```" in PAGE
    for name in FILES[:2]:
        assert f"```yaml\n{(EXAMPLES / name).read_text(encoding='utf-8')}```" in PAGE


def test_picture_of_the_page_is_the_one_drawn_today() -> None:
    picture = ROOT / "docs" / "pictures" / "shop-plan.svg"
    assert picture.read_text(encoding="utf-8") == run("plan draw shop.yaml")


def test_picture_of_a_run_is_that_of_the_run_of_the_demo_which_has_failed() -> None:
    loaded = load_plan([PlanText("release.yaml", PLAN)], "release")
    assert loaded.plan is not None
    roles = {"db1": "db", "web1": "web", "app1": "app"}
    expansion = expand(loaded.plan, [PlanNode(name, (role,)) for name, role in roles.items()])
    counts = {
        "database": {states.SUCCESSFUL: 1},
        "application": {states.SUCCESSFUL: 1, states.FAILED: 1},
        "announce": {states.DEP_FAILED: 1},
    }
    drawn = write_svg(make_picture(loaded.plan, expansion.dependencies, counts))
    assert (ROOT / "docs" / "pictures" / "release-run.svg").read_text(encoding="utf-8") == drawn
