// The newest messages of the open topic, over all partitions, with a filter and a JSON view.
import { get } from "./api.js";
import { el, empty, idOf, table } from "./dom.js";
import { count, dateText, timestampText } from "./format.js";
import { isAt, opens, route } from "./route.js";
import { bytesOf, download, isText, shortValue, sizeText, wholeValue } from "./values.js";
const LIMITS = [50, 200, 1000];
let found = null,
  foundFor = null,
  contains = "",
  seek = { offset: "", time: "" },
  limit = LIMITS[0],
  view = "json";
/** The records from an offset or a time on; null for the newest ones. */
function soughtQuery() {
  if (seek.offset !== "") return { offset: seek.offset };
  const ms = Date.parse(seek.time); // in the time zone of the page, as all its times are
  return Number.isNaN(ms) ? null : { timestamp: Math.max(ms, 0) };
}
async function readFrom(path, sought, part) {
  const query = new URLSearchParams({ limit, ...sought });
  if (part) query.set("partition", part.partition);
  const { records, next_offsets } = await get(`${path}?${query}`);
  return { records, is_complete: !Object.keys(next_offsets).length };
}

/** Read the messages of the open topic again, if it has others or the filter is another. */
export async function readMessages(topics) {
  const [kind, name, partition] = route();
  const topic = kind === "topics" && topics.find((other) => other.name === name);
  if (!topic) {
    found = foundFor = null;
    return;
  }
  const part = topic.partitions[partition];
  const ends = topic.partitions.map((other) => [other.log_start_offset, other.high_watermark]);
  const offset = route()[3];
  const sought = soughtQuery();
  const wanted = JSON.stringify([topic.topic_id, part?.partition, offset, contains, sought, limit, ends]);
  if (foundFor === wanted) return;
  const query = new URLSearchParams({ limit });
  if (part) query.set("partition", part.partition);
  if (contains) query.set("contains", contains);
  const path = `/v1/topics/${encodeURIComponent(name)}/records`;
  const newest = sought ? await readFrom(path, sought, part) : await get(`${path}/newest?${query}`);
  const isListed = newest.records.some((record) => String(record.offset) === offset);
  if (part && /^\d+$/.test(offset ?? "") && !isListed) {
    // The address may name a message that is older than the newest ones.
    const older = await get(`${path}?partition=${part.partition}&offset=${offset}&limit=1`);
    newest.records.push(...older.records.filter((record) => String(record.offset) === offset));
  }
  found = newest;
  foundFor = wanted;
}
/** What decides how the messages look; they are built again when it changes. */
export const messageState = () => [found, view, limit, seek.offset !== "" || seek.time !== ""];

export const messageFilter = () =>
  el("input", {
    id: "message-filter",
    type: "search",
    value: contains,
    placeholder: "Text in key, value or header",
    "aria-label": "Filter messages",
    size: 26,
    maxlength: 1000,
    disabled: soughtQuery() !== null,
  });
/** Fields for the offset or the time from which on messages are shown. */
export const messageSeek = () =>
  el(
    "span",
    { class: "line" },
    el("input", {
      id: "message-offset",
      type: "number",
      min: 0,
      value: seek.offset,
      placeholder: "Offset",
      "aria-label": "Show messages from this offset on",
    }),
    el("input", {
      id: "message-time",
      type: "datetime-local",
      step: 1,
      value: seek.time,
      "aria-label": "Show messages from this time on",
    }),
  );
document.addEventListener("input", ({ target: { id, value } }) => {
  if (id === "message-filter") contains = value;
  else if (id === "message-offset") seek = { offset: /^\d+$/.test(value) ? value : "", time: "" };
  else if (id === "message-time") seek = { offset: "", time: value };
  else return;
  document.dispatchEvent(new Event("changed"));
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-messages]");
  if (!button) return;
  if (button.dataset.messages === "more") limit = LIMITS[LIMITS.indexOf(limit) + 1];
  else view = button.dataset.messages;
  document.dispatchEvent(new Event("changed"));
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-download]");
  if (!button) return;
  const [topic, partition, offset, part] = JSON.parse(button.dataset.download);
  const record = found.records.find((other) => other.partition === partition && other.offset === offset);
  const extension = isText(record[part]) ? "txt" : "bin";
  download(`${topic}-${partition}-${offset}-${part}.${extension}`, bytesOf(record[part]));
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
/** The key or the value of a message, with its size. */
const partOf = (record, place, part, title) => [
  el(
    "div",
    { class: "line" },
    el("b", null, title),
    el("span", { class: "soft" }, sizeText(record[part])),
    record[part] === null
      ? null
      : el(
          "button",
          {
            class: "quiet",
            "aria-label": `Download the ${part}`,
            "data-download": JSON.stringify([...place, part]),
          },
          "Download",
        ),
  ),
  el("pre", { tabindex: 0 }, ...wholeValue(record[part], view)),
];
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
  const isSought = soughtQuery() !== null;
  const none = isSought ? "No record from there on." : contains ? "No message has this text." : "No records.";
  const hasMore = !found.is_complete && limit < LIMITS.at(-1);
  return el(
    "div",
    { class: "messages" },
    found.records.length
      ? table(
          [">Partition / offset", "Time", "Key", "Value", ">Headers"],
          found.records.flatMap((record) => messageRows(topic, record)),
        )
      : empty(none),
    hasMore ? el("button", { "data-messages": "more" }, "More") : null,
    contains && !isSought ? el("p", { class: "empty" }, `${count(found.scanned, "record")} searched`) : null,
  );
}
