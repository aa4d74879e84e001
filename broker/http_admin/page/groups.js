// Groups of all types, their members and their lag.
import { asks, get } from "./api.js";
import { byId, el, empty, idOf, name, showRows, table } from "./dom.js";
import { number } from "./format.js";
import { isAt, opens, route } from "./route.js";
import { coordinatorText, partitionsText } from "./transactions.js";
export const GROUPS_MAX = 50;
const MEMBERS_MAX = 50;
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
    { id: idOf("member", group.group_id, member.member_id) },
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
          ...asks("POST", `${groupPath(group)}/members/${encodeURIComponent(member.member_id)}/fence`),
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
    el("td", { class: "num" }, number(part.lag)),
    el("td", { class: "num" }, number(part.in_flight_records)),
    el("td", { class: "num" }, number(part.acquired_records)),
  );
let offsets = [],
  offsetsOf = null;
/** Read the offsets and the lag of the open group. */
export async function readOffsets(groups) {
  const [kind, groupId] = route();
  const group = kind === "groups" && groups.find((other) => other.group_id === groupId);
  offsets = [];
  offsetsOf = null;
  if (!group || group.group_type === "share") return;
  offsets = await get(`${groupPath(group)}/offsets`);
  offsetsOf = groupId;
}
/** The client id of the member that reads a partition; empty without one. */
const readerOf = (group, { topic, partition }) =>
  group.members.find((member) =>
    member.assigned?.some((entry) => entry.topic === topic && entry.partitions.includes(partition)),
  )?.client_id ?? "";
function offsetsPart(group) {
  if (offsetsOf !== group.group_id || !offsets.length) return empty("No committed offsets.");
  return el(
    "div",
    { class: "opened" },
    el(
      "div",
      { class: "line" },
      el(
        "button",
        {
          "data-form": "reset-offsets",
          "data-group": group.group_id,
          disabled: group.members.length > 0,
          title: group.members.length ? "Its members must leave first" : undefined,
        },
        "Reset offsets",
      ),
    ),
    table(
      ["Partition", ">Committed", ">Lag", "Read by"],
      offsets.map((entry) =>
        el(
          "tr",
          null,
          name(`${entry.topic} ${entry.partition}`),
          el("td", { class: "num" }, number(entry.offset)),
          el("td", { class: entry.lag > 0 ? "num warn" : "num" }, number(entry.lag)),
          name(readerOf(group, entry)),
        ),
      ),
    ),
  );
}
/** The records that a group has not read; of a share group, those that are not done. */
export const lagOf = (group) =>
  [...group.offsets, ...group.share_partitions].reduce((sum, part) => sum + Math.max(part.lag ?? 0, 0), 0);
function groupPart(group) {
  const more = group.members.length - MEMBERS_MAX;
  return el(
    "div",
    { class: "member-group", id: idOf("group", group.group_id) },
    el(
      "div",
      { class: "member-group-line" },
      el(
        "button",
        { class: "title row-button", ...opens(isAt("groups", group.group_id), ["groups", group.group_id]) },
        group.group_id,
      ),
      el("span", { class: "tag" }, group.group_type),
      el(
        "span",
        {
          class: ["Stable", "Empty"].includes(group.state) ? "tag" : "tag warn",
          title: coordinatorText(group),
        },
        group.state,
      ),
      group.is_assigned_manually ? el("span", { class: "tag fault" }, "assigned manually") : null,
      el("span", { class: "soft" }, [epochsText(group), group.protocol_name].filter(Boolean).join(" · ")),
      el("span", { class: "push" }),
      group.offsets.length || group.share_partitions.length
        ? el("span", { class: lagOf(group) ? "num warn" : "num soft" }, `lag ${number(lagOf(group))}`)
        : null,
      group.members.length
        ? el(
            "button",
            {
              class: "quiet",
              title: "Begin a new epoch, or in a classic group a new generation",
              ...asks("POST", `${groupPath(group)}/rebalance`),
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
    isAt("groups", group.group_id) && group.group_type !== "share" ? offsetsPart(group) : null,
    group.share_partitions.length
      ? table(
          ["Partition", ">Start offset", ">Lag", ">In flight", ">Acquired"],
          group.share_partitions.slice(0, MEMBERS_MAX).map(sharePartitionRow),
        )
      : null,
  );
}
/** Show the groups of a page, each again only if it has changed; `isSearch` says that there may be others. */
export function showGroups(groups, isSearch) {
  const rows = groups.map((group) => {
    const isOpen = isAt("groups", group.group_id);
    return {
      id: idOf("group", group.group_id),
      state: [JSON.stringify(group), isOpen, isOpen ? offsets : null],
      build: () => groupPart(group),
    };
  });
  const none = isSearch ? "No group has such an id." : "No group yet.";
  if (!rows.length)
    rows.push({ id: "no-groups", state: [none], build: () => el("p", { class: "empty", id: "no-groups" }, none) });
  showRows(byId("groups"), rows);
}
