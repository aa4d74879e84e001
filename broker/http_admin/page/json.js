// JSON as it is written: numbers keep their digits and strings their escapes; line breaks and colours are added.
import { el } from "./dom.js";
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g;
const COLOURED_TOKENS_MAX = 20_000,
  INDENT_MAX = 40;
const isOpening = (token) => token === "{" || token === "[",
  isClosing = (token) => token === "}" || token === "]";
const kindOf = (token, next) =>
  token[0] === '"' ? (next === ":" ? "key" : "string") : /[-\d]/.test(token[0]) ? "number" : "word";

/** A button that folds what is between two brackets; the style sheet hides it. */
const foldButton = () =>
  el("button", { type: "button", class: "fold", "data-fold": true, "aria-expanded": "true", "aria-label": "Fold" });
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-fold]");
  if (button) button.ariaExpanded = button.ariaExpanded === "true" ? "false" : "true";
});

/** The parts of JSON, one element a line, each of several lines with a button that folds it; null if it is none. */
export function jsonParts(text) {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = text.match(TOKEN),
    isColoured = tokens.length <= COLOURED_TOKENS_MAX;
  const newLine = () => `\n${"  ".repeat(Math.min(open.length - 1, INDENT_MAX))}`;
  const open = [[]]; // the parts of what is not closed yet, the innermost last
  tokens.forEach((token, index) => {
    const next = tokens[index + 1],
      parts = open.at(-1);
    if (isOpening(token) && isClosing(next)) parts.push(token);
    else if (isOpening(token)) {
      if (isColoured) parts.push(foldButton());
      parts.push(token);
      open.push([]);
      open.at(-1).push(newLine());
    } else if (isClosing(token) && !isOpening(tokens[index - 1])) {
      const inner = open.pop();
      inner.push(newLine());
      if (isColoured) open.at(-1).push(el("span", { class: "folding" }, ...inner), token);
      else open.at(-1).push(...inner, token);
    } else if (isClosing(token)) parts.push(token);
    else if (token === ",") parts.push(token + newLine());
    else if (token === ":") parts.push(": ");
    else parts.push(isColoured ? el("span", { class: `json-${kindOf(token, next)}` }, token) : token);
  });
  return isColoured ? open[0] : [open[0].join("")];
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
