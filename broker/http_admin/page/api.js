// Requests to the admin port.
import { byId, visible } from "./dom.js";
let token = sessionStorage.getItem("token") || "";
export const headers = () => (token ? { Authorization: `Bearer ${token}` } : {});
export const hasToken = () => token !== "";
let noticeTimer;
export function notify(text) {
  byId("notice").textContent = visible(text);
  byId("notice").hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => {
    byId("notice").hidden = true;
  }, 6000);
}
function showLogin() {
  const dialog = byId("login");
  if (dialog.open) return;
  if (token) dialog.querySelector(".problem").textContent = "The port does not accept this token.";
  dialog.showModal();
}
export class Locked extends Error {}
/** The broker does not answer. */
export class Gone extends Error {}
/** A proxy does not have what only the cluster behind it has. */
export class NotHere extends Error {}
const ANSWER_MAX_MS = 10_000;
async function send(method, path, body, moreHeaders) {
  const options = { method, headers: { ...headers(), ...moreHeaders } };
  if (body !== undefined) options.body = JSON.stringify(body);
  if (method === "GET") options.signal = AbortSignal.timeout(ANSWER_MAX_MS);
  let response, text;
  try {
    response = await fetch(path, options);
    text = await response.text();
  } catch {
    throw new Gone("The broker does not answer.");
  }
  if (response.status === 401) {
    showLogin();
    throw new Locked();
  }
  if (response.status === 501) throw new NotHere(JSON.parse(text).detail);
  if (!response.ok && response.status !== 304) throw new Error(JSON.parse(text).detail);
  return { response, text };
}
/** The body of a response as it is written. */
export const getText = async (path) => (await send("GET", path)).text;
export async function ask(method, path, body) {
  const { text } = await send(method, path, body);
  return text ? JSON.parse(text) : null;
}
const KEPT_MAX = 64;
const kept = new Map();
/** Read JSON; what has not changed since it was read last is the same object, and is not sent again. */
export async function get(path) {
  const before = kept.get(path);
  const { response, text } = await send(
    "GET",
    path,
    undefined,
    before && { "If-None-Match": before.etag },
  );
  kept.delete(path);
  const value = response.status === 304 ? before.value : JSON.parse(text);
  kept.set(path, { etag: response.headers.get("ETag"), value });
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
  return value;
}
const lists = new Map();
/** Read a page of topics or groups; of a page that was read before only what has changed is sent. */
export async function getPage(kind, query, nameOf) {
  const address = `/v1/search/${kind}?${query}`;
  let { version, elements } = lists.get(address) ?? { version: "", elements: new Map() };
  const found = await get(`${address}&since=${version}`);
  if (!found.are_changes) elements = new Map();
  for (const element of found[kind]) elements.set(nameOf(element), element);
  for (const other of lists.keys()) if (other.startsWith(`/v1/search/${kind}?`)) lists.delete(other);
  lists.set(address, { version: found.version, elements });
  return { total: found.total, elements: [...elements.values()] };
}
export async function act(method, path, body) {
  try {
    await ask(method, path, body);
    document.dispatchEvent(new Event("changed"));
  } catch (error) {
    if (!(error instanceof Locked)) notify(error.message);
  }
}
/** Attributes of a button that sends a request. */
export const asks = (...request) => ({ "data-request": JSON.stringify(request) });
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-request]");
  if (button) act(...JSON.parse(button.dataset.request));
});

byId("login")
  .querySelector("form")
  .addEventListener("submit", (event) => {
    event.preventDefault();
    token = byId("token").value;
    sessionStorage.setItem("token", token);
    location.reload();
  });
