"use strict";
// Names of topics, clients and users are always inserted as text, never as HTML.
const byId = (id) => document.getElementById(id);
function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) node.style.setProperty(key, value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(
    ...children
      .filter((each) => each !== null && each !== undefined)
      .map((each) => (each instanceof Node ? each : String(each))),
  );
  return node;
}
const shown = new Map();
/** Build a part of the page again, if its data changed. */
function show(id, data, build) {
  const state = JSON.stringify(data);
  if (shown.get(id) === state) return;
  shown.set(id, state);
  const host = byId(id),
    top = host.scrollTop;
  host.replaceChildren(...[build(data)].flat().filter((each) => each !== null));
  host.scrollTop = top;
}
const empty = (text) => el("p", { class: "empty" }, text);
const table = (heads, rows) =>
  el(
    "table",
    null,
    el(
      "thead",
      null,
      el(
        "tr",
        null,
        ...heads.map((head) =>
          el("th", { class: head.startsWith(">") ? "num" : null }, head.replace(">", "")),
        ),
      ),
    ),
    el("tbody", null, ...rows),
  );
const number = (value) =>
  value === null || value === undefined
    ? "–"
    : Number(value).toLocaleString("en", { maximumFractionDigits: 1 });
const bytes = (count) => {
  let unit = 0;
  while (count >= 1024 && unit < 4) {
    count /= 1024;
    unit += 1;
  }
  const text = count.toLocaleString("en", { maximumFractionDigits: unit ? 1 : 0 });
  return `${text} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
};
const count = (value, word) => `${number(value)} ${word}${value === 1 ? "" : "s"}`;
const pad = (value, width) => String(value).padStart(width, "0");
const clockText = (ms) => {
  const at = new Date(ms);
  const parts = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => pad(part, 2));
  return `${parts.join(":")}.${pad(at.getMilliseconds(), 3)}`;
};
const dateText = (ms) => {
  const at = new Date(ms);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1, 2)}-${pad(at.getDate(), 2)} ${clockText(ms).slice(0, 8)}`;
};
const span = (ms) =>
  ms < 1000
    ? `${Math.round(ms)} ms`
    : ms < 60e3
      ? `${(ms / 1000).toFixed(1)} s`
      : ms < 3600e3
        ? `${Math.floor(ms / 60e3)} min ${Math.floor(ms / 1000) % 60} s`
        : `${Math.floor(ms / 3600e3)} h ${Math.floor(ms / 60e3) % 60} min`;
const hue = (broker) => `var(--b${(broker - 1 + 800) % 8})`;

/** A cell with a name that may be long, or null. */
const name = (text) => el("td", { class: "name", title: text }, text ?? el("span", { class: "soft" }, "–"));

// Requests to the admin port -----------------------------------------------------------------------------------
let token = sessionStorage.getItem("token") || "";
let noticeTimer;
function notify(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => {
    byId("notice").hidden = true;
  }, 6000);
}
class Locked extends Error {}
async function ask(method, path, body) {
  const options = { method, headers: token ? { Authorization: `Bearer ${token}` } : {} };
  if (body !== undefined) options.body = JSON.stringify(body);
  const response = await fetch(path, options);
  if (response.status === 401) {
    byId("login").hidden = false;
    throw new Locked();
  }
  const text = await response.text();
  const value = text ? JSON.parse(text) : null;
  if (!response.ok) throw new Error(value.detail);
  return value;
}
const get = (path) => ask("GET", path);
async function act(method, path, body) {
  try {
    await ask(method, path, body);
    await look();
  } catch (error) {
    if (!(error instanceof Locked)) notify(error.message);
  }
}
byId("login")
  .querySelector("form")
  .addEventListener("submit", (event) => {
    event.preventDefault();
    token = byId("token").value;
    sessionStorage.setItem("token", token);
    location.reload();
  });

// Clock ------------------------------------------------------------------------------------
let clock = { now_ms: Date.now(), mode: "real", factor: 1 },
  lookedAt = performance.now();
