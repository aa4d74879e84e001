// Cards of the brokers.
import { asks } from "./api.js";
import { el } from "./dom.js";
import { hue } from "./format.js";
export function brokerCard(broker) {
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
    { id: `broker-${id}`, class: `broker${away ? " away" : ""}`, "--hue": hue(id), "data-broker": id },
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
        ? el("button", asks("POST", `/v1/brokers/${id}/start`), "Start")
        : el("button", asks("POST", `/v1/brokers/${id}/stop`, {}), "Stop"),
      away
        ? null
        : el(
            "button",
            {
              title: "Connections stay open; nothing passes through them",
              ...asks("POST", `/v1/brokers/${id}/isolate`, {}),
            },
            "Isolate",
          ),
    ),
  );
}
