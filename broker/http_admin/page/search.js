// One search over everything: topics, groups, transactions, requests, clients, faults and configurations.
import { aclText } from "./acls.js";
import { Locked, get } from "./api.js";
import { byId, el } from "./dom.js";
import { ruleText } from "./faults.js";
import { clockText, count } from "./format.js";
import { hashOf } from "./route.js";
const FOUND_MAX = 6,
  LISTED_MAX = 10_000,
  WAIT_MS = 150;
const field = byId("search"),
  results = byId("search-results");
/** What a list has that fits the words, and how many there are. */
async function listed(path, words, textOf) {
  const found = (await get(path)).filter((each) => {
    const text = textOf(each).toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return { total: found.length, found };
}
async function searched(kind, words) {
  const query = new URLSearchParams({ search: words.join(" "), limit: FOUND_MAX });
  const page = await get(`/v1/search/${kind}?${query}`);
  return { total: page.total, found: page[kind] };
}
const clientText = (each) => `${each.client_id ?? ""} ${each.user} ${each.peer}`;
const configText = (each) => `${each.name} ${each.value ?? ""} ${each.resource_type} ${each.resource_name}`;
const configHash = ({ resource_type: type, resource_name: name }) =>
  ({ topic: hashOf("topics", name), group: hashOf("groups", name) })[type] ?? hashOf("brokers", name);
const requestText = (line) =>
  [`#${line.number}`, clockText(line.received_ms), line.api ?? line.kind, line.client_id, ...(line.errors ?? [])]
    .filter(Boolean)
    .join(" ");
/** The kinds of results: how they are found, what they are called, and where they are. */
const KINDS = [
  ["Topics", (words) => searched("topics", words), (each) => each.name, (each) => hashOf("topics", each.name)],
  [
    "Groups",
    (words) => searched("groups", words),
    (each) => `${each.group_id} (${each.state})`,
    (each) => hashOf("groups", each.group_id),
  ],
  [
    "Transactions",
    (words) => listed("/v1/transactions", words, (each) => each.transactional_id),
    (each) => `${each.transactional_id} (${each.state})`,
    (each) => hashOf("transactions", each.transactional_id),
  ],
  [
    "Clients",
    (words) => listed("/v1/connections", words, clientText),
    clientText,
    (each) => hashOf("connections", each.connection),
  ],
  [
    "Faults",
    (words) => listed("/v1/faults", words, (each) => ruleText(each.rule)),
    (each) => `#${each.id} ${ruleText(each.rule)}`,
    (each) => hashOf("faults", each.id),
  ],
  [
    "Configurations",
    (words) => listed(`/v1/configs?limit=${LISTED_MAX}`, words, configText),
    (each) => `${each.name}=${each.value ?? "(secret)"} of ${each.resource_type} ${each.resource_name || "all"}`,
    configHash,
  ],
  ["Access control", (words) => listed("/v1/acls", words, aclText), aclText, (acl) => hashOf("acls", ...Object.values(acl))],
  ["Requests", (words) => searched("requests", words), requestText, (each) => hashOf("requests", each.number)],
];
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
/** A part of the results; null if there is nothing. */
async function part([title, find, textOf, placeOf], words) {
  const { total, found } = await find(words);
  if (!total) return null;
  const link = (each) => el("a", { class: "row-button", href: placeOf(each) }, textOf(each));
  const more = total > FOUND_MAX ? `, the first ${FOUND_MAX}` : "";
  const head = el("p", { class: "soft" }, `${title}: ${count(total, "result")}${more}`);
  return el("div", null, head, ...found.slice(0, FOUND_MAX).map(link));
}
let timer;
async function find() {
  const text = field.value,
    words = wordsOf(text);
  if (!words.length) {
    results.hidden = true;
    return;
  }
  try {
    const parts = (await Promise.all(KINDS.map((kind) => part(kind, words)))).filter(Boolean);
    if (field.value !== text) return; // a later search shows its own results
    results.replaceChildren(...(parts.length ? parts : [el("p", { class: "empty" }, "Nothing has these words.")]));
    results.hidden = false;
  } catch (error) {
    if (error instanceof Locked) return;
    results.replaceChildren(el("p", { class: "bad" }, error.message));
    results.hidden = false;
  }
}
function close() {
  results.hidden = true;
  field.value = "";
}
field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(find, WAIT_MS);
});
results.addEventListener("click", (event) => {
  if (event.target.closest("a")) close();
});
byId("search-part").addEventListener("keydown", (event) => {
  const links = [field, ...results.querySelectorAll("a")],
    step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && field.value) results.hidden = false; // a click elsewhere has hidden them
  if (event.key === "Escape") {
    close();
    field.focus();
  } else if (event.key === "Enter" && event.target === field) links[1]?.click();
  else if (step) links[links.indexOf(document.activeElement) + step]?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("#search-part")) results.hidden = true;
});
