// Shows the page for the address, and signs people in and out.

import { get, post, remove, Problem } from "./api.js";
import { el, fill } from "./dom.js";
import { fleet } from "./fleet.js";
import { node } from "./node.js";
import { queryPage } from "./query.js";
import { report } from "./report.js";
import { resource } from "./resource.js";
import { runs } from "./runs.js";

const PAGES = [
  [/^#?\/?$/, fleet],
  [/^#\/nodes\/([^/]+)$/, node],
  [/^#\/runs$/, runs],
  [/^#\/reports\/([^/]+)$/, report],
  [/^#\/reports\/([^/]+)\/([0-9]+)$/, resource],
  [/^#\/query(?:\?.*)?$/, queryPage],
];

const bar = document.getElementById("bar");
const content = document.getElementById("content");
const announcement = document.getElementById("announcement");
let pageAbort = new AbortController();

/** Announce a text, also to screen readers. */
function announce(text) {
  fill(announcement, text);
}

async function open() {
  pageAbort.abort();
  pageAbort = new AbortController();
  const { signal } = pageAbort;
  const address = location.hash;
  const [pattern, page] = PAGES.find(([pattern]) => pattern.test(address)) || [];
  for (const link of bar.querySelectorAll("nav a")) {
    const isCurrent = link.getAttribute("href") === (address || "#/");
    if (isCurrent) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (!page) {
    fill(content, el("h1", {}, "Page not found"), el("p", {}, "There is no page at this address. ", el("a", { href: "#/" }, "Go to the fleet")));
    return;
  }
  const place = el("div", {});
  fill(content, place);
  try {
    await page(place, address.match(pattern).slice(1).map(decodeURIComponent), signal);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    if (error instanceof Problem && error.status === 401) { signIn(); return; }
    const known = error instanceof Problem ? error : new Problem(0, { detail: "This page has failed because of a bug." });
    if (!(error instanceof Problem)) console.error(error);
    place.append(el("div", { class: "problem", role: "alert" },
      el("strong", {}, known.message), known.hint ? el("p", {}, known.hint) : null, known.code ? el("code", {}, known.code) : null));
  }
}

function signIn(problem = "") {
  pageAbort.abort();
  bar.hidden = true;
  const token = el("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false", "aria-describedby": "advice" });
  const button = el("button", { type: "submit" }, "Sign in");
  const form = el("form", { class: "signin", on: { submit: submitToken } },
    el("img", { src: "/web/icon.svg", alt: "", width: 48, height: 48 }),
    el("h1", {}, "Precast"),
    problem ? el("p", { class: "problem", role: "alert" }, problem) : null,
    el("label", { for: "token" }, "Your token"), token, button,
    el("p", { id: "advice", class: "calm" }, "An administrator creates one: ", el("code", {}, "precast token person NAME --role viewer"), ". It is exchanged for a session of this browser, which can read everything that your token can, and change nothing."));
  async function submitToken(event) {
    event.preventDefault();
    button.disabled = true;
    try {
      await post("/v1/web/session", { token: token.value });
      await start();
    } catch (error) {
      signIn(error.message);
    }
  }
  fill(content, form);
  token.focus();
}

async function start() {
  try {
    const session = await get("/v1/web/session");
    fill(document.getElementById("person"), session.person);
    bar.hidden = false;
    await open();
  } catch (error) {
    if (error instanceof Problem && error.status !== 401) signIn(error.message); else signIn();
  }
}

document.getElementById("leave").addEventListener("click", async () => {
  await remove("/v1/web/session").catch(() => undefined);
  location.hash = "#/";
  signIn();
  announce("You are signed out.");
});
window.addEventListener("hashchange", async () => {
  if (bar.hidden) return;
  await open();
  content.focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
start();
