// One node: its state, its staged and served catalogs and the reads that decided them, its runs, its facts.

import { get, Problem } from "./api.js";
import { el, fill, pairs, part, pill, table } from "./dom.js";
import { reportRows } from "./runs.js";
import { ago, time, short, formatValue } from "./format.js";

const FACTS_SHOWN = 400;

export async function node(place, [name], signal) {
  const path = `/v1/nodes/${part(name)}`;
  const view = await get(path, signal);
  const row = view.node;
  const catalog = el("section", {}, el("h2", {}, "Catalog"));
  const reports = el("section", {}, el("h2", {}, "Runs"));
  const facts = el("section", {}, el("h2", {}, "Facts"));
  fill(place,
    el("p", { class: "crumbs" }, el("a", { href: "#/" }, "Fleet")),
    el("h1", {}, row.name, " ", pill(row.state)),
    pairs([
      ["Environment", row.environment], ["Role", row.role], ["Classes", Object.keys(view.classes).join(", ")],
      ["Last seen", row.seen_at && `${ago(row.seen_at)} (${time(row.seen_at)})`],
      ["Connected to", view.session?.server], ["Address", view.session?.address], ["Agent", view.session?.agent],
      ["Enrolled", time(row.created_at)], ["Certified until", time(row.certified_until)],
      ["Decision on its facts", view.decision],
    ]),
    catalog, reports, facts);
  await Promise.all([
    section(catalog, () => showCatalog(catalog, path, signal)),
    section(reports, () => showReports(reports, name, signal)),
    section(facts, () => showFacts(facts, path, signal)),
  ]);
}

/** Show an error inside its own section, so that the rest of the page stays visible. */
async function section(place, show) {
  try {
    await show();
  } catch (error) {
    if (!(error instanceof Problem) || error.status === 401) throw error;
    place.append(el("p", { class: "calm" }, error.message, "."));
  }
}

async function showCatalog(place, path, signal) {
  const view = await get(`${path}/catalog`, signal);
  place.append(pairs([
    ["State", pill(view.error ? "failed" : "unchanged", view.state)],
    ["Served", view.released && el("code", { title: view.released }, short(view.released))],
    ["Released", view.released_at && `${ago(view.released_at)} by ${view.released_by}`],
    ["Staged", view.staged && el("code", { title: view.staged }, short(view.staged))],
    ["Decided", ago(view.decided_at)], ["Environment", `${view.environment} at ${short(view.version)}`],
  ]));
  if (view.error) place.append(el("pre", { class: "bad" }, view.error));
  if (view.staged && view.staged !== view.released) {
    const changes = await get(`${path}/catalog/difference`, signal);
    place.append(el("details", {}, el("summary", {}, `Pending changes of a release: ${changes.length}`),
      table("Changes", ["Resource", "Change", "Parameters"], changes.slice(0, 200).map((change) =>
        [change.ref, change.kind, change.parameters.map((parameter) => el("div", {}, parameter.name, ": ",
          "before" in parameter ? el("del", {}, formatValue(parameter.before)) : null, " ", "after" in parameter ? el("ins", {}, formatValue(parameter.after)) : null))]))));
  }
  const reads = el("div", {});
  place.append(el("details", { on: { toggle: async (event) => {
    if (!event.target.open || reads.childNodes.length) return;
    await section(reads, async () => {
      const why = await get(`${path}/catalog/why`, signal);
      fill(reads, table("Reads", ["Question", "About", "Answer"], why.reads.map((read) => [read.question, read.about, read.answer])));
    });
  } } }, el("summary", {}, "Why this catalog"), reads));
}

async function showReports(place, name, signal) {
  const page = await get(`/v1/reports?node=${part(name)}&limit=20`, signal);
  place.append(page.reports.length ? reportRows(page.reports, false) : el("p", { class: "calm" }, "It has not reported a run yet."));
}

async function showFacts(place, path, signal) {
  const view = await get(`${path}/facts`, signal);
  const leaves = [...flatten(view.facts, "")];
  const list = el("div", {});
  const search = el("input", { type: "search", id: "facts", placeholder: "os.release", autocomplete: "off", spellcheck: "false", on: { input: show } });
  function show() {
    const words = search.value.trim().toLowerCase();
    const matches = leaves.filter(([name, value]) => `${name} ${formatValue(value)}`.toLowerCase().includes(words));
    fill(list, table("Facts", ["Fact", "Value"], matches.slice(0, FACTS_SHOWN).map(([name, value]) => [el("code", {}, name), formatValue(value)])),
      matches.length > FACTS_SHOWN ? el("p", { class: "calm" }, `and ${matches.length - FACTS_SHOWN} more`) : null);
  }
  place.append(el("p", { class: "calm" }, `Reported by the node itself, received ${ago(view.received_at)}.`),
    el("details", {}, el("summary", {}, `${leaves.length} facts`), el("div", { class: "filter" }, el("label", { for: "facts" }, "Find"), search), list));
  show();
}

function* flatten(value, path) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value)) yield* flatten(inner, path ? `${path}.${name}` : name);
  } else {
    yield [path, value];
  }
}
