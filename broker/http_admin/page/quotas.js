// Quotas, their measurements, shadow quotas and producer id filters.
import { el, empty, idOf, name, table } from "./dom.js";
import { bytes, clockText, count, dateText, number, span } from "./format.js";
/** The kinds of entities that a quota may have, with the name of their fields in the form. */
export const ENTITIES = [
  { type: "user", field: "user", label: "user" },
  { type: "client-id", field: "client", label: "client id" },
  { type: "ip", field: "ip", label: "IP address" },
];
/** The keys of quotas; `group` is the group of their metrics, `over` shows what was beyond a quota. */
export const QUOTAS = [
  { key: "producer_byte_rate", unit: "bytes/s", group: "Produce", label: "bytes produced", over: bytes },
  { key: "consumer_byte_rate", unit: "bytes/s", group: "Fetch", label: "bytes fetched", over: bytes },
  { key: "request_percentage", unit: "%", group: "Request", label: "request time", over: span },
  {
    key: "controller_mutation_rate",
    unit: "partitions/s",
    group: "ControllerMutation",
    label: "topic changes",
    over: (value) => count(value, "partition"),
  },
  {
    key: "producer_ids_rate",
    unit: "ids per window",
    group: "ProducerIds",
    label: "new producer ids",
    over: (value) => count(value, "id"),
  },
  { key: "connection_creation_rate", unit: "per s" },
];
const ofGroup = (group) => QUOTAS.find((quota) => group && quota.group === group);
function limitOf(quotas, key, user, client) {
  const levels = [
    { user, "client-id": client },
    { user, "client-id": null },
    { user },
    { user: null, "client-id": client },
    { user: null, "client-id": null },
    { user: null },
    { "client-id": client },
    { "client-id": null },
  ];
  const same = (a, b) =>
    Object.keys(a).length === Object.keys(b).length &&
    Object.keys(a).every((name) => name in b && a[name] === b[name]);
  for (const level of levels)
    for (const quota of quotas)
      if (same(quota.entity, level) && key in quota.values) return quota.values[key];
  return null;
}
export function quotaRows(quotas, live) {
  const rows = new Map();
  for (const each of live) {
    if (!ofGroup(each.group) || !("user" in each.tags)) continue;
    let user = each.tags.user;
    try {
      user = decodeURIComponent(user);
    } catch {
      /* as it is */
    }
    const client = each.tags["client-id"] || "",
      broker = each.tags["broker-id"] || "";
    const key = JSON.stringify([user, client, each.group, broker]);
    if (!rows.has(key)) rows.set(key, { user, client, group: each.group, broker });
    rows.get(key)[each.name] = each.value;
  }
  return [...rows.values()]
    .map((row) => ({
      ...row,
      limit: limitOf(quotas, ofGroup(row.group).key, row.user, row.client),
      rate: row["byte-rate"] ?? row["request-time"] ?? row.rate ?? 0,
    }))
    .filter((row) => row.limit !== null)
    .sort((a, b) => (a.user + a.client).localeCompare(b.user + b.client) || a.group.localeCompare(b.group));
}
function quotaRow(row) {
  const hasTokens = row.tokens !== undefined && row.tokens !== null;
  const full = row.group === "ProducerIds" ? Math.max(1, row.limit - 1) : row.limit * 11;
  const part = hasTokens ? Math.max(0, row.tokens) / full : row.rate / row.limit;
  const bad = hasTokens ? row.tokens < 0 : part > 1;
  const unit = (value) =>
    row.group === "Produce" || row.group === "Fetch"
      ? `${bytes(Math.max(0, value))}/s`
      : row.group === "Request"
        ? `${number(value)} %`
        : number(value);
  const who = [row.user || "any user", row.client].filter(Boolean).join(" · ");
  return el(
    "tr",
    null,
    name(who),
    el("td", { class: "soft nowrap" }, ofGroup(row.group).label),
    el("td", { class: "num soft" }, row.broker),
    el(
      "td",
      null,
      el(
        "div",
        {
          class: `bar${bad ? " bad" : hasTokens && part < 0.2 ? " low" : ""}`,
          "--part": `${Math.min(100, Math.max(bad ? 4 : 0, part * 100)).toFixed(1)}%`,
        },
        el("i"),
      ),
    ),
    el(
      "td",
      { class: `num${bad ? " bad" : ""}` },
      hasTokens ? `${number(row.tokens)}` : unit(row.rate),
      el("span", { class: "soft" }, hasTokens ? ` of ${number(full)} tokens` : ` of ${unit(row.limit)}`),
    ),
    el(
      "td",
      { class: "num" },
      row["throttle-time"] ? el("span", { class: "tag warn" }, span(row["throttle-time"])) : "",
    ),
  );
}
export const shadowRow = (each) =>
  el(
    "tr",
    null,
    name([each.user, each.client_id].filter(Boolean).join(" · ") || "any user"),
    el("td", { class: "mono" }, each.quota),
    el("td", { class: "num soft" }, each.broker ?? ""),
    el("td", { class: "num warn" }, number(each.throttled)),
    el("td", { class: "num" }, number(each.held)),
    el("td", { class: "num nowrap" }, QUOTAS.find(({ key }) => key === each.quota).over(each.over_quota)),
    el("td", { class: "num nowrap" }, span(each.throttle_time_max_ms)),
    el("td", { class: "num nowrap" }, span(each.throttle_time_total_ms)),
    el(
      "td",
      { class: "num mono nowrap", title: `first ${dateText(each.first_ms)}` },
      clockText(each.last_ms),
    ),
  );
const entityText = (entity) =>
  Object.entries(entity)
    .map(([type, name]) => `${type} ${name === null ? "by default" : name}`)
    .join(", ");
export function quotaPart([quotas, rows]) {
  if (!quotas.length) return empty("No quota is set.");
  return [
    rows.length ? table(["Who", "What", ">Broker", "", ">Now", ">Wait"], rows.map(quotaRow)) : null,
    table(["Quota of", "Key", ">Value", ""], quotas.flatMap(setRows)),
  ];
}
/** The quotas of one entity, with a button that edits them. */
const setRows = (quota) =>
  Object.entries(quota.values).map(([key, value], index) =>
    el(
      "tr",
      { id: idOf("quota", JSON.stringify(quota.entity), key) },
      name(entityText(quota.entity)),
      el(
        "td",
        { class: "mono" },
        key,
        quota.shadow.includes(key) ? el("span", { class: "tag" }, "shadow") : null,
      ),
      el("td", { class: "num" }, number(value)),
      el(
        "td",
        { class: "num" },
        index
          ? null
          : el(
              "button",
              { class: "quiet", "data-form": "quota", "data-quota": JSON.stringify(quota) },
              "Edit",
            ),
      ),
    ),
  );
const layerBar = (layer, now) => {
  const left = layer.expires_ms - now,
    life = layer.expires_ms - layer.begun_ms;
  return el(
    "div",
    { class: "layer", title: `begun ${dateText(layer.begun_ms)}, ${bytes(layer.bytes)}` },
    el(
      "div",
      {
        class: `bar${left / life < 0.2 ? " low" : ""}`,
        "--part": `${Math.max(0, (left / life) * 100).toFixed(1)}%`,
      },
      el("i"),
    ),
    el("span", { class: "nowrap" }, `${count(layer.ids, "id")} · ${span(Math.max(0, left))}`),
  );
};
export const filterRow = (each, now) =>
  el(
    "tr",
    null,
    name(each.user),
    el("td", { class: "num" }, each.broker),
    el("td", null, el("div", { class: "layers" }, ...each.layers.map((layer) => layerBar(layer, now)))),
  );
