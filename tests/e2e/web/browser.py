"""A real browser on a server's dashboard."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import ConsoleMessage, Page, async_playwright

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed")


@asynccontextmanager
async def opened_page(url: str) -> AsyncIterator[Page]:
    """A page that is not signed in. At the end it asserts that the browser logged no error."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = await browser.new_context(ignore_https_errors=True, viewport={"width": 1200, "height": 860})
        page = await context.new_page()
        page.set_default_timeout(20_000)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message) else None)
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        await page.goto(url)
        yield page
        assert await page.evaluate("window.hurt") is None
        assert complaints == []
        await browser.close()


def _is_complaint(message: ConsoleMessage) -> bool:
    """Whether a console message is unexpected. Error responses are expected for pages without a session or without data."""
    return message.type in ("error", "warning") and "Failed to load resource" not in message.text


async def sign_in(page: Page, token: str) -> None:
    await page.get_by_label("Your token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
