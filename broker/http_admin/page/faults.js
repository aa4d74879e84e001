// Fault rules.
import { act, asks, notify } from "./api.js";
import { byId, el } from "./dom.js";
const QUICK = [
  ["Lose the next Produce response", { api: "Produce", drop: "before_response", times: 1 }],
  ["Fail the next two Produce", { api: "Produce", error: "NOT_ENOUGH_REPLICAS", times: 2 }],
  ["Delay Metadata 500 ms", { api: "Metadata", delay_ms: 500 }],
  ["Throttle Produce 1 s", { api: "Produce", throttle_time_ms: 1000 }],
  ["Refuse connections", { refuse_connection: true }],
];
byId("quick").append(...QUICK.map(([label, rule]) => el("button", asks("POST", "/v1/faults", rule), label)));
byId("add-rule").addEventListener("click", () => {
  try {
    act("POST", "/v1/faults", JSON.parse(byId("rule").value));
  } catch (error) {
    notify(`No JSON: ${error.message}`);
  }
});
byId("clear-faults").addEventListener("click", () => act("DELETE", "/v1/faults"));
/** A rule in one line. */
export const ruleText = (rule) =>
  Object.entries(rule)
    .map(([key, value]) => (value === true ? key : `${key} ${value}`))
    .join(", ");
export const faultRow = (fault) =>
  el(
    "tr",
    { id: `fault-${fault.id}` },
    el("td", { class: "num soft" }, `#${fault.id}`),
    el("td", { class: fault.is_used_up ? "words soft" : "words" }, ruleText(fault.rule)),
    el("td", { class: "num nowrap" }, `${fault.fired} of ${fault.matched}`),
    el("td", null, fault.is_used_up ? el("span", { class: "tag" }, "used up") : null),
    el(
      "td",
      { class: "num" },
      el("button", { class: "quiet", title: "Remove", ...asks("DELETE", `/v1/faults/${fault.id}`) }, "×"),
    ),
  );
