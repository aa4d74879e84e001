// The bytes of a key, a value or a header: as JSON, as text or in hex, with their size.
import { bytesOf, isText } from "./bytes.js";
import { el } from "./dom.js";
import { bytes as size } from "./format.js";
import { jsonParts } from "./json.js";
import { decoded } from "./schemas.js";
const SHORT_CHARACTERS = 200,
  SHORT_BYTES = 32,
  DUMPED_BYTES_MAX = 16 * 1024,
  LINE_BYTES = 16;
const hex = (some) => [...some].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
const printable = (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".");

/** Offsets, bytes in hex and as ASCII, as `hexdump -C` prints them. */
function hexDump(all) {
  const lines = [];
  for (let at = 0; at < Math.min(all.length, DUMPED_BYTES_MAX); at += LINE_BYTES) {
    const line = all.subarray(at, at + LINE_BYTES);
    const text = [...line].map(printable).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex(line).padEnd(3 * LINE_BYTES)} |${text}|`);
  }
  if (all.length > DUMPED_BYTES_MAX)
    lines.push(`The first ${size(DUMPED_BYTES_MAX)} of ${size(all.length)}; download the rest.`);
  return lines.join("\n");
}

/** One line: the beginning of a text, or of the bytes with their number. */
export function shortValue(value) {
  if (value === null) return el("span", { class: "soft" }, "null");
  if (isText(value)) return value.text.slice(0, SHORT_CHARACTERS);
  const json = decoded(value)?.json;
  if (json !== undefined) return json.slice(0, SHORT_CHARACTERS);
  const all = bytesOf(value);
  const rest = all.length > SHORT_BYTES ? " …" : "";
  return el(
    "span",
    null,
    `${hex(all.subarray(0, SHORT_BYTES))}${rest} `,
    el("span", { class: "soft" }, `${size(all.length)} of binary data`),
  );
}

/**
 * The whole value; `view` is json, text or hex. What is no JSON is text, and what is no text is hex. A value that its
 * schema decodes is JSON, laid out or not.
 */
export function wholeValue(value, view) {
  if (value === null) return ["null"];
  const json = view === "hex" || isText(value) ? undefined : decoded(value)?.json;
  if (json !== undefined) return (view === "json" && jsonParts(json)) || [json];
  if (view === "hex" || !isText(value)) return [hexDump(bytesOf(value))];
  return (view === "json" && jsonParts(value.text)) || [value.text];
}
/** How long a value is, and what its schema says about it. */
export function sizeText(value) {
  if (value === null) return "";
  const label = isText(value) ? null : decoded(value)?.label;
  return [size(bytesOf(value).length), label].filter(Boolean).join(" · ");
}
/** Why a value is not decoded, and its schema; nothing if there is no problem. */
export function schemaProblem(value) {
  const { problem, schema } = (value !== null && !isText(value) && decoded(value)) || {};
  if (!problem) return [];
  const parts = schema ? (jsonParts(schema) ?? [schema]) : [];
  return [
    el("p", { class: "warn" }, `Not decoded: ${problem}.`),
    schema ? el("details", null, el("summary", null, "Schema"), el("pre", { tabindex: 0 }, ...parts)) : null,
  ];
}

/** Let the browser save bytes as a file. */
export function download(fileName, content) {
  const address = URL.createObjectURL(new Blob([content]));
  el("a", { href: address, download: fileName }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
