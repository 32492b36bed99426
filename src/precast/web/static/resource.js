// A failed resource: its events, where it is declared, which version and release brought it, and the nodes on which it also has events.

import { get, Problem } from "./api.js";
import { el, fill, pairs, part, pill, table } from "./dom.js";
import { event } from "./report.js";
import { ago, short, time } from "./format.js";

export async function resource(place, [id, number], signal) {
  const page = await get(`/v1/reports/${part(id)}/events?after=${Number(number) - 1}`, signal);
  const item = page.events.find((candidate) => candidate.number === Number(number));
  const run = page.report;
  if (!item) throw new Problem(404, { detail: "This run has no event with this number." });
  const origin = el("section", {}, el("h2", {}, "Where it comes from"));
  const elsewhere = el("section", {}, el("h2", {}, "On other nodes"));
  fill(place,
    el("p", { class: "crumbs" }, el("a", { href: `#/reports/${part(id)}` }, "Run"), " / ", el("a", { href: `#/nodes/${part(run.node)}` }, run.node)),
    el("h1", {}, item.resource, " ", pill(item.status)),
    el("ol", { class: "events" }, event(id, item)), origin, elsewhere);
  await Promise.all([showOrigin(origin, run, item, signal), showElsewhere(elsewhere, item, signal)]);
}

async function showOrigin(place, run, item, signal) {
  let view;
  try {
    view = await get(`/v1/nodes/${part(run.node)}/origin?resource=${part(item.resource)}&catalog=${part(run.catalog)}`, signal);
  } catch (error) {
    if (!(error instanceof Problem) || error.status === 401) throw error;
    place.append(el("p", { class: "calm" }, item.file ? `It is declared at ${item.file}:${item.line}. ` : "", "More is unknown: ", error.message, "."));
    return;
  }
  const changed = view.changed;
  if (view.text !== null) {
    place.append(el("ol", { class: "code", "aria-label": "The line that declares the resource" },
      el("li", { "aria-current": "true" }, el("span", { class: "at" }, view.line), el("code", {}, view.text))));
  }
  place.append(pairs([
    ["Declared at", view.file && `${view.file}:${view.line}`],
    ["Last changed in", changed && [`version ${changed.number} of ${changed.environment}, `, el("code", {}, short(changed.version))]],
    ["Commit", changed?.commit_id && el("code", {}, changed.commit_id)],
    ["Deployed", changed && `${ago(changed.deployed_at)} by ${changed.deployed_by}, from ${changed.source}`],
    ["Brought by", `release ${view.brought.number}${view.is_older ? ", or an earlier one" : ""}`],
    ["Released", `${time(view.brought.released_at)} by ${view.brought.released_by}`],
  ]));
}

async function showElsewhere(place, item, signal) {
  const events = await get(`/v1/events?resource=${part(item.resource)}&limit=50`, signal);
  place.append(events.length ? table("Events of the same resource", ["Node", "When", "Status", "Message"], events.map((row) => [
    el("a", { href: `#/reports/${part(row.report)}` }, row.node), ago(row.at), pill(row.status), row.message])) : el("p", { class: "calm" }, "No events on any node."));
}
