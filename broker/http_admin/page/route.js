// The address of what is open: #/topics/orders/0/17, #/groups/billing, #/requests/17.
import { byId, idOf } from "./dom.js";
/** The parts of the address after "#", decoded. */
export const route = () =>
  location.hash
    .replace(/^#\/?/, "")
    .split("/")
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
/** The address, from "#" on, of what is open. */
export const hashOf = (...parts) => `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
export const isAt = (...parts) => parts.every((part, index) => route()[index] === String(part));
/** Attributes of a button that opens an address, or closes it if it is open. */
export const opens = (isOpen, parts, parent = []) => ({
  "data-open": isOpen ? hashOf(...parent) : hashOf(...parts),
  "aria-expanded": isOpen ? "true" : "false",
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-open]");
  if (button) location.hash = button.dataset.open;
});

const ARROWS = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };
/** The buttons between which an arrow key moves: rows of a list, tiles of a row, buttons of a toolbar. */
function buttonsAround(button, key) {
  const isVertical = key === "ArrowDown" || key === "ArrowUp";
  const toolbar = button.closest("[role=toolbar]");
  if (toolbar) return toolbar.querySelectorAll("button:not([disabled])");
  if (!isVertical) return button.closest(".topic")?.querySelectorAll(".title, .tile") ?? [];
  return button.closest(".body, section").querySelectorAll(".row-button");
}
// Arrow keys move between buttons, Escape closes what is open.
document.addEventListener("keydown", (event) => {
  const button = event.target.closest?.("button, a");
  if (event.target.matches?.("input, select, textarea")) return;
  if (event.key === "Escape" && !document.querySelector("dialog[open]") && location.hash.length > 2) {
    location.hash = "#/";
  } else if (button && event.key in ARROWS) {
    const buttons = [...buttonsAround(button, event.key)];
    const at = buttons.indexOf(button);
    const next = at < 0 ? null : buttons[at + ARROWS[event.key]];
    if (!next) return;
    next.focus();
    event.preventDefault();
  }
});

// Where the address and the list of what it names may be: the first one that is there is shown.
const PLACES = {
  topics: (name, partition, offset) => [
    partition === undefined ? null : idOf("record", name, partition, offset ?? ""),
    partition === undefined ? null : idOf("tile", name, partition),
    idOf("topic", name),
  ],
  groups: (id) => [idOf("group", id)],
  transactions: (id) => [idOf("transaction", id)],
  requests: (number) => [`line-${number}`],
  brokers: (id) => [`broker-${id}`, "brokers-title"],
  connections: (number) => [`connection-${number}`],
  faults: (id) => [`fault-${id}`],
  acls: (...fields) => [idOf("acl", ...fields)],
};
let scrolledTo = "";
/** Scroll to what the address names, once it is there. */
export function scrollToOpened() {
  const [kind, ...names] = route();
  if (location.hash === scrolledTo || !PLACES[kind] || names[0] === undefined) return;
  const found = PLACES[kind](...names)
    .map((id) => id && byId(id))
    .find(Boolean);
  if (!found) return;
  scrolledTo = location.hash;
  const node = found.querySelector(".title") ?? found; // what is open below it may be long
  const { top, bottom } = node.getBoundingClientRect(),
    list = (node.closest(".scroll") ?? document.body).getBoundingClientRect();
  if (top < Math.max(0, list.top) || bottom > Math.min(innerHeight, list.bottom))
    node.scrollIntoView({ block: "center" });
  node.classList.add("found");
  node.addEventListener("animationend", () => node.classList.remove("found"), { once: true });
}
