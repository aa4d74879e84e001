// The messages of the open topic: filters, pages, the newest as they come, and the details of one.
import { get, hasToken } from "./api.js";
import { bytesOf, isText } from "./bytes.js";
import { asNewRecord, copy, curlText, pythonText } from "./copies.js";
import { el, empty, idOf, table } from "./dom.js";
import { count, dateText, timestampText } from "./format.js";
import { isAt, opens, route } from "./route.js";
import { decoded, readSchemas } from "./schemas.js";
import { download, schemaProblem, shortValue, sizeText, wholeValue } from "./values.js";
const LIMITS = [50, 200, 1000],
  CURSOR_CHARACTERS_MAX = 5_000;
const filter = { contains: "", within: "any", offset: "", time: "", limit: LIMITS[0] };
let found = null,
  foundFor = null,
  pages = [], // where the pages before this one went on, as text
  isLive = true,
  brokers = [],
  view = "json";
const isSought = () => filter.offset !== "" || !Number.isNaN(Date.parse(filter.time));
/** The query for a page: the newest records, or those from an offset or a time on. */
function pathOf(name, part) {
  const query = new URLSearchParams({ limit: filter.limit });
  if (part) query.set("partition", part.partition);
  if (filter.contains) {
    query.set("contains", filter.contains);
    query.set("within", filter.within);
  }
  if (pages.length) query.set("offsets", pages.at(-1));
  else if (filter.offset !== "") query.set("offset", filter.offset);
  // In the time zone of the page, as all its times are.
  else if (isSought()) query.set("timestamp", Math.max(Date.parse(filter.time), 0));
  return `/v1/topics/${encodeURIComponent(name)}/records/${isSought() ? "oldest" : "newest"}?${query}`;
}
/** Read the messages of the open topic again, if it has others or the filter is another. */
export async function readMessages(topics, brokersNow) {
  brokers = brokersNow;
  const [kind, name, partition, offset] = route();
  const topic = kind === "topics" && topics.find((other) => other.name === name);
  if (!topic) {
    found = foundFor = null;
    pages = [];
    return;
  }
  const part = topic.partitions[partition];
  const place = JSON.stringify([topic.topic_id, part?.partition]);
  if (foundFor && foundFor.place !== place) pages = [];
  const path = pathOf(name, part);
  const ends = topic.partitions.map((other) => [other.log_start_offset, other.high_watermark]);
  // A page of older messages stands, also while others come.
  const state = JSON.stringify([path, offset, isLive && !pages.length ? ends : 0]);
  if (foundFor?.place === place && foundFor.state === state) {
    await readSchemas(found.records);
    return;
  }
  const page = { ...(await get(path)) };
  const isListed = page.records.some((record) => String(record.offset) === offset);
  if (part && /^\d+$/.test(offset ?? "") && !isListed) {
    // The address may name a message of another page.
    const records = `/v1/topics/${encodeURIComponent(name)}/records`;
    const older = await get(`${records}?partition=${part.partition}&offset=${offset}&limit=1`);
    page.records = [...page.records, ...older.records.filter((record) => String(record.offset) === offset)];
  }
  await readSchemas(page.records);
  found = page;
  foundFor = { place, state };
}
/** What decides how the messages look; they are built again when it changes. */
export const messageState = () => [
  found,
  view,
  isLive,
  pages.length,
  isSought(),
  found?.records.filter((record) => decoded(record.key) ?? decoded(record.value)).length,
];

const field = (tag, name, label, attributes, ...options) =>
  el(tag, { id: `message-${name}`, "data-filter": name, "aria-label": label, ...attributes }, ...options);
const option = (name) => (value, text) =>
  el("option", { value, selected: String(filter[name]) === String(value) }, text);
/** The fields that choose the messages, and the buttons for their pages. */
export function messageTools() {
  const within = option("within"),
    limit = option("limit");
  return el(
    "div",
    { class: "line" },
    field("input", "contains", "Filter messages", {
      type: "search",
      value: filter.contains,
      placeholder: "Text in the message",
      size: 18,
      maxlength: 1000,
    }),
    field(
      "select",
      "within",
      "Where the text is",
      null,
      within("any", "anywhere"),
      within("key", "in the key"),
      within("value", "in the value"),
      within("headers", "in a header"),
    ),
    field("input", "offset", "Show messages from this offset on", {
      type: "number",
      min: 0,
      value: filter.offset,
      placeholder: "From offset",
    }),
    field("input", "time", "Show messages from this time on", {
      type: "datetime-local",
      step: 1,
      value: filter.time,
    }),
    field("select", "limit", "Messages on a page", null, ...LIMITS.map((each) => limit(each, `${each} a page`))),
    el("span", { class: "push" }),
    pageButtons(),
  );
}
const nextCursor = () =>
  Object.entries(found?.next_offsets ?? {})
    .map(([partition, offset]) => `${partition}:${offset}`)
    .join(",");