const nowMs = () => clock.now_ms + (performance.now() - lookedAt) * clock.factor;
setInterval(() => {
  byId("time").textContent = dateText(nowMs());
}, 200);
function showClock() {
  show("modes", [clock.mode, clock.factor], () =>
    [
      ["real", "Real"],
      ["scaled", clock.mode === "scaled" ? `×${clock.factor}` : "×60"],
      ["standing", "Standing"],
    ].map(([mode, label]) =>
      el(
        "button",
        {
          class: clock.mode === mode ? "on" : null,
          "data-mode": mode,
          onclick: () => act("PUT", "/v1/clock", mode === "scaled" ? { mode, factor: 60 } : { mode }),
        },
        label,
      ),
    ),
  );
  show("moves", 0, () =>
    [
      ["+1 s", 1],
      ["+1 min", 60],
      ["+1 h", 3600],
      ["+1 day", 86400],
    ].map(([label, seconds]) =>
      el(
        "button",
        {
          title: "Move the clock; everything due happens",
          "data-seconds": seconds,
          onclick: () => act("POST", "/v1/clock/advance", { seconds }),
        },
        label,
      ),
    ),
  );
}
byId("reset").addEventListener("click", () => {
  if (confirm("Reset the cluster to its start? All connections are closed.")) act("POST", "/v1/reset");
});

// Brokers and topics -----------------------------------------------------------------------
function brokerCard(broker) {
  const id = broker.node_id,
    away = broker.availability !== "up" || !broker.is_alive;
  const state =
    broker.availability === "down"
      ? "stopped"
      : broker.availability === "isolated"
        ? "cut off"
        : away
          ? "fenced"
          : null;
  return el(
    "div",
    { class: `broker${away ? " away" : ""}`, "--hue": hue(id), "data-broker": id },
    el(
      "div",
      { class: "who" },
      `Broker ${id}`,
      broker.is_controller ? el("span", { class: "tag" }, "controller") : null,
      state ? el("span", { class: "tag bad" }, state) : null,
      away && broker.is_alive
        ? el("span", { class: "tag warn", title: "The controller has not fenced it" }, "unnoticed")
        : null,
    ),
    el(
      "div",
      { class: "facts" },
      el("div", { class: "mono" }, `${broker.host}:${broker.port}`),
      `leads ${broker.leads}, ${broker.connections} connected`,
    ),
    el(
      "div",
      { class: "acts" },
      away
        ? el("button", { onclick: () => act("POST", `/v1/brokers/${id}/start`) }, "Start")
        : el("button", { onclick: () => act("POST", `/v1/brokers/${id}/stop`, {}) }, "Stop"),
      away
        ? null
        : el(
            "button",
            {
              title: "Connections stay open; nothing passes through them",
              onclick: () => act("POST", `/v1/brokers/${id}/isolate`, {}),
            },
            "Isolate",
          ),
    ),
  );
}
let opened = null,
  ends = new Map();
