// The reports of runs of the whole fleet, newest first.

import { get } from "./api.js";
import { el, fill, part, pill, table } from "./dom.js";
import { ago, seconds } from "./format.js";

const PAGE = 50;

/** The outcome of a run: the worst state that applies. */
export function outcome(report) {
  if (report.state !== "ended") return report.state;
  if (report.failed) return "failed";
  if (report.pending) return "pending";
  return report.changed ? "changed" : "unchanged";
}

/** The counts of an outcome, which are independent of each other. */
export function figures(report) {
  const names = ["failed", "changed", "pending", "waiting", "skipped", "corrective"];
  return names.filter((name) => report[name]).map((name) => pill(name, `${report[name]} ${name}`));
}

export function reportRows(reports, withNode = true) {
  const heads = ["Run", ...(withNode ? ["Node"] : []), "When", "Took", "Mode", "Because", "Result"];
  return table("Runs", heads, reports.map((report) => [
    el("a", { href: `#/reports/${part(report.id)}` }, pill(outcome(report))),
    ...(withNode ? [el("a", { href: `#/nodes/${part(report.node)}` }, report.node)] : []),
    ago(report.began_at), seconds(report.seconds) || "–", report.mode || "–", report.reason || "–",
    [figures(report), report.is_stale ? pill("stale") : null, report.why || null, !report.failed && !report.changed && !report.pending && report.state === "ended" ? `${report.resources} in sync` : null],
  ]));
}

export async function runs(place, _, signal) {
  const list = el("section", { "aria-label": "Runs" });
  let only = "";
  const choices = [["", "All"], ["failed=true", "Failed"], ["changed=true", "Changed or pending"], ["state=running", "Running"]];
  const buttons = el("div", { class: "states", role: "group", "aria-label": "Which runs" });
  async function show() {
    fill(buttons, choices.map(([query, words]) => el("button", { type: "button", class: "chip", "aria-pressed": String(only === query),
      on: { click: () => { only = query; return show(); } } }, words)));
    const page = await get(`/v1/reports?limit=${PAGE}&${only}`, signal);
    fill(list, page.reports.length ? reportRows(page.reports) : el("p", { class: "calm" }, "No run matches."), page.after ? more(page.after) : null);
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
