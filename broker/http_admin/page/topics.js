// Topics with a tile for each partition, and what is open beside them.
import { act } from "./api.js";
import { byId, el, idOf, showRows } from "./dom.js";
import { bytes, count, hue, number } from "./format.js";
import { messageState, messageTools, messages } from "./messages.js";
import { isAt, opens, route } from "./route.js";
const ends = new Map();
export const TOPICS_MAX = 200;
const TILES_MAX = 120;

function tile(topic, part) {
  const key = `${topic.name}/${part.partition}`,
    grown = ends.has(key) && ends.get(key) < part.log_end_offset;
  ends.set(key, part.log_end_offset);
  const isOpen = isAt("topics", topic.name, part.partition);
  const leader = part.leader === null ? "nobody" : `broker ${part.leader}`;
  const title = `Partition ${part.partition}, led by ${leader}, ends at ${part.log_end_offset}`;
  return el(
    "button",
    {
      id: idOf("tile", topic.name, part.partition),
      class: `tile${part.leader === null ? " none" : ""}${grown ? " fresh" : ""}${isOpen ? " open" : ""}`,
      "--hue": part.leader === null ? undefined : hue(part.leader),
      tabindex: -1, // the arrow keys reach it from the topic
      title,
      "aria-label": `${topic.name}: ${title}`,
      ...opens(isOpen, ["topics", topic.name, part.partition], ["topics", topic.name]),
    },
    part.partition,
  );
}

const rowId = (topic) => idOf("topic", topic.name);
function topicLine(topic, brokers, isOpen, isSeen) {
  const total = topic.partitions.reduce((sum, part) => sum + part.log_end_offset - part.log_start_offset, 0);
  return el(
    "div",
    { class: "topic", id: rowId(topic), "--height": isSeen ? undefined : heights.get(rowId(topic)) },
    el("button", { class: "title row-button", ...opens(isOpen, ["topics", topic.name]) }, topic.name),
    el("div", { class: "tiles" }, ...(isSeen ? topic.partitions.slice(0, TILES_MAX).map((part) => tile(topic, part)) : [])),
    el("span", { class: "count num" }, count(total, "record")),
    isOpen ? openedTopic(topic, brokers) : null,
  );
}

function leaderLine(topic, part, brokers) {
  const place = [topic.name, part.partition];
  return el(
    "div",
    { class: "line" },
    el("b", null, `Partition ${part.partition}`),
    el(
      "label",
      null,
      "Leader ",
      el(
        "select",
        { id: idOf("leader", ...place), "aria-label": "Leader", "data-leader": JSON.stringify(place) },
        ...brokers.map((broker) =>
          el(
            "option",
            { value: broker.node_id, selected: broker.node_id === part.leader },
            `broker ${broker.node_id}`,
          ),
        ),
        el("option", { value: "", selected: part.leader === null }, "nobody"),
      ),
    ),
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
    part.high_watermark < part.log_end_offset
      ? el("span", { class: "warn" }, `consumers read up to ${number(part.high_watermark)}`)
      : null,
  );
}
document.addEventListener("change", (event) => {
  if (!event.target.dataset.leader) return;
  const [name, partition] = JSON.parse(event.target.dataset.leader);
  const broker = event.target.value === "" ? null : Number(event.target.value);
  act("PUT", `/v1/topics/${encodeURIComponent(name)}/partitions/${partition}/leader`, { broker });
});

function openedTopic(topic, brokers) {
  const part = topic.partitions[route()[2]];
  return el(
    "div",
    { class: "opened", id: idOf("opened", topic.name) },
    part ? leaderLine(topic, part, brokers) : null,
    el(
      "div",
      { class: "line" },
      el("button", { "data-form": "produce", "data-topic": topic.name }, "Produce"),
      el("button", { "data-form": "config", "data-topic": topic.name }, "Configuration"),
      el(
        "button",
        {
          "data-form": "delete-records",
          "data-topic": topic.name,
          "data-partition": part ? part.partition : undefined,
        },
        "Delete records",
      ),
      el("span", { class: "soft" }, `${count(topic.partitions.length, "partition")}`),
    ),
    messageTools(),
    messages(topic),
  );
}

// Tiles are drawn where the list is scrolled to; the other rows keep the height that they had.
const seen = new Set(),
  heights = new Map();
let shown = [[], [], ""];
const inView = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      heights.set(target.id, `${boundingClientRect.height}px`);
      if (isIntersecting) seen.add(target.id);
      else seen.delete(target.id);
    }
    showTopics(...shown);
  },
  { root: byId("topics"), rootMargin: "200px" },
);
/** Show the topics of a page; `isSearch` says that there may be others. */
export function showTopics(topics, brokers, isSearch) {
  shown = [topics, brokers, isSearch];
  const none = isSearch ? "No topic has such a name." : "No topic yet.";
  const rows = topics.map((topic) => {
    const isOpen = isAt("topics", topic.name),
      isSeen = seen.has(rowId(topic));
    const opened = isOpen ? [location.hash, brokers, ...messageState()] : [];
    return {
      id: rowId(topic),
      state: [topic, isOpen, isSeen, ...opened],
      build: () => topicLine(topic, brokers, isOpen, isSeen),
    };
  });
  if (!rows.length) rows.push({ id: "no-topics", state: [none], build: () => el("p", { class: "empty", id: "no-topics" }, none) });
  const gone = new Set(heights.keys());
  for (const { id } of rows) gone.delete(id);
  for (const id of gone) {
    seen.delete(id);
    heights.delete(id);
  }
  for (const node of showRows(byId("topics"), rows)) inView.observe(node);
}
