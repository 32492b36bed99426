// A resource that failed: what it said, where it stands in the code, which version and release brought it, and where else it fails.

import { get, Problem } from "./api.js";
import { el, fill, part, table } from "./dom.js";
import { event } from "./report.js";
import { ago } from "./words.js";

export async function resource(place, [id, number], signal) {
  const page = await get(`/v1/reports/${part(id)}/events?after=${Number(number) - 1}`, signal);
  const one = page.events.find((each) => each.number === Number(number));
  const run = page.report;
  if (!one) throw new Problem(404, { detail: "There is no such event in this run." });
  const elsewhere = el("section", {}, el("h2", {}, "Where else"));
  fill(place,
    el("p", { class: "crumbs" }, el("a", { href: `#/reports/${part(id)}` }, "Run"), " / ", el("a", { href: `#/nodes/${part(run.node)}` }, run.node)),
    el("h1", {}, one.resource),
    el("ol", { class: "events" }, event(id, one)),
    elsewhere);
  const events = await get(`/v1/events?resource=${part(one.resource)}&limit=50`, signal);
  elsewhere.append(events.length ? table("The same resource", ["Node", "When", "Status", "Message"], events.map((each) => [
    el("a", { href: `#/reports/${part(each.report)}` }, each.node), ago(each.at), each.status, each.message])) : el("p", { class: "calm" }, "Nowhere."));
}