const TOPICS_MAX = 200;
function topicLine(topic, brokers) {
  const isOpen = opened && opened.topic === topic.name;
  const total = topic.partitions.reduce((sum, part) => sum + part.log_end_offset - part.log_start_offset, 0);
  const line = el(
    "div",
    { class: "topic" },
    el("span", { class: "title" }, topic.name),
    el(
      "div",
      { class: "tiles" },
      ...topic.partitions.slice(0, 120).map((part) => {
        const key = `${topic.name}/${part.partition}`,
          grown = ends.has(key) && ends.get(key) < part.log_end_offset;
        ends.set(key, part.log_end_offset);
        const picked = isOpen && opened.partition === part.partition;
        const leader = part.leader === null ? "nobody" : `broker ${part.leader}`;
        return el(
          "button",
          {
            class: `tile${part.leader === null ? " none" : ""}${grown ? " fresh" : ""}${picked ? " open" : ""}`,
            "--hue": part.leader === null ? undefined : hue(part.leader),
            title: `Partition ${part.partition}, led by ${leader}, ends at ${part.log_end_offset}`,
            onclick: () => {
              opened = picked ? null : { topic: topic.name, partition: part.partition, records: [] };
              shown.delete("topics");
              look();
            },
          },
          part.partition,
        );
      }),
    ),
    el("span", { class: "count num" }, count(total, "record")),
  );
  if (isOpen) line.append(partitionDetail(topic, brokers));
  return line;
}
function partitionDetail(topic, brokers) {
  const part = topic.partitions[opened.partition];
  if (!part) return el("div");
  const choice = el(
    "select",
    {
      "aria-label": "Leader",
      onchange: (event) =>
        act("PUT", `/v1/topics/${encodeURIComponent(topic.name)}/partitions/${part.partition}/leader`, {
          broker: event.target.value === "" ? null : Number(event.target.value),
        }),
    },
    ...brokers.map((broker) =>
      el(
        "option",
        { value: broker.node_id, selected: broker.node_id === part.leader },
        `broker ${broker.node_id}`,
      ),
    ),
    el("option", { value: "", selected: part.leader === null }, "nobody"),
  );
  return el(
    "div",
    { class: "opened" },
    el(
      "div",
      { class: "line" },
      el("b", null, `Partition ${part.partition}`),
      el("label", null, "Leader ", choice),
      el("span", { class: "soft" }, `epoch ${part.leader_epoch}`),
      el("span", { class: "soft" }, `replicas ${part.replicas.join(", ")}`),
      el(
        "span",
        { class: part.isr.length < part.replicas.length ? "warn" : "soft" },
        `in sync ${part.isr.join(", ")}`,
      ),
      el(
        "span",
        { class: "soft" },
        `offsets ${number(part.log_start_offset)} to ${number(part.log_end_offset)}, ${bytes(part.bytes)}`,
      ),
    ),
    opened.records.length
      ? table(
          [">Offset", "Time", "Key", "Value"],
          opened.records.map((record) =>
            el(
              "tr",
              null,
              el("td", { class: "num soft" }, record.offset),
              el("td", { class: "nowrap soft" }, clockText(record.timestamp)),
              el("td", { class: "mono words" }, plainBytes(record.key)),
              el("td", { class: "mono words" }, plainBytes(record.value)),
            ),
          ),
        )
      : empty("No records."),
  );
}
const plainBytes = (value) =>
  value === null ? "null" : (value.text ?? `base64 ${value.base64}`).slice(0, 200);

// Who is connected -------------------------------------------------------------------------
function connectionRow(each) {
  const left = each.muted_until_ms - nowMs();
  const state =
    each.muted_until_ms > 0
      ? el("span", { class: "tag warn" }, `muted ${left > 0 ? span(left) : ""}`)
      : each.is_waiting
        ? el("span", { class: "tag" }, "waits for a response")
        : null;
  return el(
    "tr",
    null,
    el("td", { class: "num soft" }, each.connection),
    name(each.user),
    name(each.client_id),
    el("td", { class: "mono nowrap soft" }, each.peer),
    el("td", { class: "num" }, each.broker),
    el("td", null, state),
    el(
      "td",
      { class: "num" },
      el(
        "button",
        {
          class: "quiet",
          title: "Cut this connection",
          onclick: () => act("DELETE", `/v1/connections/${each.connection}`),
        },
        "cut",
      ),
    ),
  );
}

// Faults -----------------------------------------------------------------------------------
const QUICK = [
  ["Lose the next Produce response", { api: "Produce", drop: "before_response", times: 1 }],
  ["Fail the next two Produce", { api: "Produce", error: "NOT_ENOUGH_REPLICAS", times: 2 }],
  ["Delay Metadata 500 ms", { api: "Metadata", delay_ms: 500 }],
  ["Throttle Produce 1 s", { api: "Produce", throttle_time_ms: 1000 }],
  ["Refuse connections", { refuse_connection: true }],
];
byId("quick").append(
  ...QUICK.map(([label, rule]) => el("button", { onclick: () => act("POST", "/v1/faults", rule) }, label)),
);
byId("add-rule").addEventListener("click", () => {
  try {
    act("POST", "/v1/faults", JSON.parse(byId("rule").value));
  } catch (error) {
    notify(`No JSON: ${error.message}`);
  }
});
byId("clear-faults").addEventListener("click", () => act("DELETE", "/v1/faults"));
const ruleText = (rule) =>
  Object.entries(rule)
    .map(([key, value]) => (value === true ? key : `${key} ${value}`))
    .join(", ");
const faultRow = (fault) =>
  el(
    "tr",
    null,
    el("td", { class: "num soft" }, `#${fault.id}`),
    el("td", { class: fault.is_used_up ? "words soft" : "words" }, ruleText(fault.rule)),
    el("td", { class: "num nowrap" }, `${fault.fired} of ${fault.matched}`),
    el("td", null, fault.is_used_up ? el("span", { class: "tag" }, "used up") : null),
    el(
      "td",
      { class: "num" },
      el(
        "button",
        { class: "quiet", title: "Remove", onclick: () => act("DELETE", `/v1/faults/${fault.id}`) },
        "×",
      ),
    ),
  );

