// Messages as commands: what stores one again, in a shell and in Python.
import { notify } from "./api.js";
import { bytesOf, isText } from "./bytes.js";
import { byId, el } from "./dom.js";
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
/** What a shell has to run to store records; the token, if the port has one, comes from the environment. */
export function curlText(topic, records, hasToken) {
  const token = hasToken ? ` -H "Authorization: Bearer $MOCK_KAFKA_ADMIN_TOKEN"` : "";
  const url = `${location.origin}/v1/topics/${encodeURIComponent(topic)}/records`;
  return `curl -X POST ${quoted(url)}${token} -d ${quoted(JSON.stringify({ records }))}`;
}
/** A record as it was read, as one to produce. */
export const asNewRecord = ({ key, value, headers, partition }) => ({ key, value, headers, partition });
const pythonByte = (byte) => `\\x${byte.toString(16).padStart(2, "0")}`;
function pythonBytes(value) {
  if (value === null) return "None";
  // A string of JSON is one of Python, too.
  return isText(value) ? `${JSON.stringify(value.text)}.encode()` : `b"${[...bytesOf(value)].map(pythonByte).join("")}"`;
}
/** A program for kafka-python that produces a record again. */
export function pythonText(topic, record, bootstrapServers) {
  const headers = record.headers.map((header) => `(${JSON.stringify(header.key)}, ${pythonBytes(header.value)})`);
  return [
    "from kafka import KafkaProducer",
    "",
    `producer = KafkaProducer(bootstrap_servers=${JSON.stringify(bootstrapServers)})`,
    "producer.send(",
    `    ${JSON.stringify(topic)},`,
    `    key=${pythonBytes(record.key)},`,
    `    value=${pythonBytes(record.value)},`,
    `    headers=[${headers.join(", ")}],`,
    `    partition=${record.partition},`,
    ").get(30)",
    "producer.close()",
    "",
  ].join("\n");
}
const dialog = el(
  "dialog",
  { id: "copy-dialog", "aria-labelledby": "copy-title" },
  el(
    "form",
    { method: "dialog" },
    el("h2", { id: "copy-title" }, "Copy this"),
    el("textarea", { id: "copy-text", rows: 12, readonly: true, spellcheck: "false", "aria-label": "Text to copy" }),
    el("div", { class: "acts" }, el("button", null, "Close")),
  ),
);
document.body.append(dialog);
/** Put a text on the clipboard, or show it where the browser forbids that: without HTTPS on other hosts. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    notify("Copied.");
  } catch {
    byId("copy-text").value = text;
    dialog.showModal();
    byId("copy-text").select();
  }
}
