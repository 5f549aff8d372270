/* JSON from and to the server: session cookie, CSRF header, errors as sentences. */
import { say } from "./words.js";

/** A refusal or failure with a sentence a person can read; status 0 means that the server was not reached. */
export class ApiError extends Error {
  constructor(status, code, sentence) {
    super(sentence);
    this.status = status;
    this.code = code;
  }
}

async function call(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = document.querySelector('meta[name="csrf-token"]').content;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    // What a person did must arrive even when they leave the page right after; such bodies are small.
    answer = await fetch(path, { method, headers, credentials: "same-origin", keepalive: method !== "GET", body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new ApiError(0, "offline", say("offline"));
  }
  const data = (answer.headers.get("Content-Type") || "").includes("json") ? await answer.json() : {};
  if (!answer.ok) throw new ApiError(answer.status, data.error?.code ?? "refused", data.error?.sentence ?? say("failed"));
  return data;
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, body);
export const patch = (path, body) => call("PATCH", path, body);
export const put = (path, body) => call("PUT", path, body);
export const remove = (path) => call("DELETE", path);
