// The public API, as any client sees it. The session is in a cookie that no script can read.

/** What the server refused, with its code and its advice. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || "The server cannot be reached.");
    this.status = status;
    this.code = body.code || "";
    this.hint = body.hint || "";
  }
}

async function ask(method, path, body, signal) {
  // The header is what another site cannot send: the server takes a cookie only beside it.
  const headers = { "X-Precast-Web": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let came;
  try {
    came = await fetch(path, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin", redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, {});
  }
  const answer = came.headers.get("Content-Type")?.includes("json") ? await came.json() : {};
  if (!came.ok) throw new Problem(came.status, answer);
  return answer;
}

export const get = (path, signal) => ask("GET", path, undefined, signal);
export const post = (path, body, signal) => ask("POST", path, body, signal);
export const remove = (path) => ask("DELETE", path);

/** A query; rows as objects by the names of their columns. */
export async function query(body, signal) {
  const answer = await post("/v1/queries", body, signal);
  const rows = answer.rows.map((row) => Object.fromEntries(row.map((value, at) => [answer.columns[at], value])));
  return { ...answer, rows };
}
