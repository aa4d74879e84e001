// Requests as they come, and the details of one beside its row.
import { ruleText } from "./acls.js";
import { Locked, act, get, getText, headers } from "./api.js";
import { byId, el, empty, morph, name } from "./dom.js";
import { clockText, number, span } from "./format.js";
import { jsonMembers, jsonParts } from "./json.js";
import { Paging } from "./paging.js";
import { opens, route } from "./route.js";
const LINES_MAX = 400,
  SHOWN_MAX = 200,
  INTERVAL_MS = 500;
const lines = new Map();
let paused = false,
  dirty = false,
  isBehind = false, // some lines were not sent, and not read since
  lost = 0,
  came = 0;
/** The number of the line that is open, or null. */
const picked = () => (route()[0] === "requests" && route()[1] ? Number(route()[1]) : null);
function take(kind, data) {
  if (kind === "lost") {
    lost += data.count;
    isBehind = true;
    return;
  }
  if (!lines.has(data.number)) came += 1;
  lines.set(data.number, data);
  while (lines.size > LINES_MAX) lines.delete(lines.keys().next().value);
  dirty = true;
}
/** Read the newest lines; return the number of the last one. */
async function readNewest() {
  const newest = await get(`/v1/requests?bodies=false&limit=${SHOWN_MAX}`);
  isBehind = false;
  for (const line of newest) take(line.kind, line);
  return newest.at(-1)?.number ?? 0;
}
/** Read what was lost, after a rest: under load there is always something. */
async function catchUp() {
  const beganMs = performance.now();
  try {
    if (isBehind && !paused && !document.hidden && isLive()) await readNewest();
  } catch {
    // The stream of events says that the broker is gone.
  }
  setTimeout(catchUp, Math.max(1000, 10 * (performance.now() - beganMs)));
}
catchUp();
function result(line) {
  if (line.kind === "disconnect") return [el("span", { class: "soft" }, line.reason)];
  const tags = (line.errors || []).map((error) => el("span", { class: "tag bad" }, error));
  if (line.outcome === "waiting") tags.push(el("span", { class: "tag" }, "waits"));
  if (line.outcome === "closed")
    tags.push(el("span", { class: "tag warn", title: line.close_reason }, "connection closed"));
  if (line.outcome === "refused") tags.push(el("span", { class: "tag bad" }, "refused"));
  if (line.outcome === "delayed")
    tags.push(el("span", { class: "tag" }, `read after ${span(line.delay_ms)}`));
  if (line.outcome === "no_response") tags.push(el("span", { class: "soft" }, "no response wanted"));
  for (const [quota, ms] of Object.entries(line.shadow_throttle_times_ms || {}))
    tags.push(
      " ",
      el("span", { class: "tag", title: `${quota} is in shadow mode` }, `${quota} would wait ${span(ms)}`),
    );
  for (const denial of line.denials || []) {
    const what = `denied ${denial.operation} ${denial.resource_type} ${denial.resource_name}`;
    tags.push(" ", el("span", { class: "tag bad", title: ruleText(denial) }, what));
  }
  if (line.fault) tags.push(" ", el("span", { class: "tag fault", title: line.fault }, line.fault));
  return tags.length ? tags : [el("span", { class: "good" }, "ok")];
}
function lineRow(line) {
  const isRequest = line.kind === "request",
    isOpen = picked() === line.number;
  return el(
    "tr",
    { id: `line-${line.number}`, class: isOpen ? "picked" : null },
    el("td", { class: "num soft" }, line.number),
    el("td", { class: "mono nowrap" }, clockText(line.received_ms)),
    el(
      "td",
      { class: "nowrap" },
      el(
        "button",
        {
          id: `open-${line.number}`,
          class: "quiet row-button",
          "aria-controls": "detail",
          ...opens(isOpen, ["requests", line.number]),
        },
        isRequest
          ? line.api
          : el(
              "span",
              { class: "soft" },
              line.kind === "connection" ? "new connection" : "end of connection",
            ),
        isRequest ? el("span", { class: "soft" }, ` v${line.version}`) : null,
      ),
    ),
    name(line.client_id),
    name(line.user),
    el("td", { class: "num" }, line.broker),
    el(
      "td",
      { class: "words" },
      isRequest
        ? [...line.topics, ...line.groups].slice(0, 6).join(", ")
        : line.peer || `connection ${line.connection}`,
    ),
    el("td", null, ...result(line)),
    el("td", { class: "num warn" }, line.throttle_time_ms ? span(line.throttle_time_ms) : ""),
    el(
      "td",
      { class: "num soft" },
      isRequest && line.duration_us !== null
        ? line.duration_us < 1000
          ? `${line.duration_us} µs`
          : line.duration_us < 1e6
            ? `${number(line.duration_us / 1000)} ms`
            : span(line.duration_us / 1000)
        : "",
    ),
  );
}
/** How many lines there are and, of a search or an older page, those that it found. */
let found = null,
  finding = false,
  sought = 0,
  nextFindMs = 0;
