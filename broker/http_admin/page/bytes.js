// Bytes as the admin port sends them: text in UTF-8, or base64.
/** The bytes of a key, a value or a header. */
export const bytesOf = (value) =>
  value.text === undefined
    ? Uint8Array.from(atob(value.base64), (character) => character.charCodeAt(0))
    : new TextEncoder().encode(value.text);
// UTF-8 with one of these is no text, such as a number of Avro or Protocol Buffers.
const BINARY = /[\0-\x08\x0e-\x1f\x7f]/;
export const isText = (value) => value.text !== undefined && !BINARY.test(value.text);
