"""The dashboard in a real browser, against a real server over TLS: its pages, its access rules, and that no text it shows is executed."""

import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from lab.session import Peer, Store
from lab.site import Site
from precast.base import digests, https
from precast.wire.reports import records as reports
from precast.wire.reports.events import Event, Log, ResourceReport, Status
from precast.wire.reports.records import RunEvents
from tests.contract.reports.report_site import began, changed, ended, failed, report_id, summary
from tests.e2e.web.browser import needs_browser, opened_page, sign_in

pytestmark = [pytest.mark.timeout(180), needs_browser]

EVIL = "<img src=x onerror=\"window.hurt='yes'\"><script>window.hurt='yes'</script>"
CODE = f"""
notify {{ '{EVIL.replace("'", "")}': }}
file {{ '/etc/motd': content => 'hello' }}
package {{ 'nginx': ensure => installed }}
"""
DEADLINE_S = 60.0
PICTURES = os.environ.get("PRECAST_PICTURES", "")


class DashboardSite(Site):
    """A site with code, two nodes with facts, which the dashboard shows."""

    def fill(self, code: Path) -> None:
        (code / "manifests").mkdir(parents=True)
        (code / "manifests" / "site.pp").write_text(CODE)
        self.identities = {name: self.enrol(name) for name in ("web1", "db1")}
        for name, identity in self.identities.items():
            stable = {"os": {"name": "Debian"}, "evil": {EVIL: EVIL}, "networking": {"hostname": name}}
            body = {"digest": digests.of_value(stable), "volatile": {}, "stable": stable}
            assert (
                https.call(self.url, identity.context(), "POST", "/v1/facts", json.dumps(body).encode()).status == 200
            )
        self.run("env", "deploy", "production", "--from", str(code))
        self.until_staged("web1")
        self.run("release", "web1")

    def until_staged(self, node: str) -> None:
        authority = https.trust_authority(Path(self.environment["PRECAST_CA"]).read_text())
        headers = {"Authorization": f"Bearer {self.environment['PRECAST_TOKEN']}"}
        end_s = time.monotonic() + DEADLINE_S
        while https.call(self.url, authority, "GET", f"/v1/nodes/{node}/catalog", headers=headers).status != 200:
            assert time.monotonic() < end_s, "nothing was staged"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardSite]:
    directory = tmp_path_factory.mktemp("web")
    with DashboardSite(directory / "data") as running:
        running.fill(directory / "code")
        yield running


@pytest.fixture
async def page(site: DashboardSite) -> AsyncIterator[Page]:
    """A page that is not signed in."""
    async with opened_page(site.url) as created:
        yield created


async def picture(page: Page, name: str) -> None:
    """Save a screenshot for the documentation if PRECAST_PICTURES names a directory."""
    if PICTURES:
        await page.screenshot(path=str(Path(PICTURES) / f"{name}.png"))


async def test_wrong_token_is_refused_and_a_valid_one_signs_in_and_out(site: DashboardSite, page: Page) -> None:
    await sign_in(page, "nonsense")
    await expect(page.get_by_role("alert")).to_have_text("this token is not valid")
    await sign_in(page, site.environment["PRECAST_TOKEN"])
    await expect(page.get_by_role("heading", name="Fleet")).to_be_visible()
    (cookie,) = await page.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["secure"], cookie["sameSite"], cookie["path"]) == (
        *("__Host-precast", True, True, "Strict", "/"),
    )
    assert await page.evaluate("document.cookie") == ""
    await page.reload()
    await expect(page.get_by_role("heading", name="Fleet")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Your token")).to_be_focused()
    # What the browser has forgotten is over on the server too.
    await page.context.add_cookies(
        [{"name": cookie["name"], "value": cookie["value"], "url": site.url, "secure": True, "httpOnly": True}]
    )
    await page.reload()
    await expect(page.get_by_label("Your token")).to_be_visible()


async def test_session_ends_with_its_token_and_can_change_nothing(site: DashboardSite, page: Page) -> None:
    created = site.run("token", "person", "ann", "--role", "admin")
    await sign_in(page, created["token"])
    await expect(page.get_by_role("heading", name="Fleet")).to_be_visible()
    asked = """async ([path, headers]) => (await fetch(path, {method: 'POST', headers, body: '{"nodes": {"all": true}}'})).status"""
    ours = {"X-Precast-Web": "1"}
    assert await page.evaluate(asked, ["/v1/deactivations", ours]) == 403
    assert await page.evaluate(asked, ["/v1/releases", ours]) == 403
    # Without the header that no other site can send, the cookie is nothing.
    assert await page.evaluate("fetch('/v1/web/session').then((response) => response.status)") == 401
    site.run("token", "revoke", created["id"])
    await page.reload()
    await expect(page.get_by_label("Your token")).to_be_visible()


async def test_fleet_is_shown_by_state_and_filtered(site: DashboardSite, page: Page) -> None:
    await sign_in(page, site.environment["PRECAST_TOKEN"])
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(2)
    await page.get_by_label("Filter nodes").fill("has Package[nginx]")
    await page.get_by_role("button", name="Show").click()
    await expect(rows).to_have_count(1)
    await expect(rows.first).to_contain_text("web1")
    await page.get_by_label("Filter nodes").fill("rol = x")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_role("alert")).to_contain_text("did you mean role?")


