// One run, live: events are shown as they are received, until the run has ended.

import { get, Problem } from "./api.js";
import { el, fill, pairs, part, pill, table } from "./dom.js";
import { figures, outcome } from "./runs.js";
import { ago, formatValue, seconds, short, time } from "./format.js";

const WAIT_S = 25;
const RETRY_MS = 3000;

export async function report(place, [id], signal) {
  const path = `/v1/reports/${part(id)}`;
  const head = el("section", {});
  const list = el("ol", { class: "events", "aria-label": "Events", "aria-live": "polite", "aria-relevant": "additions" });
  const end = el("section", {});
  fill(place, head, el("h2", {}, "Events"), list, end);
  let last = 0;
  let wait = 0;
  while (!signal.aborted) {
    let page;
    try {
      page = await get(`${path}/events?after=${last}&wait_s=${wait}`, signal);
    } catch (error) {
      // If the server is unreachable, the page retries, because another server may answer.
      if (!(error instanceof Problem) || ![0, 429, 503].includes(error.status)) throw error;
      await new Promise((done) => { setTimeout(done, RETRY_MS); });
      continue;
    }
    showHead(head, page.report);
    list.append(...page.events.map((item) => event(id, item)));
    const isMore = page.last > last;
    last = page.last;
    if (page.report.state !== "running" && !isMore) break;
    wait = page.report.state === "running" ? WAIT_S : 0;
  }
  if (signal.aborted) return;
  if (!list.childNodes.length) fill(list, el("li", { class: "calm" }, "No events: all resources are in sync."));
  await showEnd(end, path, signal);
}

function showHead(place, run) {
  fill(place,
    el("p", { class: "crumbs" }, el("a", { href: "#/runs" }, "Runs"), " / ", el("a", { href: `#/nodes/${part(run.node)}` }, run.node)),
    el("h1", {}, "Run on ", run.node, " ", pill(outcome(run)), run.state === "running" ? el("span", { class: "pulse", "aria-hidden": "true" }) : null),
    el("p", {}, figures(run)),
    pairs([
      ["Mode", run.mode === "noop" ? "no-op: makes no changes" : run.mode], ["Because", run.reason], ["Began", `${ago(run.began_at)} (${time(run.began_at)})`],
      ["Took", seconds(run.seconds)], ["Resources", run.resources],
      ["Catalog", run.catalog && el("code", { title: run.catalog }, short(run.catalog))], ["Release", run.release || null],
      ["Environment", run.environment && `${run.environment} at ${short(run.version) || "?"}`],
      ["Stale", run.is_stale ? "another catalog was released, or no server confirmed this one" : null],
      [run.state === "ended" ? "No-op" : "Broken off", run.why], ["Lost events", run.lost || null],
    ]));
}

/** A resource with its events, log lines and differences, all of which are text that a node has sent. */
export function event(report, item) {
  const lines = (item.events || []).map((change) => el("li", {}, change.property ? el("code", {}, change.property) : null, " ", change.message,
    change.corrective ? pill("corrective") : null, change.diff ? el("pre", { class: "diff" }, difference(change.diff)) : null));
  const logs = (item.logs || []).map((log) => el("li", { class: "log" }, el("span", { class: "level" }, log.level), " ", log.message));
  return el("li", { "data-state": item.status },
    pill(item.status), " ",
    item.status === "failed" ? el("a", { href: `#/reports/${part(report)}/${item.number}` }, item.resource) : el("span", { class: "ref" }, item.resource),
    item.file ? el("span", { class: "calm" }, ` ${item.file}${item.line ? `:${item.line}` : ""}`) : null,
    item.reason ? el("p", {}, item.reason) : null, item.hint ? el("p", { class: "calm" }, item.hint) : null,
    lines.length || logs.length ? el("ul", {}, lines, logs) : null);
}

function difference(text) {
  return text.split("\n").map((line) => el("span", { class: line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : "" }, `${line}\n`));
}

async function showEnd(place, path, signal) {
  const view = await get(path, signal);
  fill(place,
    el("h2", {}, "Summary"),
    pairs([["In sync", view.unchanged], ["Refreshed", view.refreshed || null], ["Stale since", time(view.stale_since)], ["Because", view.stale_why]]),
    view.slowest.length ? el("details", {}, el("summary", {}, "Slowest resources"),
      table("Slowest resources", ["Resource", "Took"], view.slowest.map((slow) => [slow.resource, seconds(slow.seconds)]))) : null,
    Object.keys(view.phases).length ? el("details", {}, el("summary", {}, "Time by phase"),
      table("Time by phase", ["Phase", "Took"], Object.entries(view.phases).map(([name, duration]) => [name, seconds(duration)]))) : null,
    Object.keys(view.left_out).length ? el("details", {}, el("summary", {}, "Skipped"),
      table("Skipped", ["Because", "Resources"], Object.entries(view.left_out).map(([why, names]) => [why, formatValue(names)]))) : null);
}
