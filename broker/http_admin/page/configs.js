// Keys that were set without an effect.
import { el } from "./dom.js";
const owner = (config) =>
  config.resource_type === "broker" && !config.resource_name
    ? "all brokers"
    : `${config.resource_type.replace("_", " ")} ${config.resource_name}`;
export const configRow = (config) =>
  el(
    "tr",
    { id: `config-${config.resource_type}-${config.resource_name}-${config.name}` },
    el("td", { class: "mono words" }, config.name),
    el("td", { class: "words" }, owner(config)),
    el("td", { class: "words soft" }, config.reason),
  );
