// Finds the page for an address, and lets people in and out.

import { get, post, remove, Problem } from "./api.js";
import { el, fill } from "./dom.js";
import { fleet } from "./fleet.js";
import { node } from "./node.js";
import { asking } from "./query.js";
import { report } from "./report.js";
import { resource } from "./resource.js";
import { runs } from "./runs.js";

const PAGES = [
  [/^#?\/?$/, fleet],
  [/^#\/nodes\/([^/]+)$/, node],
  [/^#\/runs$/, runs],
  [/^#\/reports\/([^/]+)$/, report],
  [/^#\/reports\/([^/]+)\/([0-9]+)$/, resource],
  [/^#\/query(?:\?.*)?$/, asking],
];

const bar = document.getElementById("bar");
const content = document.getElementById("content");
const said = document.getElementById("said");
let stopping = new AbortController();

/** Say something to everybody, also to those who do not see the page. */
function tell(text) {
  fill(said, text);
}

async function open() {
  stopping.abort();
  stopping = new AbortController();
  const { signal } = stopping;
  const address = location.hash;
  const [form, page] = PAGES.find(([one]) => one.test(address)) || [];
  for (const link of bar.querySelectorAll("nav a")) {
    const here = link.getAttribute("href") === (address || "#/");
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (!page) {
    fill(content, el("h1", {}, "Nothing here"), el("p", {}, "This address leads nowhere. ", el("a", { href: "#/" }, "To the fleet")));
    return;
  }
  const place = el("div", {});
  fill(content, place);
  try {
    await page(place, address.match(form).slice(1).map(decodeURIComponent), signal);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    if (error instanceof Problem && error.status === 401) { signIn(); return; }
    const known = error instanceof Problem ? error : new Problem(0, { detail: "This page has failed." });
    if (!(error instanceof Problem)) console.error(error);
    place.append(el("div", { class: "problem", role: "alert" },
      el("strong", {}, known.message), known.hint ? el("p", {}, known.hint) : null, known.code ? el("code", {}, known.code) : null));
  }
}

function signIn(problem = "") {
  stopping.abort();
  bar.hidden = true;
  const token = el("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false", "aria-describedby": "advice" });
  const button = el("button", { type: "submit" }, "Sign in");
  const form = el("form", { class: "signin", on: { submit: enter } },
    el("img", { src: "/web/icon.svg", alt: "", width: 48, height: 48 }),
    el("h1", {}, "Precast"),
    problem ? el("p", { class: "problem", role: "alert" }, problem) : null,
    el("label", { for: "token" }, "Your token"), token, button,
    el("p", { id: "advice", class: "calm" }, "An administrator makes one: ", el("code", {}, "precast token person NAME --role viewer"), ". It is exchanged for a session of this browser, which can look at everything your token can, and change nothing."));
  async function enter(event) {
    event.preventDefault();
    button.disabled = true;
    try {
      await post("/v1/web/session", { token: token.value });
      await begin();
    } catch (error) {
      signIn(error.message);
    }
  }
  fill(content, form);
  token.focus();
}

async function begin() {
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
  tell("You are signed out.");
});
window.addEventListener("hashchange", async () => {
  if (bar.hidden) return;
  await open();
  content.focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
begin();
