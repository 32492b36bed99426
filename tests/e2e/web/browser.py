"""A real browser that looks at a server's dashboard."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import ConsoleMessage, Page, async_playwright

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed")


@asynccontextmanager
async def looking_at(url: str) -> AsyncIterator[Page]:
    """A page that is not signed in. It ends with what the browser complained of: nothing."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = await browser.new_context(ignore_https_errors=True, viewport={"width": 1200, "height": 860})
        made = await context.new_page()
        made.set_default_timeout(20_000)
        complaints: list[str] = []
        made.on("pageerror", lambda error: complaints.append(str(error)))
        made.on("console", lambda said: complaints.append(said.text) if _is_complaint(said) else None)
        made.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        await made.goto(url)
        yield made
        assert await made.evaluate("window.hurt") is None
        assert complaints == []
        await browser.close()


def _is_complaint(said: ConsoleMessage) -> bool:
    """Answers that are errors are told too; those are expected where nobody is signed in, or where something is not there."""
    return said.type in ("error", "warning") and "Failed to load resource" not in said.text


async def sign_in(page: Page, token: str) -> None:
    await page.get_by_label("Your token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
