// Transactional ids and their transactions.
import { asks } from "./api.js";
import { el, empty, idOf, name, table } from "./dom.js";
import { dateText, span } from "./format.js";
import { isAt, opens } from "./route.js";
const TRANSACTIONS_MAX = 200;
export const isPrepared = (each) => each.state.startsWith("Prepare");
/** 0 for a transaction that is open, 1 for one that is being ended, 2 for none. */
export const rank = (each) => (each.state === "Ongoing" ? 0 : isPrepared(each) ? 1 : 2);
/** The partitions by topic, successive ones as a range: "orders 0–11, payments 3". */
export function partitionsText(partitions) {
  const ranges = [];
  for (const { topic, partition } of partitions) {
    const last = ranges.at(-1);
    if (last && last.topic === topic && last.end + 1 === partition) last.end = partition;
    else ranges.push({ topic, start: partition, end: partition });
  }
  return ranges
    .map(({ topic, start, end }) => `${topic} ${start === end ? start : `${start}–${end}`}`)
    .join(", ");
}
export const coordinatorText = (each) =>
  each.coordinator === null ? "No coordinator is up" : `The coordinator is broker ${each.coordinator}`;
const transactionRow = (each) =>
  el(
    "tr",
    { id: idOf("transaction", each.transactional_id) },
    el(
      "td",
      { class: "name" },
      el(
        "button",
        {
          class: "quiet row-button",
          title: each.transactional_id,
          ...opens(isAt("transactions", each.transactional_id), ["transactions", each.transactional_id]),
        },
        each.transactional_id,
      ),
    ),
    el(
      "td",
      {
        class: rank(each) < 2 ? "warn" : "soft",
        title:
          coordinatorText(each) + (isPrepared(each) ? "; waits for the leaders of these partitions" : ""),
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
              ...asks("POST", `/v1/transactions/${encodeURIComponent(each.transactional_id)}/abort`),
            },
            "Abort",
          )
        : null,
    ),
  );
const transactionDetail = (each) =>
  el(
    "tr",
    { id: idOf("transaction-detail", each.transactional_id), class: "message" },
    el(
      "td",
      { colspan: 6 },
      el("p", null, `${coordinatorText(each)}. Its timeout is ${span(each.timeout_ms)}.`),
      el(
        "p",
        null,
        each.start_ms === null ? "No transaction is open." : `Begun at ${dateText(each.start_ms)}.`,
      ),
      each.partitions.length ? el("p", null, `Partitions: ${partitionsText(each.partitions)}`) : null,
    ),
  );
export function transactionTable(transactions) {
  if (!transactions.length) return empty("No transactional id yet.");
  const sorted = [...transactions].sort((a, b) => rank(a) - rank(b));
  return [
    table(
      ["Transactional id", "State", ">Producer / epoch", "Partitions", ">Age", ""],
      sorted
        .slice(0, TRANSACTIONS_MAX)
        .flatMap((each) =>
          isAt("transactions", each.transactional_id)
            ? [transactionRow(each), transactionDetail(each)]
            : [transactionRow(each)],
        ),
    ),
    sorted.length > TRANSACTIONS_MAX ? empty(`and ${sorted.length - TRANSACTIONS_MAX} more`) : null,
  ];
}
