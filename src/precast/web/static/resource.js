// A resource that failed: what it said, where it stands in the code, which version and release brought it, and where else it fails.

import { get, Problem } from "./api.js";
import { el, fill, pairs, part, pill, table } from "./dom.js";
import { event } from "./report.js";
import { ago, moment, short } from "./words.js";

export async function resource(place, [id, number], signal) {
  const page = await get(`/v1/reports/${part(id)}/events?after=${Number(number) - 1}`, signal);
  const one = page.events.find((each) => each.number === Number(number));
  const run = page.report;
  if (!one) throw new Problem(404, { detail: "There is no such event in this run." });
  const origin = el("section", {}, el("h2", {}, "Where it comes from"));
  const elsewhere = el("section", {}, el("h2", {}, "Where else"));
  fill(place,
    el("p", { class: "crumbs" }, el("a", { href: `#/reports/${part(id)}` }, "Run"), " / ", el("a", { href: `#/nodes/${part(run.node)}` }, run.node)),
    el("h1", {}, one.resource, " ", pill(one.status)),
    el("ol", { class: "events" }, event(id, one)), origin, elsewhere);
  await Promise.all([showOrigin(origin, run, one, signal), showElsewhere(elsewhere, one, signal)]);
}

async function showOrigin(place, run, one, signal) {
  let found;
  try {
    found = await get(`/v1/nodes/${part(run.node)}/origin?resource=${part(one.resource)}&catalog=${part(run.catalog)}`, signal);
  } catch (error) {
    if (!(error instanceof Problem) || error.status === 401) throw error;
    place.append(el("p", { class: "calm" }, one.file ? `It is declared at ${one.file}:${one.line}. ` : "", "More is not known: ", error.message, "."));
    return;
  }
  const changed = found.changed;
  if (found.text !== null) {
    place.append(el("ol", { class: "code", "aria-label": "The line that declares it" },
      el("li", { "aria-current": "true" }, el("span", { class: "at" }, found.line), el("code", {}, found.text))));
  }
  place.append(pairs([
    ["Declared at", found.file && `${found.file}:${found.line}`],
    ["Last changed in", changed && [`version ${changed.number} of ${changed.environment}, `, el("code", {}, short(changed.version))]],
    ["Commit", changed?.commit_id && el("code", {}, changed.commit_id)],
    ["Deployed", changed && `${ago(changed.deployed_at)} by ${changed.deployed_by}, from ${changed.source}`],
    ["Brought by", `release ${found.brought.number}${found.is_older ? ", or an earlier one" : ""}`],
    ["Released", `${moment(found.brought.released_at)} by ${found.brought.released_by}`],
  ]));
}

async function showElsewhere(place, one, signal) {
  const events = await get(`/v1/events?resource=${part(one.resource)}&limit=50`, signal);
  place.append(events.length ? table("The same resource", ["Node", "When", "Status", "Message"], events.map((each) => [
    el("a", { href: `#/reports/${part(each.report)}` }, each.node), ago(each.at), pill(each.status), each.message])) : el("p", { class: "calm" }, "Nowhere."));
}
