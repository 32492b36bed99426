// Reports of runs over the whole fleet, newest first.

import { get } from "./api.js";
import { el, fill, part, pill, table } from "./dom.js";
import { ago, seconds } from "./words.js";

const PAGE = 50;

/** One word for how a run went, the worst that is true. */
export function outcome(one) {
  if (one.state !== "ended") return one.state;
  if (one.failed) return "failed";
  if (one.pending) return "pending";
  return one.changed ? "changed" : "unchanged";
}

/** The parts of an outcome, each by itself: they are independent. */
export function figures(one) {
  const found = [["failed", "failed", one.failed], ["changed", "changed", one.changed], ["pending", "would change", one.pending],
    ["waiting", "waiting", one.waiting], ["skipped", "skipped", one.skipped], ["corrective", "brought back", one.corrective]];
  return found.filter(([, , number]) => number).map(([name, words, number]) => pill(name, `${number} ${words}`));
}

export function reportRows(reports, withNode = true) {
  const heads = ["Run", ...(withNode ? ["Node"] : []), "When", "Took", "Mode", "Because", "What happened"];
  return table("Runs", heads, reports.map((one) => [
    el("a", { href: `#/reports/${part(one.id)}` }, pill(outcome(one))),
    ...(withNode ? [el("a", { href: `#/nodes/${part(one.node)}` }, one.node)] : []),
    ago(one.began_at), seconds(one.seconds) || "–", one.mode || "–", one.reason || "–",
    [figures(one), one.is_stale ? pill("stale") : null, one.why || null, !one.failed && !one.changed && !one.pending && one.state === "ended" ? `${one.resources} as wanted` : null],
  ]));
}

export async function runs(place, _, signal) {
  const list = el("section", { "aria-label": "Runs" });
  let only = "";
  const choices = [["", "All"], ["failed=true", "Failed"], ["changed=true", "Changed or would"], ["state=running", "Running"]];
  const buttons = el("div", { class: "states", role: "group", "aria-label": "Which runs" });
  async function show() {
    fill(buttons, choices.map(([query, words]) => el("button", { type: "button", class: "chip", "aria-pressed": String(only === query),
      on: { click: () => { only = query; return show(); } } }, words)));
    const page = await get(`/v1/reports?limit=${PAGE}&${only}`, signal);
    fill(list, page.reports.length ? reportRows(page.reports) : el("p", { class: "calm" }, "No such run."), page.after ? more(page.after) : null);
  }
  function more(after) {
    const button = el("button", { type: "button", on: { click: async () => {
      button.disabled = true;
      const page = await get(`/v1/reports?limit=${PAGE}&${only}&after=${part(after)}`, signal);
      button.replaceWith(...[reportRows(page.reports), page.after ? more(page.after) : null].filter(Boolean));
    } } }, "Earlier");
    return button;
  }
  fill(place, el("h1", {}, "Runs"), buttons, list);
  await show();
}
