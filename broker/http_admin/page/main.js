// Read the state of the cluster once a second and show it.
import { aclsPart, decisionsPart, readDecisions } from "./acls.js";
import { Gone, Locked, NotHere, get, getPage } from "./api.js";
import { brokerCard } from "./brokers.js";
import { clock, showClock, stopClock } from "./clock.js";
import { configRow } from "./configs.js";
import { connectionRow } from "./connections.js";
import { byId, empty, show, table } from "./dom.js";
import { faultRow } from "./faults.js";
import { clockText, count, number } from "./format.js";
import { GROUPS_MAX, lagOf, readOffsets, showGroups } from "./groups.js";
import { readMessages } from "./messages.js";
import { Paging } from "./paging.js";
import { filterRow, quotaPart, quotaRows, shadowRow } from "./quotas.js";
import { follow } from "./requests.js";
import { route, scrollToOpened } from "./route.js";
import { TOPICS_MAX, showTopics } from "./topics.js";
import { isPrepared, rank, transactionTable } from "./transactions.js";
import "./forms.js";
import "./help.js";
import "./search.js";
const topicPaging = new Paging("topics", TOPICS_MAX, look),
  groupPaging = new Paging("groups", GROUPS_MAX, look);
/** The listed ones, with the one that is open first if it is on another page. */
async function withOpened(kind, listed, nameOf) {
  const [openedKind, opened] = route();
  if (openedKind !== kind || !opened || listed.some((each) => nameOf(each) === opened)) return listed;
  try {
    return [await get(`/v1/${kind}/${encodeURIComponent(opened)}`), ...listed];
  } catch (error) {
    if (error instanceof Locked || error instanceof Gone) throw error;
    return listed; // there is none with this name
  }
}
const topicName = (topic) => topic.name,
  groupId = (group) => group.group_id;
/** Say across the page that the broker is gone, or that it is here again. */
function showGone(isGone) {
  byId("pulse").className = isGone ? "down" : "up";
  if (isGone && byId("gone").hidden) {
    byId("gone").textContent =
      `The broker at ${location.host} has not answered since ${clockText(Date.now()).slice(0, 8)}. ` +
      "The page shows what was last known, and tries again every second.";
    stopClock();
  }
  byId("gone").hidden = !isGone;
}
const REST_MS = 1000;
let looking = false,
  lookAgain = false;
