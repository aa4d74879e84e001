// Requests to the admin port.
import { byId, visible } from "./dom.js";
let token = sessionStorage.getItem("token") || "";
export const headers = () => (token ? { Authorization: `Bearer ${token}` } : {});
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
/** The body of a response as it is written. */
export async function askText(method, path, body) {
  const options = { method, headers: headers() };
  if (body !== undefined) options.body = JSON.stringify(body);
  const response = await fetch(path, options);
  if (response.status === 401) {
    showLogin();
    throw new Locked();
  }
  const text = await response.text();
  if (!response.ok) throw new Error(JSON.parse(text).detail);
  return text;
}
export async function ask(method, path, body) {
  const text = await askText(method, path, body);
  return text ? JSON.parse(text) : null;
}
export const get = (path) => ask("GET", path);
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
