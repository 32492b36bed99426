// The result of a query over nodes, resources or reports as a table. The query is part of the address, so that it can be shared.

import { query, Problem } from "./api.js";
import { el, fill, part, table } from "./dom.js";
import { formatValue } from "./format.js";

const EXAMPLES = [
  ["nodes", "has Package[nginx] and not has Service[nginx]", "", ""], ["nodes", "", "", "facts.os.name,facts.os.release.major"],
  ["resources", "type = Service and parameters.ensure = stopped", "", ""], ["resources", "type = Package", "", "title,parameters.ensure"],
  ["nodes", "outcome = failed", "name,role,report.at", ""], ["nodes", "not report.age < 2h", "name,seen_at", ""],
  ["reports", "age < 1d", "", "outcome"],
];
const PAGE = 200;

function address([about, where, fields, by]) {
  return `#/query?about=${part(about)}&where=${part(where)}&fields=${part(fields)}&by=${part(by)}`;
}

function describe([about, where, fields, by]) {
  return `${about}${where ? ` where ${where}` : ""}${fields ? `, show ${fields}` : ""}${by ? `, by ${by}` : ""}`;
}

export async function queryPage(place, _, signal) {
  const given = new URLSearchParams(location.hash.split("?")[1] || "");
  const about = el("select", { id: "about" }, ["nodes", "resources", "reports"].map((name) => el("option", { selected: given.get("about") === name }, name)));
  const input = (id, hint) => el("input", { id, value: given.get(id) || "", placeholder: hint, autocomplete: "off", spellcheck: "false" });
  const where = input("where", "everything");
  const fields = input("fields", "the usual columns");
  const by = input("by", "no groups");
  const result = el("section", { "aria-label": "Answer", "aria-live": "polite" });
  fill(place, el("h1", {}, "Query"),
    el("form", { class: "query", on: { submit: (event) => {
      event.preventDefault();
      location.hash = address([about.value, where.value, fields.value, by.value]);
    } } },
    el("label", { for: "about" }, "List"), about, el("label", { for: "where" }, "where"), where,
    el("label", { for: "fields" }, "show"), fields, el("label", { for: "by" }, "or count by"), by, el("button", { type: "submit" }, "Run query")),
    result,
    el("section", {}, el("h2", {}, "Examples"), el("ul", { class: "examples" }, EXAMPLES.map((example) => el("li", {},
      el("a", { href: address(example) }, describe(example)))))));
  if (!given.has("about")) return;
  const list = (text) => (text || "").split(",").map((word) => word.trim()).filter(Boolean);
  const body = { about: given.get("about"), where: given.get("where") || "", fields: list(given.get("fields")), by: list(given.get("by")), limit: PAGE };
  try {
    await show(result, body, signal);
  } catch (error) {
    if (!(error instanceof Problem) || ![400, 404, 503].includes(error.status)) throw error;
    fill(result, el("div", { class: "problem", role: "alert" }, el("strong", {}, error.message), el("p", {}, error.hint), el("code", {}, error.code)));
  }
}

async function show(place, body, signal) {
  const answer = await query(body, signal);
  const rows = answer.rows.map((row) => answer.columns.map((name) => cell(name, row[name])));
  fill(place, el("p", { class: "calm" }, `${rows.length}${answer.after ? " and more" : ""} ${rows.length === 1 ? "row" : "rows"}`),
    rows.length ? table("Answer", answer.columns, rows) : null,
    answer.rests_on_claims ? el("p", { class: "calm" }, "This result depends on facts, which nodes report about themselves.") : null);
  if (!answer.after) return;
  const next = el("div", {});
  const button = el("button", { type: "button", on: { click: async () => { button.remove(); await show(next, { ...body, after: answer.after }, signal); } } }, "More");
  place.append(button, next);
}

function cell(name, value) {
  return (name === "node" || name === "name") && typeof value === "string" ? el("a", { href: `#/nodes/${part(value)}` }, value) : formatValue(value);
}
