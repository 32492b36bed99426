// One run, live: what happens to resources is shown as it comes, until the run is over.

import { get, Problem } from "./api.js";
import { el, fill, pairs, part, pill, table } from "./dom.js";
import { figures, outcome } from "./runs.js";
import { ago, moment, seconds, short, shown } from "./words.js";

const WAIT_S = 25;
const RETRY_MS = 3000;

export async function report(place, [id], signal) {
  const path = `/v1/reports/${part(id)}`;
  const head = el("section", {});
  const list = el("ol", { class: "events", "aria-label": "What happened", "aria-live": "polite", "aria-relevant": "additions" });
  const end = el("section", {});
  fill(place, head, el("h2", {}, "What happened"), list, end);
  let last = 0;
  let wait = 0;
  while (!signal.aborted) {
    let page;
    try {
      page = await get(`${path}/events?after=${last}&wait_s=${wait}`, signal);
    } catch (error) {
      // A server that goes is no reason to lose sight: another one may answer.
      if (!(error instanceof Problem) || ![0, 429, 503].includes(error.status)) throw error;
      await new Promise((done) => { setTimeout(done, RETRY_MS); });
      continue;
    }
    showHead(head, page.report);
    list.append(...page.events.map((one) => event(id, one)));
    const isMore = page.last > last;
    last = page.last;
    if (page.report.state !== "running" && !isMore) break;
    wait = page.report.state === "running" ? WAIT_S : 0;
  }
  if (signal.aborted) return;
  if (!list.childNodes.length) fill(list, el("li", { class: "calm" }, "Nothing: everything is as wanted."));
  await showEnd(end, path, signal);
}

function showHead(place, one) {
  fill(place,
    el("p", { class: "crumbs" }, el("a", { href: "#/runs" }, "Runs"), " / ", el("a", { href: `#/nodes/${part(one.node)}` }, one.node)),
    el("h1", {}, "Run on ", one.node, " ", pill(outcome(one)), one.state === "running" ? el("span", { class: "pulse", "aria-hidden": "true" }) : null),
    el("p", {}, figures(one)),
    pairs([
      ["Mode", one.mode === "noop" ? "no-op: it changes nothing" : one.mode], ["Because", one.reason], ["Began", `${ago(one.began_at)} (${moment(one.began_at)})`],
      ["Took", seconds(one.seconds)], ["Resources", one.resources],
      ["Catalog", one.catalog && el("code", { title: one.catalog }, short(one.catalog))], ["Release", one.release || null],
      ["Environment", one.environment && `${one.environment} at ${short(one.version) || "?"}`],
      ["Stale", one.is_stale ? "another catalog was released, or it could not be asked" : null],
      [one.state === "ended" ? "Only looked" : "Broken off", one.why], ["Lost on the way", one.lost || null],
    ]));
}

/** A resource with its events, logs and differences. All of it is text that a node has sent. */
export function event(report, one) {
  const lines = (one.events || []).map((each) => el("li", {}, each.property ? el("code", {}, each.property) : null, " ", each.message,
    each.corrective ? pill("corrective", "brought back") : null, each.diff ? el("pre", { class: "diff" }, difference(each.diff)) : null));
  const logs = (one.logs || []).map((each) => el("li", { class: "log" }, el("span", { class: "level" }, each.level), " ", each.message));
  return el("li", { "data-state": one.status },
    pill(one.status, one.status === "noop" ? "would change" : one.status), " ",
    one.status === "failed" ? el("a", { href: `#/reports/${part(report)}/${one.number}` }, one.resource) : el("span", { class: "ref" }, one.resource),
    one.file ? el("span", { class: "calm" }, ` ${one.file}${one.line ? `:${one.line}` : ""}`) : null,
    one.reason ? el("p", {}, one.reason) : null, one.hint ? el("p", { class: "calm" }, one.hint) : null,
    lines.length || logs.length ? el("ul", {}, lines, logs) : null);
}

function difference(text) {
  return text.split("\n").map((line) => el("span", { class: line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : "" }, `${line}\n`));
}

async function showEnd(place, path, signal) {
  const view = await get(path, signal);
  fill(place,
    el("h2", {}, "The rest"),
    pairs([["As wanted", view.unchanged], ["Refreshed", view.refreshed || null], ["Stale since", moment(view.stale_since)], ["Because", view.stale_why]]),
    view.slowest.length ? el("details", {}, el("summary", {}, "The slowest resources"),
      table("The slowest resources", ["Resource", "Took"], view.slowest.map((one) => [one.resource, seconds(one.seconds)]))) : null,
    Object.keys(view.phases).length ? el("details", {}, el("summary", {}, "Where the time went"),
      table("Where the time went", ["Phase", "Took"], Object.entries(view.phases).map(([name, one]) => [name, seconds(one)]))) : null,
    Object.keys(view.left_out).length ? el("details", {}, el("summary", {}, "Left out"),
      table("Left out", ["Because", "Resources"], Object.entries(view.left_out).map(([why, names]) => [why, shown(names)]))) : null);
}
