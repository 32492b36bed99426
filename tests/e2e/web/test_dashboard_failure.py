"""A resource that fails on a real node, followed in a real browser from the fleet to its line, version, commit and release."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from lab.agent_process import AgentProcess
from lab.server_process import PRECAST
from lab.site import Site
from tests.e2e.web.browser import needs_browser, opened_page, sign_in

pytestmark = [pytest.mark.timeout(240), needs_browser]

GOOD = "class profile {\n  file { '/etc/motd': content => 'hello' }\n}\n"
BAD = GOOD.removesuffix("}\n") + "  # a mistake\n  file { '/no/such/place': content => 'x' }\n}\n"


class Failing:
    """A site with one node, whose second release has a resource that cannot be applied."""

    def __init__(self, site: Site, code: Path) -> None:
        self.site, self.code = site, code
        self.profile = code / "modules/profile/manifests/init.pp"
        self.profile.parent.mkdir(parents=True)
        (code / "manifests").mkdir()
        (code / "manifests/site.pp").write_text("include profile\n")
        self._git("init", "-qb", "main")
        site.enrol("web1")
        root = site.directory / "nodes/web1"
        (root / "etc").mkdir(parents=True, exist_ok=True)
        self.agent = AgentProcess(root, site.url)
        self.commit = ""

    def _git(self, *words: str) -> str:
        ours = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *words]
        return subprocess.run(ours, cwd=self.code, capture_output=True, text=True, check=True).stdout.strip()

    def release(self, profile: str, why: str) -> None:
        self.profile.write_text(profile)
        self._git("add", ".")
        self._git("commit", "-qm", why)
        self.commit = self._git("rev-parse", "HEAD")
        self.site.run("env", "deploy", "production", "--git", str(self.code), "--ref", "main")
        self.site.run("release", "web1", "--wait", "--why", why)

    def run(self) -> int:
        words = [PRECAST, "run", "web1"]
        return subprocess.run(words, env=self.site.environment, capture_output=True, timeout=120).returncode


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Failing]:
    with Site(tmp_path / "site") as site:
        created = Failing(site, tmp_path / "code")
        with created.agent:
            created.agent.until_settled()
            site.run("node", "policy", "set", "web1", "--enforce", "triggered")
            created.agent.until(lambda status: status.get("policy", {}).get("enforce") == "triggered")
            created.release(GOOD, "a profile")
            assert created.run() == 0
            created.release(BAD, "a mistake")
            assert created.run() == 4
            yield created


async def test_failing_resource_is_followed_to_its_line_version_commit_and_release(failing: Failing) -> None:
    async with opened_page(failing.site.url) as page:
        await sign_in(page, failing.site.environment["PRECAST_TOKEN"])
        await page.get_by_role("button", name="1 failed").click()
        await page.get_by_role("link", name="web1").click()
        await expect(page.get_by_role("heading", name="web1")).to_be_visible()
        (report,) = failing.site.run("report", "list", "--node", "web1", "--failed", "--most", "1")
        await page.locator(f"a[href='#/reports/{report['id']}']").first.click()
        await page.get_by_role("link", name="File[/no/such/place]").click()
        await expect(page.get_by_role("heading", name="File[/no/such/place]")).to_be_visible()

        line = page.get_by_label("The line that declares the resource")
        await expect(line).to_contain_text("file { '/no/such/place': content => 'x' }")
        shown = page.locator("main")
        await expect(shown).to_contain_text("modules/profile/manifests/init.pp:4")
        await expect(shown).to_contain_text("version 2 of production")
        await expect(shown).to_contain_text(failing.commit)
        await expect(shown).to_contain_text("by person:admin")
        await expect(shown).to_contain_text("release 2")
        await expect(shown).to_contain_text("parent directory /no/such does not exist")
        # The resource failed on this node only, once for each run of the release; the agent's own no-op run may be one of them.
        failures = page.get_by_role("table", name="Events of the same resource").locator("tbody tr")
        await expect(failures.first).to_be_visible()
        await expect(failures.filter(has_text="web1")).to_have_count(await failures.count())