// Quotas -----------------------------------------------------------------------------------
const KEYS = {
  Produce: "producer_byte_rate",
  Fetch: "consumer_byte_rate",
  Request: "request_percentage",
  ControllerMutation: "controller_mutation_rate",
  ProducerIds: "producer_ids_rate",
};
const LABELS = {
  Produce: "bytes produced",
  Fetch: "bytes fetched",
  Request: "request time",
  ControllerMutation: "topic changes",
  ProducerIds: "new producer ids",
};
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
function quotaRows(quotas, live) {
  const rows = new Map();
  for (const each of live) {
    if (!(each.group in KEYS) || !("user" in each.tags)) continue;
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
      limit: limitOf(quotas, KEYS[row.group], row.user, row.client),
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
    el("td", { class: "soft nowrap" }, LABELS[row.group]),
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
const OVER = {
  producer_byte_rate: bytes,
  consumer_byte_rate: bytes,
  request_percentage: span,
  controller_mutation_rate: (value) => count(value, "partition"),
  producer_ids_rate: (value) => count(value, "id"),
};
const shadowRow = (each) =>
  el(
    "tr",
    null,
    name([each.user, each.client_id].filter(Boolean).join(" · ") || "any user"),
    el("td", { class: "mono" }, each.quota),
    el("td", { class: "num soft" }, each.broker ?? ""),
    el("td", { class: "num warn" }, number(each.throttled)),
    el("td", { class: "num" }, number(each.held)),
    el("td", { class: "num nowrap" }, OVER[each.quota](each.over_quota)),
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
function quotaPart([quotas, rows]) {
  if (!quotas.length) return empty("No quota is set.");
  if (rows.length) return table(["Who", "What", ">Broker", "", ">Now", ">Wait"], rows.map(quotaRow));
  return table(
    ["Who", "Quota", ">Value"],
    quotas.flatMap((quota) =>
      Object.entries(quota.values).map(([key, value]) =>
        el(
          "tr",
          null,
          name(entityText(quota.entity)),
          el(
            "td",
            { class: "mono" },
            key,
            quota.shadow.includes(key) ? el("span", { class: "tag" }, "shadow") : null,
          ),
          el("td", { class: "num" }, number(value)),
        ),
      ),
    ),
  );
}
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
const filterRow = (each, now) =>
  el(
    "tr",
    null,
    name(each.user),
    el("td", { class: "num" }, each.broker),
    el("td", null, el("div", { class: "layers" }, ...each.layers.map((layer) => layerBar(layer, now)))),
  );

// Transactions -----------------------------------------------------------------------------
const TRANSACTIONS_MAX = 200;
const isPrepared = (each) => each.state.startsWith("Prepare");
/** 0 for a transaction that is open, 1 for one that is being ended, 2 for none. */
const rank = (each) => (each.state === "Ongoing" ? 0 : isPrepared(each) ? 1 : 2);
/** The partitions by topic, successive ones as a range: "orders 0–11, payments 3". */
function partitionsText(partitions) {
  const ranges = [];
  for (const { topic, partition } of partitions) {
    const last = ranges.at(-1);
    if (last && last.topic === topic && last.end + 1 === partition) last.end = partition;
    else ranges.push({ topic, start: partition, end: partition });
  }
  return ranges.map(({ topic, start, end }) => `${topic} ${start === end ? start : `${start}–${end}`}`).join(", ");
}
const coordinatorText = (each) =>
  each.coordinator === null ? "No coordinator is up" : `The coordinator is broker ${each.coordinator}`;
const transactionRow = (each) =>
  el(
    "tr",
    null,
    name(each.transactional_id),
    el(
      "td",
      {
        class: rank(each) < 2 ? "warn" : "soft",
        title: coordinatorText(each) + (isPrepared(each) ? "; waits for the leaders of these partitions" : ""),
      },
      each.state,
    ),
    el("td", { class: "num" }, `${each.producer_id} / ${each.producer_epoch}`),
    name(partitionsText(each.partitions)),
    el("td", { class: "num" }, each.age_ms === null ? "" : span(each.age_ms)),
    el(
      "td",
      null,
      each.state === "Ongoing"
        ? el(
            "button",
            {
              class: "quiet",
              title: "Abort it and fence its producer",
              onclick: () => act("POST", `/v1/transactions/${encodeURIComponent(each.transactional_id)}/abort`),
            },
            "Abort",
          )
        : null,
    ),
  );
function transactionTable(transactions) {
  if (!transactions.length) return empty("No transactional id yet.");
  const sorted = [...transactions].sort((a, b) => rank(a) - rank(b));
  return [
    table(
      ["Transactional id", "State", ">Producer / epoch", "Partitions", ">Age", ""],
      sorted.slice(0, TRANSACTIONS_MAX).map(transactionRow),
    ),
    sorted.length > TRANSACTIONS_MAX ? empty(`and ${sorted.length - TRANSACTIONS_MAX} more`) : null,
  ];
}

// Groups -----------------------------------------------------------------------------------
const GROUPS_MAX = 50,
  MEMBERS_MAX = 50;
const groupPath = (group) => `/v1/groups/${encodeURIComponent(group.group_id)}`;
/** Partitions of a member as text; null if they are unknown. */
const assignedText = (entries) =>
  entries &&
  (partitionsText(
    entries.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition }))),
  ) ||
    "none");