async def test_node_shows_catalog_facts_and_why_as_text(site: DashboardSite, page: Page) -> None:
    await sign_in(page, site.environment["PRECAST_TOKEN"])
    await page.get_by_role("link", name="web1").click()
    await expect(page.get_by_role("heading", name="web1")).to_be_visible()
    await page.locator("summary", has_text="facts").click()
    await page.get_by_label("Find").fill("evil")
    await expect(page.locator("tbody tr", has_text="evil")).to_contain_text(EVIL)
    await page.locator("summary", has_text="Why this catalog").click()
    await expect(page.get_by_role("table", name="Reads")).to_be_visible()
    await picture(page, "dashboard-node")


async def test_run_is_shown_while_it_goes_on(site: DashboardSite, page: Page) -> None:
    await sign_in(page, site.environment["PRECAST_TOKEN"])
    await expect(page.get_by_role("heading", name="Fleet")).to_be_visible()
    async with Peer(site.url, site.identities["web1"].context(), Store()) as node:
        await node.greet()
        start = began(1, reason="released", environment="production")
        await node.acknowledged(await node.send(reports.BEGAN, start))
        await page.evaluate(f"location.hash = '#/reports/{report_id(1)}'")
        await expect(page.locator("h1")).to_contain_text("running")
        evil = ResourceReport(
            f"Notify[{EVIL}]",
            Status.CHANGED,
            (Event(f"Notify[{EVIL}]", "success", EVIL, property=EVIL, diff=f"-{EVIL}\n+{EVIL}"),),
            (Log(f"Notify[{EVIL}]", "notice", EVIL),),
            reason=EVIL,
        )
        await node.send(reports.EVENTS, RunEvents(report_id(1), 1, [changed("/etc/motd"), evil]))
        events = page.locator(".events > li")
        await expect(events).to_have_count(2)
        await expect(events.nth(1)).to_contain_text(EVIL)
        last = ended(start, failed("reload"), events=3, summary=summary(changed=2, failed=1, unchanged=7))
        await node.acknowledged(await node.send(reports.ENDED, last))
        await expect(events).to_have_count(3)
        await expect(page.locator("h1")).to_contain_text("failed")
        await picture(page, "dashboard-run")
        await page.get_by_role("link", name="Exec[reload]").click()
        await expect(page.get_by_role("heading", name="Exec[reload]")).to_be_visible()
        await expect(page.locator("main")).to_contain_text("returned 1 instead of 0")
    await page.get_by_role("link", name="Fleet").first.click()
    await page.get_by_role("button", name="1 failed").click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    await picture(page, "dashboard-fleet")


async def test_queries_are_answered_and_their_address_can_be_sent(site: DashboardSite, page: Page) -> None:
    await sign_in(page, site.environment["PRECAST_TOKEN"])
    await page.get_by_role("link", name="Query").click()
    await page.get_by_label("List", exact=True).select_option("resources")
    await page.get_by_label("where", exact=True).fill("type = Notify")
    await page.get_by_role("button", name="Run query").click()
    await expect(page.locator("tbody tr")).to_contain_text("<img src=x onerror=")
    await page.reload()
    await expect(page.locator("tbody tr")).to_contain_text("<img src=x onerror=")


async def test_page_can_be_used_by_keyboard_and_read_on_a_phone(site: DashboardSite, page: Page) -> None:
    await expect(page.get_by_label("Your token")).to_be_focused()
    await page.keyboard.type(site.environment["PRECAST_TOKEN"])
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Fleet")).to_be_visible()
    await expect(page.locator("tbody tr")).not_to_have_count(0)
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await picture(page, "dashboard-phone")
    # Everything that can be used has a name, and everything that has a label is joined to it.
    unnamed = """[...document.querySelectorAll('button, a, input, select')].filter((element) =>
        !element.hidden && !(element.textContent.trim() || element.labels?.length || element.getAttribute('aria-label'))).length"""
    assert await page.evaluate(unnamed) == 0
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert await page.evaluate(LOW_CONTRAST) == [], scheme


# Texts whose contrast to their ground is below 4.5, the least that the Web Content Accessibility Guidelines ask for.
LOW_CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (text) => rgba(text).slice(0, 3).map((c) => c / 255)
    .map((c) => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [.2126, .7152, .0722][at], 0);
  const background = (element) => {
    while (element && rgba(getComputedStyle(element).backgroundColor)[3] < 255) element = element.parentElement;
    return getComputedStyle(element || document.body).backgroundColor;
  };
  const failures = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].filter((each) => each.nodeType === 3).map((each) => each.data.trim()).join('');
    if (!own || !element.checkVisibility()) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(background(element))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) failures.push(`${own} ${getComputedStyle(element).color} on ${background(element)}`);
  }
  return failures;
}"""


def test_pages_are_served_with_a_strict_policy_and_known_by_digest(site: DashboardSite) -> None:
    context = https.trust_authority(Path(site.environment["PRECAST_CA"]).read_text())
    response = https.call(site.url, context, "GET", "/")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "trusted-types 'none'" in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    for place in ("/", "/web/main.js", "/web/style.css", "/web/icon.svg"):
        first = https.call(site.url, context, "GET", place)
        again = https.call(site.url, context, "GET", place, headers={"If-None-Match": first.headers["ETag"]})
        assert (first.status, again.status, again.body) == (200, 304, b"")
    for place in ("/web/pages.py", "/web/..%2fpages.py", "/web/nothing.js", "/web/"):
        assert https.call(site.url, context, "GET", place).status == 404
    foreign = {"Cookie": "__Host-precast=x", "X-Precast-Web": "1", "Sec-Fetch-Site": "cross-site"}
    assert https.call(site.url, context, "GET", "/v1/web/session", headers=foreign).status == 401
    body = json.dumps({"token": site.environment["PRECAST_TOKEN"]}).encode()
    assert https.call(site.url, context, "POST", "/v1/web/session", body).status == 403
