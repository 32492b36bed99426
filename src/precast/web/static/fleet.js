// The fleet: nodes by the outcome of their last run, by connection, and by name.

import { get, query, Problem } from "./api.js";
import { el, fill, part, pill, table } from "./dom.js";
import { ago, stateWord } from "./format.js";

const OUTCOMES = ["failed", "broken-off", "not-run", "pending", "running", "changed", "unchanged", "none"];
const STATES = ["connected", "away", "held", "new", "expired", "revoked", "deactivated"];
const FIELDS = ["name", "state", "environment", "role", "outcome", "catalog", "report.at", "seen_at"];
const PAGE = 100;
const REFRESH_MS = 5000;

export async function fleet(place, _, signal) {
  let chosen = { outcome: "", state: "", text: "" };
  const tiles = el("section", { class: "tiles", "aria-label": "Nodes by the outcome of their last run" });
  const strip = el("div", { class: "strip", "aria-hidden": "true" });
  const links = el("section", { class: "states", "aria-label": "Nodes by connection" });
  const list = el("section", { "aria-label": "Nodes" });
  const text = el("input", { type: "search", id: "filter", placeholder: "web*  ·  role = 'db'  ·  has Package[nginx]", spellcheck: "false", autocomplete: "off" });
  const form = el("form", { class: "filter", role: "search", on: { submit: (event) => { event.preventDefault(); choose({ text: text.value.trim() }); } } },
    el("label", { for: "filter" }, "Filter nodes"), text, el("button", { type: "submit" }, "Show"));
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
      showCounts(Object.fromEntries(outcomes.rows.map((row) => [row.outcome, row.count])));
      showConnections(Object.fromEntries(states.rows.map((row) => [row.state, row.count])));
      fill(list, rows(nodes.rows), nodes.after ? more(nodes.after) : null, nodes.rests_on_claims
        ? el("p", { class: "calm" }, "This result depends on facts, which nodes report about themselves.") : null);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 400) throw error;
      fill(list, el("div", { class: "problem", role: "alert" }, el("strong", {}, error.message), el("p", {}, error.hint)));
    }
  }

  function showCounts(numbers) {
    const total = Object.values(numbers).reduce((sum, number) => sum + number, 0);
    fill(tiles, OUTCOMES.filter((name) => numbers[name] || name === "failed").map((name) =>
      el("button", {
        type: "button", class: "tile", "data-state": name, "aria-pressed": String(chosen.outcome === name),
        on: { click: () => choose({ outcome: chosen.outcome === name ? "" : name }) },
      }, el("span", { class: "number" }, numbers[name] || 0), el("span", {}, stateWord(name)))));
    fill(strip, OUTCOMES.filter((name) => numbers[name]).map((name) => {
      const piece = el("span", { "data-state": name });
      piece.style.flexGrow = String(Math.max(numbers[name], total / 100));
      return piece;
    }));
  }

  function showConnections(numbers) {
    fill(links, STATES.filter((name) => numbers[name]).map((name) =>
      el("button", { type: "button", class: "chip", "aria-pressed": String(chosen.state === name), on: { click: () => choose({ state: chosen.state === name ? "" : name }) } },
        pill(name), ` ${numbers[name]}`)));
  }

  function rows(nodes) {
    if (!nodes.length) return el("p", { class: "calm" }, where() ? "No node matches." : "There are no nodes yet.");
    return table("Nodes", ["Node", "Last run", "When", "Connection", "Catalog", "Environment", "Role"], nodes.map(cells));
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
  return [
    el("a", { href: `#/nodes/${part(row.name)}` }, row.name), pill(row.outcome), row["report.at"] ? ago(row["report.at"]) : "–",
    pill(row.state), row.catalog ? pill(`catalog-${row.catalog}`, row.catalog) : "–", row.environment || "–", row.role || "–",
  ];
}

/** Refresh the page when a run begins or ends anywhere, at most once every REFRESH_MS. */
async function watch(show, signal) {
  while (!signal.aborted) {
    try {
      await get("/v1/reports?limit=1&wait_s=25", signal);
      await new Promise((done) => { setTimeout(done, REFRESH_MS); });
      if (!signal.aborted && !document.hidden && document.activeElement?.id !== "filter") await show();
    } catch (error) {
      if (signal.aborted || (error instanceof Problem && [401, 403].includes(error.status))) return;
      await new Promise((done) => { setTimeout(done, REFRESH_MS * 2); });
    }
  }
}