const epochsText = (group) =>
  group.group_type === "classic"
    ? `generation ${group.generation_id}`
    : `epoch ${group.group_epoch}, target of epoch ${group.assignment_epoch}`;
/** How many records a member of a share group has acquired. */
const acquiredBy = (group, member) =>
  group.share_partitions
    .flatMap((part) => part.in_flight)
    .filter((batch) => batch.member_id === member.member_id)
    .reduce((sum, batch) => sum + batch.last_offset - batch.first_offset + 1, 0);
function memberRow(group, member) {
  const current = assignedText(member.assigned),
    target = assignedText(member.target);
  const state =
    group.group_type === "share"
      ? `${number(acquiredBy(group, member))} acquired`
      : member.protocol === "classic"
        ? "classic protocol"
        : member.state.replaceAll("_", " ");
  const instance = member.group_instance_id === null ? "" : `, instance ${member.group_instance_id}`;
  const cell = name(member.client_id);
  cell.title = `${member.member_id}${instance}, from ${member.client_host}`;
  const targetCell = name(target);
  if (target !== null && target !== current) targetCell.classList.add("warn");
  return el(
    "tr",
    null,
    cell,
    el("td", { class: "num" }, number(member.member_epoch)),
    name(current),
    targetCell,
    el("td", { class: member.state && member.state !== "stable" ? "warn nowrap" : "soft nowrap" }, state),
    el(
      "td",
      null,
      el(
        "button",
        {
          class: "quiet",
          title: "Remove it, as after its session timeout",
          onclick: () =>
            act("POST", `${groupPath(group)}/members/${encodeURIComponent(member.member_id)}/fence`),
        },
        "Fence",
      ),
    ),
  );
}
const sharePartitionRow = (part) =>
  el(
    "tr",
    null,
    name(`${part.topic} ${part.partition}`),
    el("td", { class: "num" }, number(part.start_offset)),
    el("td", { class: "num" }, number(part.in_flight_records)),
    el("td", { class: "num" }, number(part.acquired_records)),
  );
