// Makes elements. Whatever comes from a server is text: nothing here, and nothing that uses it, ever reads text as HTML.

/** An element with attributes and children; a child that is no element is its text. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false).map(child));
  return made;
}

function child(one) {
  return one instanceof Node ? one : document.createTextNode(String(one));
}

/** Put children in the place of what is there. */
export function fill(place, ...children) {
  place.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false).map(child));
}

/** A table with a head; on a phone each row becomes a card, with the heads before the values. */
export function table(caption, heads, rows) {
  return el("div", { class: "scroll" },
    el("table", {},
      el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((cells) => el("tr", {},
        cells.map((cell, at) => el(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, "data-head": heads[at] }, cell)))))));
}

/** Names and values side by side; what has no value is left out. */
export function pairs(list) {
  const known = list.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "pairs" }, known.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A word with the colour of what it means. The word is always there: nobody needs to tell colours apart. */
export function pill(word, text = word) {
  return el("span", { class: "pill", "data-state": word }, text);
}

/** Part of an address: anything can be in a name. */
export function part(text) {
  return encodeURIComponent(text);
}
