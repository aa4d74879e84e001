import { Idiomorph } from "./idiomorph.esm.js";
// Names of topics, clients and users are always inserted as text, never as HTML.
export const byId = (id) => document.getElementById(id);
// Characters that nobody sees, and those that change the order of others (Unicode's bidirectional controls).
const HIDDEN = /([\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff])/;
const codePoint = (character) => `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
/** A text in which hidden characters are code points, for places without elements. */
export const visible = (text) =>
  text
    .split(HIDDEN)
    .map((part, index) => (index % 2 ? codePoint(part) : part))
    .join("");
const textNodes = (text) =>
  text
    .split(HIDDEN)
    .map((part, index) => (index % 2 ? el("span", { class: "hidden-character" }, codePoint(part)) : part));
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("--")) node.style.setProperty(key, value);
    else if (key === "title" || key === "aria-label") node.setAttribute(key, visible(String(value)));
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(
    ...children
      .filter((each) => each !== null && each !== undefined)
      .flatMap((each) => (each instanceof Node ? each : textNodes(String(each)))),
  );
  return node;
}
const shown = new Map();
const options = {
  morphStyle: "innerHTML",
  callbacks: {
    // The Content-Security-Policy forbids style attributes, not changes of `style`.
    beforeNodeMorphed(old, next) {
      if (old.style && old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
    },
    // What the reader has folded or opened stays so.
    beforeAttributeUpdated: (attribute, node) =>
      attribute !== "style" &&
      !(attribute === "open" && node.localName === "details") &&
      !(attribute === "aria-expanded" && "fold" in node.dataset),
  },
};
/** Tab reaches the first button of a toolbar, and the arrow keys the others. */
export function setStops(node) {
  const buttons = node.closest("[role=toolbar]")?.querySelectorAll("button:not([disabled])") ?? [];
  buttons.forEach((button, index) => {
    button.tabIndex = index ? -1 : 0;
  });
}
/** Change the children of a node into others; those that stay keep focus, selection and scroll position. */
export function morph(host, children) {
  const made = el(host.localName, null, ...children);
  Idiomorph.morph(host, made.childNodes.length ? [...made.childNodes] : "", options);
  setStops(host);
}
const isSame = (some, others) => some?.length === others.length && some.every((each, index) => each === others[index]);
const stateOf = new WeakMap();
/** Show rows by their ids, in order; one with the same state as before stays as it is. Return the new ones. */
export function showRows(host, rows) {
  const nodes = new Map([...host.children].map((node) => [node.id, node])),
    made = [];
  let place = host.firstElementChild;
  for (const { id, state, build } of rows) {
    let node = nodes.get(id);
    nodes.delete(id);
    if (!node) made.push((node = build()));
    else if (!isSame(stateOf.get(node), state))
      Idiomorph.morph(node, build(), { ...options, morphStyle: "outerHTML" });
    stateOf.set(node, state);
    if (node === place) place = place.nextElementSibling;
    else host.insertBefore(node, place);
  }
  for (const node of nodes.values()) node.remove();
  return made;
}
/** Build a part of the page again, if its data changed. */
export function show(id, data, build) {
  const state = JSON.stringify(data);
  if (shown.get(id) === state) return;
  shown.set(id, state);
  const host = byId(id);
  morph(
    host,
    [build(data)].flat().filter((each) => each !== null),
  );
}
export const empty = (text) => el("p", { class: "empty" }, text);
/** A table; ">" before a head aligns its column to the right, and "" is a column of buttons. */
export function table(heads, rows) {
  const labels = heads.map((head) => head.replace(">", ""));
  for (const row of rows)
    row.querySelectorAll(":scope > td:not([colspan])").forEach((cell, index) => {
      if (labels[index]) cell.dataset.label = labels[index];
    });
  const cells = heads.map((head, index) =>
    head ? el("th", { scope: "col", class: head.startsWith(">") ? "num" : null }, labels[index]) : el("td"),
  );
  return el("table", null, el("thead", null, el("tr", null, ...cells)), el("tbody", null, ...rows));
}

/** A cell with a name that may be long, or null. */
export const name = (text) =>
  el("td", { class: "name", title: text }, text ?? el("span", { class: "soft" }, "–"));

/** An id that is the same in every refresh, so that the node of a row stays. */
export const idOf = (...parts) => parts.map((part) => encodeURIComponent(part)).join("-");
