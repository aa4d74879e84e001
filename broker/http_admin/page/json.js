// JSON as it is written: numbers keep their digits and strings their escapes; line breaks and colours are added.
import { el } from "./dom.js";
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g;
const COLOURED_TOKENS_MAX = 20_000,
  INDENT_MAX = 40;
const isOpening = (token) => token === "{" || token === "[",
  isClosing = (token) => token === "}" || token === "]";
const kindOf = (token, next) =>
  token[0] === '"' ? (next === ":" ? "key" : "string") : /[-\d]/.test(token[0]) ? "number" : "word";

/** The parts of JSON, one element a line; null if the text is no JSON. */
export function jsonParts(text) {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = text.match(TOKEN),
    isColoured = tokens.length <= COLOURED_TOKENS_MAX;
  let depth = 0;
  const newLine = () => `\n${"  ".repeat(Math.min(depth, INDENT_MAX))}`;
  const parts = tokens.map((token, index) => {
    const next = tokens[index + 1];
    if (isOpening(token)) {
      depth += 1;
      return isClosing(next) ? token : token + newLine();
    }
    if (isClosing(token)) {
      depth -= 1;
      return isOpening(tokens[index - 1]) ? token : newLine() + token;
    }
    if (token === ",") return token + newLine();
    if (token === ":") return ": ";
    return isColoured ? el("span", { class: `json-${kindOf(token, next)}` }, token) : token;
  });
  return isColoured ? parts : [parts.join("")];
}

/** The members of a JSON object by their names, each value as it is written. */
export function jsonMembers(text) {
  const members = new Map();
  let depth = 0,
    name = null,
    start = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (depth === 1 && token === ":") start = index + 1;
    else if (depth === 1 && (token === "," || token === "}")) {
      if (name !== null) members.set(name, text.slice(start, index));
      name = null;
    } else if (depth === 1 && name === null) name = JSON.parse(token);
    if (isOpening(token)) depth += 1;
    else if (isClosing(token)) depth -= 1;
  }
  return members;
}