const NO_PAGE = { total: 0, elements: [] };
/** What a list is shown in, by its path, if a proxy does not have it. */
const PARTS = { "/v1/transactions": "transactions", "/v1/acls": "acls" };
/** Return a list, or an empty one in place of what is not here, whose part of the page is hidden then. */
async function ifHere(part, list, nothing) {
  try {
    return await list;
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    if (part) byId(part).closest("section").hidden = true;
    return nothing;
  }
}
async function look() {
  if (looking) {
    lookAgain = true;
    return;
  }
  looking = true;
  try {
    const paths = [
      "/healthz",
      "/v1/clock",
      "/v1/brokers",
      "/v1/connections",
      "/v1/quotas",
      "/v1/quotas/live",
      "/v1/quotas/shadow",
      "/v1/producer-id-filters",
      "/v1/faults",
      "/v1/transactions",
      "/v1/configs?effect=missing&limit=100",
      "/v1/acls",
    ];
    const [foundTopics, foundGroups, ...found] = await Promise.all([
      ifHere("topics", getPage("topics", topicPaging.query, topicName), NO_PAGE),
      ifHere("groups", getPage("groups", groupPaging.query, groupId), NO_PAGE),
      ...paths.map((path) => ifHere(PARTS[path], get(path), [])),
    ]);
    const [health, time, listed, connections, quotas, live, shadow, filters, faults, transactions, ...rest] =
      found;
    const [configs, acls] = rest;
    const brokers = listed.filter((each) => each.node_id >= 0); // -1 is the bootstrap port of a proxy
    const topics = await withOpened("topics", foundTopics.elements, topicName);
    const groups = await withOpened("groups", foundGroups.elements, groupId);
    await readMessages(topics, brokers);
    await readOffsets(groups);
    showGone(false);
    byId("cluster").textContent = health.cluster_id;
    showClock(time);
    byId("brokers-count").textContent =
      `${brokers.filter((each) => each.is_alive).length} of ${brokers.length} up`;
    show("brokers", brokers, () => brokers.map(brokerCard));
    byId("configs-part").hidden = !configs.length;
    byId("configs-count").textContent = `${count(configs.length, "key")} without an effect`;
    show("configs", configs, () => table(["Key", "Of", "Why"], configs.map(configRow)));
    topicPaging.show(foundTopics.total);
    byId("topics-count").textContent = foundTopics.total ? number(foundTopics.total) : "";
    showTopics(topics, brokers, topicPaging.search);
    const ongoing = transactions.filter((each) => rank(each) === 0).length,
      prepared = transactions.filter(isPrepared).length;
    byId("transactions-count").textContent = transactions.length
      ? `${ongoing} ongoing${prepared ? `, ${prepared} prepared` : ""} · ${count(transactions.length, "id")}`
      : "";
    show("transactions", [transactions, location.hash], ([listed]) => transactionTable(listed));
    const memberCount = foundGroups.elements.reduce((sum, group) => sum + group.members.length, 0);
    const lag = foundGroups.elements.reduce((sum, group) => sum + lagOf(group), 0);
    groupPaging.show(foundGroups.total);
    const areAll = foundGroups.total === foundGroups.elements.length;
    byId("groups-count").textContent = foundGroups.total
      ? `${count(foundGroups.total, "group")}${areAll ? ` · ${count(memberCount, "member")}${lag ? ` · lag ${number(lag)}` : ""}` : ""}`
      : "";
    // The epoch of a share session changes with every fetch, and is not shown.
    for (const member of groups.flatMap((group) => group.members)) delete member.sessions;
    showGroups(groups, groupPaging.search);
    byId("connections-count").textContent = connections.length || "";
    const muted = connections.some((each) => each.muted_until_ms);
    show(
      "connections",
      [connections.map(({ last_active_ms, ...rest }) => rest), muted ? clock.now_ms : 0],
      () =>
        connections.length
          ? table(
              [">#", "User", "Client", "From", ">Broker", "", ""],
              connections.slice(0, 300).map(connectionRow),
            )
          : empty("No connections."),
    );
    const rows = quotaRows(quotas, live);
    byId("quotas-count").textContent = quotas.length ? `${quotas.length} set` : "";
    show("quotas", [quotas, rows.slice(0, 200)], quotaPart);
    byId("shadow-count").textContent = shadow.length ? `${shadow.length} beyond their quota` : "";
    show("shadow", shadow, () =>
      shadow.length
        ? table(
            ["Who", "Quota", ">Broker", ">Throttled", ">Held", ">Over quota", ">Longest", ">In all", ">Last"],
            shadow.slice(0, 200).map(shadowRow),
          )
        : empty("No client went beyond a quota in shadow mode."),
    );
    byId("filters-count").textContent = filters.length || "";
    show("filters", [filters, filters.length ? clock.now_ms : 0], () =>
      filters.length
        ? table(
            ["User", ">Broker", "Layers, newest first"],
            filters.slice(0, 100).map((each) => filterRow(each, clock.now_ms)),
          )
        : empty("No producer ids are tracked: no user with this quota has connected."),
    );
    byId("acls-count").textContent = acls.length || "";
    show("acls", acls.slice(0, 200), aclsPart);
    show("decisions", await readDecisions(), decisionsPart);
    const live_faults = faults.filter((each) => !each.is_used_up).length;
    byId("faults-count").textContent = faults.length ? `${live_faults} can fire` : "";
    show("faults", faults, () =>
      faults.length
        ? table(["", "Rule", ">Fired", "", ""], faults.slice(-50).map(faultRow))
        : empty("No fault rules."),
    );
    scrollToOpened();
  } catch (error) {
    if (!(error instanceof Locked)) console.warn(error);
    if (error instanceof Gone) showGone(true);
  } finally {
    looking = false;
    if (lookAgain) {
      lookAgain = false;
      look();
    }
  }
}
/** Look once a second; of a broker that is busy the page takes a tenth of its time. */
async function lookAgainAndAgain() {
  const beganMs = performance.now();
  if (!document.hidden) await look();
  setTimeout(lookAgainAndAgain, Math.max(REST_MS, 10 * (performance.now() - beganMs)));
}
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});

document.addEventListener("changed", look);
addEventListener("hashchange", look);
lookAgainAndAgain();
follow();
