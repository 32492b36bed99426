"""The documentation matches the program: the reference is current, links resolve, and named codes and tests exist.

The tests also check that no file names the address of a package registry: the installer decides where packages come from, and an address
in the lock file would bind every clone to one registry.
"""

import ast
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from tools import man, reference

ROOT = Path(__file__).resolve().parents[2]

CODE = re.compile(r"\b[A-Z]{2,}-\d{3}\b")
NO_CODES = {"SHA-256"}
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
HTML_LINK = re.compile(r"(?:src|href|srcset)=\"(?P<target>[^\"]+)\"")
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)? *$", re.MULTILINE)
REGISTRY = re.compile(
    r"://[^/\s]*(?:pypi|pythonhosted|anaconda|conda-forge|npmjs|rubygems|crates\.io|artifactory)|://\S+/simpl[e]\b"
)


def files(*patterns: str) -> list[Path]:
    """What git tracks, and what is new and not ignored."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [path for name in sorted({*listed.stdout.split("\0")}) if name and (path := ROOT / name).is_file()]


def in_repository(path: Path) -> str:
    return str(path.relative_to(ROOT))


PAGES = files("*.md")


@cache
def prose(page: Path) -> str:
    """The text of a page without its code blocks."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """What can follow the # of a link to this page: headings, as the usual renderers name them."""
    found: set[str] = set()
    for heading in HEADING.findall(prose(page)):
        text = LINK.sub(lambda match: match["text"], heading)
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        again = 1
        unique = name
        while unique in found:
            unique = f"{name}-{again}"
            again += 1
        found.add(unique)
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", prose(page)))


def targets(page: Path) -> list[str]:
    text = prose(page)
    return [match["target"] for pattern in (LINK, HTML_LINK) for match in pattern.finditer(text)]


def broken(page: Path, root: Path = ROOT) -> list[str]:
    """The links of a page that lead nowhere. Other hosts are not asked: tests need no network."""
    found = []
    for target in targets(page):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = unquote(target).partition("#")
        leads_to = (page.parent / name).resolve() if name else page
        if not leads_to.exists() or not leads_to.is_relative_to(root):
            found.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(leads_to):
            found.append(f"{target}: no such heading")
    return found


def test_reference_is_current() -> None:
    assert reference.stale(reference.DIRECTORY) == []


def test_reference_that_is_missing_or_old_is_named_once_each(tmp_path: Path) -> None:
    (tmp_path / "errors.md").write_text(reference.errors_page())
    (tmp_path / "schema.md").write_text(reference.schema_page().replace("work_item", "work_thing"))
    assert [line.split(":")[0] for line in reference.stale(tmp_path)] == [
        "docs/reference/boot-keys.md is stale",
        "docs/reference/cli.md is stale",
        "docs/reference/configuration.md is stale",
        "docs/reference/exit-codes.md is stale",
        "docs/reference/schema.md is stale",
    ]


def test_man_page_is_what_the_program_would_write_today() -> None:
    assert man.PAGE.read_text(encoding="utf-8") == man.man_page(), "run `make docs`"


@pytest.mark.needs("man")
def test_man_page_is_roff_without_complaints() -> None:
    done = subprocess.run(
        ["man", "--warnings", "-l", str(man.PAGE)],
        env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    assert "precast facts diff" in done.stdout
    assert "~/.config/precast/client.toml" in done.stdout


def test_reference_names_every_command_issue_and_table() -> None:
    pages = reference.pages()
    assert "#### precast db restore" in pages["cli.md"]
    usage = "precast db work [--data DIR] [--database LOCATION] [--config FILE] [--json] [--items | --dead |\n    --requeue KIND KEY]"
    assert usage in pages["cli.md"]
    assert "| `listen` | `--listen` | `PRECAST_LISTEN` | 127.0.0.1:8140 |" in pages["configuration.md"]
    assert "### STORE-015" in pages["errors.md"]
    assert "| `fence` | integer |  | grows with each claim |" in pages["schema.md"]


@pytest.mark.parametrize("page", PAGES, ids=in_repository)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('# One\n## One\n[a](#one-1) [b](#two) [c](nowhere.md) <img src="no.svg">\n```\n[d](e.md)\n```\n')
    assert [line.split(":")[0] for line in broken(page, tmp_path)] == ["#two", "nowhere.md", "no.svg"]


@pytest.mark.parametrize("page", PAGES, ids=in_repository)
def test_error_codes_of_a_page_exist(page: Path) -> None:
    declared = {issue.code for module in reference.issue_modules() for issue in reference.declared_in(module)}
    assert set(CODE.findall(page.read_text(encoding="utf-8"))) - declared - NO_CODES == set()


@pytest.mark.parametrize("page", PAGES, ids=in_repository)
def test_tests_that_a_page_names_exist(page: Path) -> None:
    """`[test_something](path/to/test_file.py)`: the proof of a guarantee."""
    missing = []
    for match in LINK.finditer(prose(page)):
        name = match["text"].strip("`")
        if name.startswith("test_") and not name.endswith(".py"):
            module = ast.parse((page.parent / match["target"]).read_text(encoding="utf-8"))
            if name not in {
                node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            }:
                missing.append(f"{match['target']}::{name}")
    assert missing == []


def test_lock_holds_no_address() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_no_file_names_the_address_of_a_package_registry() -> None:
    named = []
    for path in files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        named += [f"{in_repository(path)}: {match[0]}" for match in REGISTRY.finditer(text)]
    assert named == []


@pytest.mark.parametrize(
    "address",
    ["https:{}py" + "pi.org/simple", "https:{}files.python" + "hosted.org/x", "http:{}mirror.example/simp" + "le/"],
)
def test_registry_addresses_are_recognised(address: str) -> None:
    assert REGISTRY.search(address.format("//"))


def test_ci_script_is_executable_and_sound() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o100
    bash = shutil.which("bash")
    assert bash is not None
    subprocess.run([bash, "-n", script], check=True)
