// Times, durations and values in words.

const STEPS = [[60, "s"], [3600, "min"], [86400, "h"], [Infinity, "d"]];
const SIZE = { s: 1, min: 60, h: 3600, d: 86400 };

/** How long ago, in one unit. */
export function ago(text) {
  if (!text) return "never";
  const seconds = Math.max(0, (Date.now() - Date.parse(text)) / 1000);
  const [, unit] = STEPS.find(([limit]) => seconds < limit);
  return seconds < 5 ? "now" : `${Math.floor(seconds / SIZE[unit])} ${unit} ago`;
}

/** A moment as tables have it, in UTC, as the command line prints it. */
export function moment(text) {
  if (!text) return null;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? String(text) : `${at.toISOString().slice(0, 19).replace("T", " ")}Z`;
}

export function seconds(value) {
  if (value === null || value === undefined) return null;
  return value < 60 ? `${value.toFixed(1)} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

/** Any value of a fact or parameter on one line. */
export function shown(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function short(digest) {
  return digest ? digest.slice(0, 12) : null;
}

export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}
