"""Follows the tutorial: runs every command of its console blocks in order and compares the output. Times of day may differ."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial"
BLOCK = re.compile(r"^```(?P<kind>console|python|puppet)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# Commands that prepare the reader's shell; here the test's environment does that.
PREPARATION = ("make ", "source ", "cd ", "export ")
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|\b\d+\.\d\d s$", re.MULTILINE)


def steps(page: str) -> list[tuple[str, str]]:
    """Commands with their output; a code block is the content of the file that the text before it names."""
    result: list[tuple[str, str]] = []
    for match in BLOCK.finditer(page):
        if match["kind"] != "console":
            name = re.findall(r"`([\w.]+\.(?:py|pp))`", page[: match.start()])[-1]
            result.append((f"cat > {name}", match["text"]))
            continue
        for command in re.split(r"^\$ ", match["text"], flags=re.MULTILINE)[1:]:
            line, _, output = command.partition("\n")
            result.append((line, output))
    return result


@pytest.mark.parametrize("name", ["first-steps.md", "apply.md"])
def test_tutorial_followed_step_by_step_prints_what_it_says(tmp_path: Path, name: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PRECAST_DATABASE": "precast.db",
    }
    done = 0
    for command, text in steps((TUTORIAL / name).read_text(encoding="utf-8")):
        if command.startswith(PREPARATION):
            continue
        is_file = command.startswith("cat > ")
        result = subprocess.run(
            ["bash", "-c", f"{command} 2>&1"],
            cwd=tmp_path, env=environment, input=text if is_file else "", capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        expected = "" if is_file else text
        assert TIME.sub("TIME", result.stdout) == TIME.sub("TIME", expected), command
        done += 1
    assert done > 7