const lagOf = (group) => group.offsets.reduce((sum, offset) => sum + Math.max(offset.lag ?? 0, 0), 0);
function groupPart(group) {
  const more = group.members.length - MEMBERS_MAX;
  return el(
    "div",
    { class: "member-group" },
    el(
      "div",
      { class: "member-group-line" },
      el("span", { class: "title" }, group.group_id),
      el("span", { class: "tag" }, group.group_type),
      el(
        "span",
        { class: ["Stable", "Empty"].includes(group.state) ? "tag" : "tag warn", title: coordinatorText(group) },
        group.state,
      ),
      group.is_assigned_manually ? el("span", { class: "tag fault" }, "assigned manually") : null,
      el("span", { class: "soft" }, [epochsText(group), group.protocol_name].filter(Boolean).join(" · ")),
      group.offsets.length ? el("span", { class: "soft" }, `lag ${number(lagOf(group))}`) : null,
      el("span", { class: "push" }),
      group.members.length
        ? el(
            "button",
            {
              class: "quiet",
              title: "Begin a new epoch, or in a classic group a new generation",
              onclick: () => act("POST", `${groupPath(group)}/rebalance`),
            },
            "Rebalance",
          )
        : null,
    ),
    group.members.length
      ? table(
          ["Member", ">Epoch", "Current", "Target", "State", ""],
          group.members.slice(0, MEMBERS_MAX).map((member) => memberRow(group, member)),
        )
      : null,
    more > 0 ? empty(`and ${more} more members`) : null,
    group.share_partitions.length
      ? table(
          ["Partition", ">Start offset", ">In flight", ">Acquired"],
          group.share_partitions.slice(0, MEMBERS_MAX).map(sharePartitionRow),
        )
      : null,
  );
}
function groupParts(groups) {
  if (!groups.length) return empty("No group yet.");
  const sorted = [...groups].sort(
    (a, b) => !a.members.length - !b.members.length || a.group_id.localeCompare(b.group_id),
  );
  return [
    ...sorted.slice(0, GROUPS_MAX).map(groupPart),
    sorted.length > GROUPS_MAX ? empty(`and ${sorted.length - GROUPS_MAX} more`) : null,
  ];
}

// The poll ---------------------------------------------------------------------------------
async function openedRecords(topics) {
  const topic = opened && topics.find((each) => each.name === opened.topic),
    part = topic && topic.partitions[opened.partition];
  if (!part) {
    opened = null;
    return;
  }
  if (opened.end === part.log_end_offset) return;
  const offset = Math.max(part.log_start_offset, part.log_end_offset - 20);
  const found = await get(
    `/v1/topics/${encodeURIComponent(topic.name)}/records?partition=${part.partition}&offset=${offset}&limit=20`,
  );
  if (opened) {
    opened.records = found.records.reverse();
    opened.end = part.log_end_offset;
  }
}
let looking = false;
async function look() {
  if (looking) return;
  looking = true;
  try {
    const paths = [
      "/healthz",
      "/v1/clock",
      "/v1/brokers",
      "/v1/topics",
      "/v1/connections",
      "/v1/quotas",
      "/v1/quotas/live",
      "/v1/quotas/shadow",
      "/v1/producer-id-filters",
      "/v1/faults",
      "/v1/transactions",
      "/v1/groups",
    ];
    const found = await Promise.all(paths.map(get));
    const [health, time, brokers, allTopics, connections, quotas, live, shadow, filters, faults] = found;
    const [transactions, groups] = found.slice(10);
    const topics = allTopics.filter((topic) => !topic.is_internal);
    await openedRecords(topics);
    clock = time;
    lookedAt = performance.now();
    byId("pulse").className = "up";
    byId("cluster").textContent = health.cluster_id;
    showClock();
    byId("brokers-count").textContent =
      `${brokers.filter((each) => each.is_alive).length} of ${brokers.length} up`;
    show("brokers", brokers, () => brokers.map(brokerCard));
    byId("topics-count").textContent = topics.length || "";
    show("topics", [topics, opened, brokers.length], () =>
      topics.length
        ? [
            ...topics.slice(0, TOPICS_MAX).map((topic) => topicLine(topic, brokers)),
            topics.length > TOPICS_MAX ? empty(`and ${topics.length - TOPICS_MAX} more`) : null,
          ]
        : empty("No topic yet."),
    );
    const ongoing = transactions.filter((each) => rank(each) === 0).length,
      prepared = transactions.filter(isPrepared).length;
    byId("transactions-count").textContent = transactions.length
      ? `${ongoing} ongoing${prepared ? `, ${prepared} prepared` : ""} · ${count(transactions.length, "id")}`
      : "";
    show("transactions", transactions, () => transactionTable(transactions));
    const memberCount = groups.reduce((sum, group) => sum + group.members.length, 0);
    byId("groups-count").textContent = groups.length
      ? `${count(groups.length, "group")} · ${count(memberCount, "member")}`
      : "";
    // The epoch of a share session changes with every fetch, and is not shown.
    for (const member of groups.flatMap((group) => group.members)) delete member.sessions;
    show("groups", groups, () => groupParts(groups));
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
    const live_faults = faults.filter((each) => !each.is_used_up).length;
    byId("faults-count").textContent = faults.length ? `${live_faults} can fire` : "";
    show("faults", faults, () =>
      faults.length
        ? table(["", "Rule", ">Fired", "", ""], faults.slice(-50).map(faultRow))
        : empty("No fault rules."),
    );
  } catch (error) {
    if (!(error instanceof Locked)) byId("pulse").className = "down";
  } finally {
    looking = false;
  }
}
setInterval(() => {
  if (!document.hidden) look();
}, 1000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});

