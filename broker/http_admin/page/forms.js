// What the dialogs show when they open, and what they send.
import "./dialogs.js";
import { Locked, ask, get, hasToken, notify } from "./api.js";
import { copy, curlText } from "./copies.js";
import { byId, el, visible } from "./dom.js";
import { ENTITIES, QUOTAS } from "./quotas.js";
const form = (id) => byId(`${id}-form`);
const field = (id, name) => form(id).elements[name];
let topicName = null,
  groupId = null,
  before = {};

const orNull = (text) => (text === "" ? null : text);
const orUndefined = (text) => (text === "" ? undefined : Number(text));
const orUndefinedText = (text) => (text === "" ? undefined : text);
/** Parse lines such as "retention.ms=1000". */
function parseLines(text, separator) {
  const lines = text.split("\n").filter((line) => line.trim());
  return lines.map((line) => {
    const at = line.indexOf(separator);
    if (at < 1) throw new Error(`${line}: write NAME${separator}VALUE`);
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
}

function configRow({ name, value, source }) {
  const isOwn = source === "DYNAMIC_TOPIC_CONFIG";
  before[name] = isOwn ? value : "";
  return el(
    "label",
    { class: isOwn ? "own" : null },
    el("span", { class: "mono" }, name),
    el("input", {
      name,
      value: isOwn ? value : undefined,
      placeholder: value ?? "",
      autocomplete: "off",
      spellcheck: "false",
    }),
  );
}

const quotaInputs = () => QUOTAS.map(({ key }) => field("quota", key));

const OPEN = {
  topic() {},
  acl() {},
  produce({ topic, record }) {
    topicName = topic;
    byId("produce-of").textContent = visible(topic);
    if (!record) return;
    const { key, value, headers, partition } = JSON.parse(record);
    field("produce", "key").value = key?.text ?? "";
    field("produce", "value").value = value?.text ?? "";
    field("produce", "is-null").checked = value === null;
    field("produce", "headers").value = headers.map((each) => `${each.key}: ${each.value.text}`).join("\n");
    field("produce", "partition").value = partition;
  },
  async config({ topic }) {
    topicName = topic;
    byId("config-of").textContent = visible(topic);
    before = {};
    const entries = await get(`/v1/topics/${encodeURIComponent(topic)}/config`);
    byId("config-keys").replaceChildren(...entries.map(configRow));
  },
  async "delete-records"({ topic, partition }) {
    topicName = topic;
    byId("delete-records-of").textContent = visible(topic);
    field("delete-records", "partition").value = partition ?? "";
  },
  async "reset-offsets"({ group }) {
    groupId = group;
    byId("reset-offsets-of").textContent = visible(group);
  },
  quota({ quota }) {
    const { entity, values, shadow } = quota ? JSON.parse(quota) : { entity: {}, values: {}, shadow: [] };
    for (const { type, field: input } of ENTITIES) {
      field("quota", `${input}-kind`).value =
        type in entity ? (entity[type] === null ? "default" : "name") : "";
      field("quota", input).value = entity[type] ?? "";
    }
    before = values;
    for (const input of quotaInputs())
      input.value = values[input.name] ?? "";
    field("quota", "shadow").checked = shadow.length > 0;
  },
};

/** The record that the dialog describes. */
const newRecord = () => ({
  key: orNull(field("produce", "key").value),
  value: field("produce", "is-null").checked ? null : field("produce", "value").value,
  headers: parseLines(field("produce", "headers").value, ":").map(([key, value]) => ({ key, value })),
  partition: orUndefined(field("produce", "partition").value),
});
byId("copy-produce").addEventListener("click", () => {
  try {
    copy(curlText(topicName, [newRecord()], hasToken()));
  } catch (error) {
    form("produce").querySelector(".problem").textContent = error.message;
  }
});

const SEND = {
  acl: () => ask("POST", "/v1/acls", { acls: [Object.fromEntries(new FormData(form("acl")))] }),
  topic: () =>
    ask("POST", "/v1/topics", {
      name: field("topic", "name").value,
      partitions: orUndefined(field("topic", "partitions").value),
      replication_factor: orUndefined(field("topic", "replication_factor").value),
      config: Object.fromEntries(parseLines(field("topic", "config").value, "=")),
    }),
  produce: () =>
    ask("POST", `/v1/topics/${encodeURIComponent(topicName)}/records`, { records: [newRecord()] }),
  config() {
    const config = {};
    for (const input of byId("config-keys").querySelectorAll("input"))
      if (input.value !== before[input.name]) config[input.name] = orNull(input.value);
    return ask("PATCH", `/v1/topics/${encodeURIComponent(topicName)}/config`, { config });
  },
  "delete-records"() {
    const query = new URLSearchParams();
    for (const name of ["partition", "before_offset"]) {
      const text = field("delete-records", name).value;
      if (text !== "") query.set(name, text);
    }
    return ask("DELETE", `/v1/topics/${encodeURIComponent(topicName)}/records?${query}`);
  },
  "reset-offsets"() {
    const [to, offset, time] = ["to", "offset", "time"].map((name) => field("reset-offsets", name).value);
    const place = { offset: { offset: Number(offset) }, time: { timestamp: Date.parse(time) } }[to] ?? { to };
    return ask("PUT", `/v1/groups/${encodeURIComponent(groupId)}/offsets`, {
      ...place,
      topic: orUndefinedText(field("reset-offsets", "topic").value),
      partition: orUndefined(field("reset-offsets", "partition").value),
    });
  },
  quota() {
    const entity = {},
      values = {};
    for (const { type, field: input } of ENTITIES) {
      const kind = field("quota", `${input}-kind`).value;
      if (kind) entity[type] = kind === "default" ? null : field("quota", input).value;
    }
    for (const input of quotaInputs())
      if (input.value !== "") values[input.name] = Number(input.value);
      else if (input.name in before) values[input.name] = null;
    return ask("PUT", "/v1/quotas", { entity, values, shadow: field("quota", "shadow").checked });
  },
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-form]");
  if (!button) return;
  const kind = button.dataset.form;
  try {
    form(kind).reset();
    form(kind).querySelector(".problem").textContent = "";
    await OPEN[kind](button.dataset);
    byId(`${kind}-dialog`).showModal();
  } catch (error) {
    if (!(error instanceof Locked)) notify(error.message);
  }
});
document.addEventListener("submit", async (event) => {
  const kind = event.target.dataset.kind;
  if (!kind) return;
  event.preventDefault();
  try {
    await SEND[kind]();
    byId(`${kind}-dialog`).close();
    document.dispatchEvent(new Event("changed"));
  } catch (error) {
    event.target.querySelector(".problem").textContent = error.message ?? "";
  }
});
