// Connections of clients.
import { asks } from "./api.js";
import { nowMs } from "./clock.js";
import { el, name } from "./dom.js";
import { span } from "./format.js";
export function connectionRow(each) {
  const left = each.muted_until_ms - nowMs();
  const state =
    each.muted_until_ms > 0
      ? el("span", { class: "tag warn" }, `muted ${left > 0 ? span(left) : ""}`)
      : each.is_waiting
        ? el("span", { class: "tag" }, "waits for a response")
        : null;
  return el(
    "tr",
    { id: `connection-${each.connection}` },
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
          ...asks("DELETE", `/v1/connections/${each.connection}`),
        },
        "cut",
      ),
    ),
  );
}
