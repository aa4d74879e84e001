// The bytes of a key, a value or a header: as JSON, as text or in hex, with their size.
import { el } from "./dom.js";
import { bytes as size } from "./format.js";
import { jsonParts } from "./json.js";
const SHORT_CHARACTERS = 200,
  SHORT_BYTES = 32,
  DUMPED_BYTES_MAX = 16 * 1024,
  LINE_BYTES = 16;
// UTF-8 with one of these is no text, such as a number of Avro or Protocol Buffers.
const BINARY = /[\0-\x08\x0e-\x1f\x7f]/;
export const isText = (value) => value.text !== undefined && !BINARY.test(value.text);
export const bytesOf = (value) =>
  value.text === undefined
    ? Uint8Array.from(atob(value.base64), (character) => character.charCodeAt(0))
    : new TextEncoder().encode(value.text);
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
  const all = bytesOf(value);
  const rest = all.length > SHORT_BYTES ? " …" : "";
  return el(
    "span",
    null,
    `${hex(all.subarray(0, SHORT_BYTES))}${rest} `,
    el("span", { class: "soft" }, `${size(all.length)} of binary data`),
  );
}

/** The whole value; `view` is json, text or hex. What is no JSON is text, and what is no text is hex. */
export function wholeValue(value, view) {
  if (value === null) return ["null"];
  if (view === "hex" || !isText(value)) return [hexDump(bytesOf(value))];
  return (view === "json" && jsonParts(value.text)) || [value.text];
}
export const sizeText = (value) => (value === null ? "" : size(bytesOf(value).length));

/** Let the browser save bytes as a file. */
export function download(fileName, content) {
  const address = URL.createObjectURL(new Blob([content]));
  el("a", { href: address, download: fileName }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