// Requests as they come --------------------------------------------------------------------
const LINES_MAX = 400;
const lines = new Map();
let paused = false,
  dirty = false,
  lost = 0,
  came = 0,
  picked = null;
function take(kind, data) {
  if (kind === "lost") {
    lost += data.count;
    return;
  }
  if (!lines.has(data.number)) came += 1;
  lines.set(data.number, data);
  while (lines.size > LINES_MAX) lines.delete(lines.keys().next().value);
  dirty = true;
}
const lineText = (line) =>
  [
    line.kind,
    line.api,
    line.client_id,
    line.user,
    line.outcome,
    line.fault,
    line.reason,
    ...(line.topics || []),
    ...(line.groups || []),
    ...(line.errors || []),
  ]
    .join(" ")
    .toLowerCase();
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
  if (line.fault) tags.push(" ", el("span", { class: "tag fault", title: line.fault }, line.fault));
  return tags.length ? tags : [el("span", { class: "good" }, "ok")];
}
function lineRow(line) {
  const isRequest = line.kind === "request";
  return el(
    "tr",
    { class: picked === line.number ? "picked" : null, onclick: () => pick(line) },
    el("td", { class: "num soft" }, line.number),
    el("td", { class: "mono nowrap" }, clockText(line.received_ms)),
    el(
      "td",
      { class: "nowrap" },
      isRequest
        ? line.api
        : el("span", { class: "soft" }, line.kind === "connection" ? "new connection" : "end of connection"),
      isRequest ? el("span", { class: "soft" }, ` v${line.version}`) : null,
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
function draw() {
  if (!dirty || paused) return;
  dirty = false;
  const words = byId("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...lines.values()].reverse().filter((line) => {
    const text = lineText(line);
    return words.every((word) => text.includes(word));
  });
  byId("lines").replaceChildren(...found.slice(0, 200).map(lineRow));
  byId("no-lines").hidden = found.length > 0;
  byId("requests-count").textContent =
    `${number(came)} seen${lost ? `, ${number(lost)} too quick to show` : ""}`;
}
setInterval(draw, 250);
byId("search").addEventListener("input", () => {
  dirty = true;
  draw();
});
byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").textContent = paused ? "Go on" : "Pause";
  byId("pause").className = paused ? "on" : "";
  dirty = true;
  draw();
});
byId("clear-shadow").addEventListener("click", async () => {
  await act("DELETE", "/v1/quotas/shadow");
  look();
});
byId("clear-requests").addEventListener("click", async () => {
  await act("DELETE", "/v1/requests");
  lines.clear();
  came = lost = 0;
  dirty = true;
  draw();
});
async function pick(line) {
  picked = picked === line.number ? null : line.number;
  dirty = true;
  draw();
  byId("detail").hidden = picked === null;
  if (picked === null) return;
  try {
    const entry = await get(`/v1/requests/wait?timeout_ms=0&since=${line.number - 1}`);
    const isKept = entry && entry.number === line.number,
      { request, response, ...rest } = isKept ? entry : line;
    const block = (title, value) =>
      el(
        "div",
        null,
        el("b", null, title),
        el("pre", null, typeof value === "string" ? value : JSON.stringify(value, null, 2)),
      );
    byId("detail").replaceChildren(
      isKept
        ? el(
            "div",
            { class: "pair" },
            block("Details", rest),
            entry.kind === "request" ? block("Request", request) : null,
            entry.kind === "request" ? block("Response", response) : null,
          )
        : empty("The journal no longer has this entry."),
    );
  } catch (error) {
    if (!(error instanceof Locked)) notify(error.message);
  }
}
async function follow() {
  let since = 0;
  for (;;) {
    try {
      if (!since)
        for (const line of await get("/v1/requests?bodies=false&limit=200")) {
          take(line.kind, line);
          since = line.number;
        }
      const response = await fetch(`/v1/requests/events?bodies=false&since=${since}`, {
        headers: token ? { Authorization: `Bearer ${token}` } : {},
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
look();
follow();
