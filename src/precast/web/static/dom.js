// Creates elements. Everything that a server sends is inserted as text: no code of the dashboard parses text as HTML.

import { stateWord } from "./format.js";

/** An element with attributes and children; a child that is not an element becomes text. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else if (key === "class") element.className = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter(isPresent).map(toNode));
  return element;
}

function isPresent(value) {
  return value !== null && value !== undefined && value !== false;
}

function toNode(value) {
  return value instanceof Node ? value : document.createTextNode(String(value));
}

/** Replace all children of an element. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter(isPresent).map(toNode));
}

/** A table with a head; on a phone each row becomes a card, with the column heads before the values. */
export function table(caption, heads, rows) {
  return el("div", { class: "scroll" },
    el("table", {},
      el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((cells) => el("tr", {},
        cells.map((cell, at) => el(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, "data-head": heads[at] }, cell)))))));
}

/** Names and values side by side; names without a value are omitted. */
export function pairs(list) {
  const known = list.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "pairs" }, known.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** The word for a state, in the colour of the state. The word is always printed, so that no reader depends on colours. */
export function pill(state, text = stateWord(state)) {
  return el("span", { class: "pill", "data-state": state }, text);
}

/** Encode text as a part of an address. */
export function part(text) {
  return encodeURIComponent(text);
}
