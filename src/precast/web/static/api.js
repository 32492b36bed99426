// A client of the public API. The session is in a cookie that no script can read.

/** An error response of the server, with its code and its hint. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || "The server cannot be reached.");
    this.status = status;
    this.code = body.code || "";
    this.hint = body.hint || "";
  }
}

async function ask(method, path, body, signal) {
  // Another site cannot send this header, and the server accepts the cookie only together with it.
  const headers = { "X-Precast-Web": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin", redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, {});
  }
  const answer = response.headers.get("Content-Type")?.includes("json") ? await response.json() : {};
  if (!response.ok) throw new Problem(response.status, answer);
  return answer;
}

export const get = (path, signal) => ask("GET", path, undefined, signal);
export const post = (path, body, signal) => ask("POST", path, body, signal);
export const remove = (path) => ask("DELETE", path);

/** Run a query; the rows become objects keyed by column name. */
export async function query(body, signal) {
  const answer = await post("/v1/queries", body, signal);
  const rows = answer.rows.map((row) => Object.fromEntries(row.map((value, at) => [answer.columns[at], value])));
  return { ...answer, rows };
}
