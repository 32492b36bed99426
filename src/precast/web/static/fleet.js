// The fleet by state: how the last runs ended, who is connected, and everybody by name.

import { get, query, Problem } from "./api.js";
import { el, fill, part, pill, table } from "./dom.js";
import { ago } from "./words.js";

const OUTCOMES = [
  ["failed", "failed"], ["broken-off", "broken off"], ["not-run", "not run"], ["pending", "would change"], ["running", "running now"],
  ["changed", "changed"], ["unchanged", "as wanted"], ["none", "no run yet"],
];
const STATES = ["connected", "away", "new", "expired", "revoked", "deactivated"];
const FIELDS = ["name", "state", "environment", "role", "outcome", "catalog", "report.at", "seen_at"];
const PAGE = 100;
const REST_MS = 5000;

export async function fleet(place, _, signal) {
  let chosen = { outcome: "", state: "", text: "" };
  const tiles = el("section", { class: "tiles", "aria-label": "Nodes by the outcome of their last run" });
  const strip = el("div", { class: "strip", "aria-hidden": "true" });
  const links = el("section", { class: "states", "aria-label": "Nodes by connection" });
  const list = el("section", { "aria-label": "Nodes" });
  const text = el("input", { type: "search", id: "filter", placeholder: "web*  ·  role = 'db'  ·  has Package[nginx]", spellcheck: "false", autocomplete: "off" });
  const form = el("form", { class: "filter", role: "search", on: { submit: (event) => { event.preventDefault(); choose({ text: text.value.trim() }); } } },
    el("label", { for: "filter" }, "Which nodes"), text, el("button", { type: "submit" }, "Show"));
  fill(place, el("h1", {}, "Fleet"), tiles, strip, links, form, list);

  function where() {
    const parts = [];
    if (chosen.text) parts.push(`(${chosen.text})`);
    if (chosen.outcome) parts.push(`outcome = '${chosen.outcome}'`);
    if (chosen.state) parts.push(`state = '${chosen.state}'`);
    return parts.join(" and ");
  }

  async function choose(change) {
    chosen = { ...chosen, ...change };
    await show();
  }

  async function show() {
    const within = chosen.text ? `(${chosen.text})` : "";
    try {
      const [outcomes, states, nodes] = await Promise.all([
        query({ about: "nodes", where: within, by: ["outcome"] }, signal),
        query({ about: "nodes", where: within, by: ["state"] }, signal),
        query({ about: "nodes", where: where(), fields: FIELDS, limit: PAGE }, signal),
      ]);
      counts(Object.fromEntries(outcomes.rows.map((row) => [row.outcome, row.count])));
      connections(Object.fromEntries(states.rows.map((row) => [row.state, row.count])));
      fill(list, rows(nodes.rows), nodes.after ? more(nodes.after) : null, nodes.rests_on_claims
        ? el("p", { class: "calm" }, "Facts decided here, and facts are what nodes claim.") : null);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 400) throw error;
      fill(list, el("div", { class: "problem", role: "alert" }, el("strong", {}, error.message), el("p", {}, error.hint)));
    }
  }

  function counts(found) {
    const total = Object.values(found).reduce((sum, one) => sum + one, 0);
    fill(tiles, OUTCOMES.filter(([name]) => found[name] || name === "failed").map(([name, words]) =>
      el("button", {
        type: "button", class: "tile", "data-state": name, "aria-pressed": String(chosen.outcome === name),
        on: { click: () => choose({ outcome: chosen.outcome === name ? "" : name }) },
      }, el("span", { class: "number" }, found[name] || 0), el("span", {}, words))));
    fill(strip, OUTCOMES.filter(([name]) => found[name]).map(([name]) => {
      const piece = el("span", { "data-state": name });
      piece.style.flexGrow = String(Math.max(found[name], total / 100));
      return piece;
    }));
  }

  function connections(found) {
    fill(links, STATES.filter((name) => found[name]).map((name) =>
      el("button", { type: "button", class: "chip", "aria-pressed": String(chosen.state === name), on: { click: () => choose({ state: chosen.state === name ? "" : name }) } },
        pill(name), ` ${found[name]}`)));
  }

  function rows(found) {
    if (!found.length) return el("p", { class: "calm" }, where() ? "No node is meant by this." : "There are no nodes yet.");
    return table("Nodes", ["Node", "Last run", "When", "Connection", "Catalog", "Environment", "Role"], found.map(cells));
  }

  function more(after) {
    const button = el("button", { type: "button", on: { click: async () => {
      button.disabled = true;
      const next = await query({ about: "nodes", where: where(), fields: FIELDS, limit: PAGE, after }, signal);
      button.replaceWith(...[rows(next.rows), next.after ? more(next.after) : null].filter(Boolean));
    } } }, "More");
    return button;
  }

  await show();
  watch(show, signal);
}

function cells(row) {
  const words = OUTCOMES.find(([name]) => name === row.outcome)?.[1] || row.outcome;
  return [
    el("a", { href: `#/nodes/${part(row.name)}` }, row.name), pill(row.outcome, words), row["report.at"] ? ago(row["report.at"]) : "–",
    pill(row.state), row.catalog ? pill(`catalog-${row.catalog}`, row.catalog) : "–", row.environment || "–", row.role || "–",
  ];
}

/** Look again when a run began or ended anywhere, and not more often than now and then. */
async function watch(show, signal) {
  while (!signal.aborted) {
    try {
      await get("/v1/reports?limit=1&wait_s=25", signal);
      await new Promise((done) => { setTimeout(done, REST_MS); });
      if (!signal.aborted && !document.hidden && document.activeElement?.id !== "filter") await show();
    } catch (error) {
      if (signal.aborted || (error instanceof Problem && [401, 403].includes(error.status))) return;
      await new Promise((done) => { setTimeout(done, REST_MS * 2); });
    }
  }
}