function pageButtons() {
  const next = nextCursor(),
    isTooLong = next.length > CURSOR_CHARACTERS_MAX,
    [before, after] = isSought() ? ["Older", "Newer"] : ["Newer", "Older"];
  const button = (act, text, attributes) => el("button", { "data-messages": act, ...attributes }, text);
  return el(
    "span",
    { class: "line" },
    button("live", "Live", {
      class: isLive && !pages.length ? "on" : null,
      "aria-pressed": String(isLive && !pages.length),
      title: "Show messages as they come",
    }),
    button("back", `‹ ${before}`, { "aria-label": `${before} messages`, disabled: !pages.length }),
    button("on", `${after} ›`, {
      "aria-label": `${after} messages`,
      disabled: !next || isTooLong,
      title: isTooLong ? "Choose a partition: there are too many" : undefined,
    }),
  );
}
document.addEventListener("input", ({ target }) => {
  const name = target.dataset?.filter;
  if (!name) return;
  if (name === "offset") filter.time = "";
  if (name === "time") filter.offset = "";
  filter[name] = name === "offset" && !/^\d+$/.test(target.value) ? "" : target.value;
  pages = [];
  document.dispatchEvent(new Event("changed"));
});
const ACTS = {
  on: () => pages.push(nextCursor()),
  back: () => pages.pop(),
  live() {
    isLive = pages.length > 0 || !isLive;
    pages = [];
  },
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-messages]");
  if (!button) return;
  if (button.dataset.messages in ACTS) ACTS[button.dataset.messages]();
  else view = button.dataset.messages;
  document.dispatchEvent(new Event("changed"));
});

/** What the buttons of a message do with it. */
const MESSAGE_ACTS = {
  curl: (topic, record) => copy(curlText(topic, [asNewRecord(record)], hasToken())),
  python: (topic, record) => copy(pythonText(topic, record, brokers.map((each) => `${each.host}:${each.port}`).join(","))),
  download(topic, record, part) {
    const extension = isText(record[part]) ? "txt" : "bin";
    download(`${topic}-${record.partition}-${record.offset}-${part}.${extension}`, bytesOf(record[part]));
  },
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-message]");
  if (!button) return;
  const [act, topic, partition, offset, part] = JSON.parse(button.dataset.message);
  const record = found.records.find((other) => other.partition === partition && other.offset === offset);
  MESSAGE_ACTS[act](topic, record, part);
});

function messageRows(topic, record) {
  const place = [topic.name, record.partition, record.offset];
  const partition = route()[2];
  const parent = partition === undefined ? ["topics", topic.name] : ["topics", topic.name, partition];
  const isOpen = isAt("topics", ...place);
  const row = el(
    "tr",
    { id: idOf("record", ...place), class: isOpen ? "picked" : null },
    el(
      "td",
      { class: "num" },
      el(
        "button",
        {
          class: "quiet row-button",
          id: idOf("open", ...place),
          ...opens(isOpen, ["topics", ...place], parent),
        },
        `${record.partition} / ${record.offset}`,
      ),
    ),
    el("td", { class: "nowrap soft", title: dateText(record.timestamp) }, timestampText(record.timestamp)),
    el("td", { class: "mono words" }, shortValue(record.key)),
    el("td", { class: "mono words" }, shortValue(record.value)),
    el(
      "td",
      { class: "num" },
      record.headers.length || "",
      record.transaction ? el("span", { class: "tag" }, record.transaction) : null,
    ),
  );
  return isOpen ? [row, messageDetail(record, place)] : [row];
}
const viewButton = (id, label) =>
  el(
    "button",
    { class: view === id ? "on" : null, "data-messages": id, "aria-pressed": String(view === id) },
    label,
  );
const messageButton = (label, ...act) => el("button", { class: "quiet", "data-message": JSON.stringify(act) }, label);
/** The key or the value of a message, with its size and its schema. */
const partOf = (record, place, part, title) => {
  const save = messageButton("Download", "download", ...place, part);
  save.ariaLabel = `Download the ${part}`;
  return [
    el(
      "div",
      { class: "line" },
      el("b", null, title),
      el("span", { class: "soft" }, sizeText(record[part])),
      record[part] === null ? null : save,
    ),
    el("pre", { tabindex: 0 }, ...wholeValue(record[part], view)),
    ...schemaProblem(record[part]),
  ];
};
/** Whether the dialog that produces can hold a record: it has text, in headers of one line. */
const isEditable = ({ key, value, headers }) =>
  [key, value].every((each) => each === null || isText(each)) &&
  headers.every((header) => header.value !== null && isText(header.value) && !/[:\n]/.test(header.key + header.value.text));
const messageDetail = (record, place) =>
  el(
    "tr",
    { id: idOf("detail", ...place), class: "message" },
    el(
      "td",
      { colspan: 5 },
      el(
        "div",
        { class: "line" },
        el("span", { class: "soft" }, dateText(record.timestamp)),
        messageButton("Copy as curl", "curl", ...place),
        messageButton("Copy as Python", "python", ...place),
        isEditable(record)
          ? el(
              "button",
              {
                class: "quiet",
                "data-form": "produce",
                "data-topic": place[0],
                "data-record": JSON.stringify(asNewRecord(record)),
              },
              "Edit and produce",
            )
          : null,
        el("span", { class: "push" }),
        el("span", { class: "group" }, viewButton("json", "JSON"), viewButton("text", "Text"), viewButton("hex", "Hex")),
      ),
      ...partOf(record, place, "key", "Key"),
      record.headers.length
        ? table(
            ["Header", "Value"],
            record.headers.map((header) =>
              el(
                "tr",
                null,
                el("td", { class: "mono words" }, header.key),
                el("td", { class: "mono words" }, shortValue(header.value)),
              ),
            ),
          )
        : null,
      ...partOf(record, place, "value", "Value"),
    ),
  );

/** The messages of the open topic. */
export function messages(topic) {
  if (!found) return empty("Reading …");
  const none = filter.contains ? "No message has this text." : isSought() ? "No record from there on." : "No records.";
  return el(
    "div",
    { class: "messages" },
    found.records.length
      ? table(
          [">Partition / offset", "Time", "Key", "Value", ">Headers"],
          found.records.flatMap((record) => messageRows(topic, record)),
        )
      : empty(none),
    filter.contains ? el("p", { class: "empty" }, `${count(found.scanned, "record")} searched`) : null,
  );
}
