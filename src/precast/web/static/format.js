// Formats times, durations, states and values for people.

const STEPS = [[60, "s"], [3600, "min"], [86400, "h"], [Infinity, "d"]];
const SIZE = { s: 1, min: 60, h: 3600, d: 86400 };

/** How long ago a time was, in one unit. */
export function ago(text) {
  if (!text) return "never";
  const seconds = Math.max(0, (Date.now() - Date.parse(text)) / 1000);
  const [, unit] = STEPS.find(([limit]) => seconds < limit);
  return seconds < 5 ? "now" : `${Math.floor(seconds / SIZE[unit])} ${unit} ago`;
}

/** A time in UTC, in the format of the command line. */
export function time(text) {
  if (!text) return null;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? String(text) : `${at.toISOString().slice(0, 19).replace("T", " ")}Z`;
}

export function seconds(value) {
  if (value === null || value === undefined) return null;
  return value < 60 ? `${value.toFixed(1)} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

/** The value of a fact or parameter on one line. */
export function formatValue(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The beginning of a digest. */
export function short(digest) {
  return digest ? digest.slice(0, 12) : null;
}

// The words for the states of runs, resources and nodes, the same as the command line prints.
const STATE_WORDS = {
  "broken-off": "broken off", "not-run": "did not run", unchanged: "in sync", noop: "pending", none: "no run yet",
};

/** The printed word for a state. */
export function stateWord(state) {
  return STATE_WORDS[state] || state;
}