const isLive = () => !paging.search && paging.offset === 0;
const paging = new Paging("requests", SHOWN_MAX, () => {
  dirty = true;
  find();
});
/** Search the journal; a search that has changed meanwhile begins again. */
async function find() {
  if (finding) return;
  finding = true;
  const beganMs = performance.now();
  sought = came;
  try {
    for (let query = null; query !== String(paging.query); ) {
      query = String(paging.query);
      found = isLive()
        ? { total: (await get("/v1/requests/status")).lines }
        : await get(`/v1/search/requests?${query}`);
    }
    dirty = true;
    draw();
  } catch (error) {
    if (!(error instanceof Locked)) console.warn(error);
  } finally {
    finding = false;
    // A search of a long journal takes a while: the broker is to do other things, too.
    nextFindMs = performance.now() + Math.max(1000, 10 * (performance.now() - beganMs));
  }
}
function draw() {
  if (!dirty || paused) return;
  dirty = false;
  const shown = (!isLive() && found?.requests) || [...lines.values()].sort((a, b) => b.number - a.number).slice(0, SHOWN_MAX);
  morph(byId("lines"), shown.map(lineRow));
  byId("no-lines").hidden = shown.length > 0;
  byId("no-lines").textContent = paging.search ? "No request has these words." : "No requests yet.";
  const seen = `${number(came)} seen${lost ? `, ${number(lost)} too quick to show` : ""}`;
  byId("requests-count").textContent = paging.search && found ? `${number(found.total)} found` : seen;
  paging.show(found ? found.total : lines.size);
}
setInterval(draw, 250);
// What has come since the last search may belong to its results.
setInterval(() => {
  if (came !== sought && !paused && !document.hidden && performance.now() > nextFindMs) find();
}, 250);
byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").textContent = paused ? "Go on" : "Pause";
  byId("pause").className = paused ? "on" : "";
  dirty = true;
  draw();
});
byId("clear-shadow").addEventListener("click", async () => {
  await act("DELETE", "/v1/quotas/shadow");
});
byId("clear-requests").addEventListener("click", async () => {
  await act("DELETE", "/v1/requests");
  lines.clear();
  came = lost = 0;
  dirty = true;
  await find();
});
byId("lines").addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row && !event.target.closest("button")) row.querySelector("button").click();
});
const block = (title, ...parts) =>
  el("div", null, el("b", null, title), el("pre", { tabindex: 0 }, ...parts));
const textOf = (member) => (member === undefined ? null : JSON.parse(member));
const hexText = (hex) => hex.replace(/(..)/g, "$1 ").replace(/(.{48})/g, "$1\n");
let detailed = null;
/** Show the line that is open beside the list. */
async function showDetail() {
  dirty = true;
  draw();
  const opened = picked();
  if (opened === detailed) return;
  detailed = opened;
  byId("detail").hidden = opened === null;
  if (opened === null) return;
  let parts;
  try {
    // Numbers of 64 bits are more than JavaScript's numbers can hold, so they stay text.
    const members = jsonMembers(await getText(`/v1/requests/${opened}`));
    const [request, response, requestHex, responseHex] = [
      "request",
      "response",
      "request_hex",
      "response_hex",
    ].map((key) => {
      const member = members.get(key);
      members.delete(key);
      return member;
    });
    const isRequest = textOf(members.get("kind")) === "request",
      fault = textOf(members.get("fault"));
    const rest = [...members].map(([key, member]) => `${JSON.stringify(key)}:${member}`).join(",");
    parts = [
      fault ? block("Fault", fault) : null,
      block("Details", ...jsonParts(`{${rest}}`)),
      isRequest ? block("Request", ...jsonParts(request)) : null,
      isRequest ? block("Response", ...jsonParts(response)) : null,
      textOf(requestHex) ? block("Frame of the request", hexText(textOf(requestHex))) : null,
      textOf(responseHex) ? block("Frame of the response", hexText(textOf(responseHex))) : null,
    ];
  } catch (error) {
    if (error instanceof Locked) return;
    parts = [empty("The journal no longer has this entry.")];
  }
  if (picked() !== opened) return;
  const close = el("button", { class: "quiet", "data-open": "#/" }, "Close");
  const head = el(
    "div",
    { class: "line" },
    el("b", null, `Request ${opened}`),
    el("span", { class: "push" }),
    close,
  );
  byId("detail").replaceChildren(head, el("div", { class: "parts" }, ...parts));
}
addEventListener("hashchange", showDetail);
showDetail();
export async function follow() {
  for (;;) {
    try {
      // It may be another broker than before, whose lines have the same numbers.
      lines.clear();
      came = lost = 0;
      let since = await readNewest();
      const response = await fetch(`/v1/requests/events?bodies=false&since=${since}&interval_ms=${INTERVAL_MS}`, {
        headers: headers(),
      });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const events = text.split("\n\n");
        text = events.pop();
        for (const event of events) {
          const fields = Object.fromEntries(
            event
              .split("\n")
              .map((part) => [part.slice(0, part.indexOf(":")), part.slice(part.indexOf(":") + 2)]),
          );
          if (!fields.data) continue;
          const data = JSON.parse(fields.data);
          if (data.number > since) since = data.number;
          take(fields.event, data);
        }
      }
    } catch (error) {
      if (error instanceof Locked) return;
    }
    await new Promise((go) => setTimeout(go, 1000));
  }
}
