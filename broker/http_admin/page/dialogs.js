// The dialogs: each is a form, which is built from its fields when the page opens.
import { byId, el } from "./dom.js";
import { ENTITIES, QUOTAS } from "./quotas.js";
const option = ([value, text = value]) => el("option", { value }, text);
const PARTITION = { name: "partition", label: "Partition", type: "number", min: 0, placeholder: "all" };
const RESOURCE_TYPES = ["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"].map((type) => [
  type,
]);

/** The kind of a quota's entity and its name, in one line. */
const entityField = ({ field, label }) =>
  el(
    "div",
    { class: "entity" },
    el(
      "select",
      { name: `${field}-kind`, "aria-label": `Which ${label}` },
      ...[
        ["", `any ${label}`],
        ["name", `this ${label}`],
        ["default", `default ${label}`],
      ].map(option),
    ),
    el("input", { name: field, "aria-label": `Name of the ${label}` }),
  );
const quotaField = ({ key, unit }) => ({ name: key, label: key, unit, type: "number", min: 0, step: "any" });

/** By their kind: the title, what it is about, a hint, the fields, and the name of the button that sends. */
const DIALOGS = {
  topic: {
    title: "New topic",
    fields: [
      { name: "name", label: "Name", required: true, maxlength: 1000 },
      { name: "partitions", label: "Partitions", type: "number", min: 1, placeholder: "num.partitions" },
      {
        name: "replication_factor",
        label: "Replication factor",
        type: "number",
        min: 1,
        placeholder: "default.replication.factor",
      },
      { name: "config", label: "Configuration", isLong: true, placeholder: "retention.ms=60000" },
    ],
    send: "Create",
  },
  produce: {
    title: "Produce to ",
    isAboutOne: true,
    fields: [
      { name: "key", label: "Key", placeholder: "null" },
      { name: "value", label: "Value", isLong: true },
      { name: "is-null", label: "No value (a tombstone)", type: "checkbox" },
      { name: "headers", label: "Headers", isLong: true, placeholder: "trace-id: 7" },
      { name: "partition", label: "Partition", type: "number", min: 0, placeholder: "by key" },
    ],
    send: "Produce",
    more: [el("button", { type: "button", id: "copy-produce" }, "Copy as curl")],
  },
  "delete-records": {
    title: "Delete records of ",
    isAboutOne: true,
    hint: "As DeleteRecords does: from the start of the log up to an offset.",
    fields: [
      PARTITION,
      { name: "before_offset", label: "Before offset", type: "number", min: 0, placeholder: "all records" },
    ],
    send: "Delete",
    isDangerous: true,
  },
  "reset-offsets": {
    title: "Reset offsets of ",
    isAboutOne: true,
    fields: [
      {
        name: "to",
        label: "To",
        options: [
          ["earliest", "the earliest record"],
          ["latest", "the end"],
          ["offset", "this offset"],
          ["time", "this time"],
        ],
      },
      { name: "offset", label: "Offset", type: "number", min: 0, value: 0 },
      { name: "time", label: "Time", type: "datetime-local", step: 1 },
      { name: "topic", label: "Topic", maxlength: 1000, placeholder: "all" },
      PARTITION,
    ],
    send: "Reset",
    isDangerous: true,
  },
  config: {
    title: "Configuration of ",
    isAboutOne: true,
    hint: "An empty field has the default that it shows.",
    fields: [el("div", { id: "config-keys", class: "keys" })],
    send: "Save",
  },
  quota: {
    title: "Quotas",
    fields: [
      ...ENTITIES.map(entityField),
      ...QUOTAS.map(quotaField),
      { name: "shadow", label: "Shadow mode: report, do not enforce", type: "checkbox" },
    ],
    send: "Save",
  },
  acl: {
    title: "Add an ACL",
    fields: [
      { name: "principal", label: "Who", required: true, placeholder: "alice, or * for all" },
      { name: "permission_type", label: "Permission", options: [["ALLOW"], ["DENY"]] },
      { name: "operation", label: "Operation", required: true, placeholder: "READ, or ALL" },
      { name: "resource_type", label: "Resource", options: RESOURCE_TYPES },
      { name: "resource_name", label: "Name", required: true, placeholder: "orders, or * for all" },
      {
        name: "pattern_type",
        label: "Pattern",
        options: [
          ["LITERAL", "this name"],
          ["PREFIXED", "names that begin so"],
        ],
      },
      { name: "host", label: "From", required: true, value: "*" },
    ],
    send: "Add",
  },
};

function inputOf({ isLong, options, ...attributes }) {
  if (options) return el("select", attributes, ...options.map(option));
  return isLong ? el("textarea", { ...attributes, spellcheck: "false" }) : el("input", attributes);
}
/** A label with its field; an element stays as it is. */
function fieldOf(field) {
  if (field instanceof Node) return field;
  const { label, unit, ...rest } = field;
  if (rest.type === "checkbox") return el("label", { class: "check" }, inputOf(rest), label);
  const units = unit ? [" ", el("i", { class: "soft" }, unit)] : [];
  return el("label", null, el("span", null, label, ...units), inputOf(rest));
}
function dialog(kind, { title, isAboutOne, hint, fields, send, isDangerous, more = [] }) {
  return el(
    "dialog",
    { id: `${kind}-dialog`, "aria-labelledby": `${kind}-title` },
    el(
      "form",
      { id: `${kind}-form`, "data-kind": kind, autocomplete: "off" },
      el("h2", { id: `${kind}-title` }, title, isAboutOne ? el("span", { id: `${kind}-of` }) : null),
      hint ? el("p", { class: "soft" }, hint) : null,
      ...fields.map(fieldOf),
      el("p", { class: "problem bad", role: "alert" }),
      el(
        "div",
        { class: "acts" },
        el("button", { class: isDangerous ? "danger" : null }, send),
        ...more,
        el("button", { type: "button", class: "quiet", "data-close": true }, "Cancel"),
      ),
    ),
  );
}
document.body.append(...Object.entries(DIALOGS).map(([kind, described]) => dialog(kind, described)));
byId("resource-type").append(...RESOURCE_TYPES.map(option));
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
});
