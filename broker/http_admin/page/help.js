// The keys of the page, a dialog that lists them, and the link that skips the head.
import { byId, el } from "./dom.js";
const KEYS = [
  ["/", "search everything"],
  ["?", "these keys"],
  ["Tab", "to the next list, field or button"],
  ["↑ ↓", "between rows, and between results of a search"],
  ["← →", "between partitions of a topic, and buttons of a toolbar"],
  ["Enter", "open or close a row"],
  ["Esc", "close what is open"],
];
const keyRow = ([key, what]) => el("tr", null, el("th", { scope: "row" }, el("kbd", null, key)), el("td", null, what));
const dialog = el(
  "dialog",
  { id: "help-dialog", "aria-labelledby": "help-title" },
  el(
    "form",
    { method: "dialog" },
    el("h2", { id: "help-title" }, "Keys"),
    el("table", null, el("tbody", null, ...KEYS.map(keyRow))),
    el("div", { class: "acts" }, el("button", null, "Close")),
  ),
);
document.body.append(dialog);
byId("help").addEventListener("click", () => dialog.showModal());
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says what is open
  (byId("topics").querySelector(".row-button") ?? byId("topics-search")).focus();
});
document.addEventListener("keydown", (event) => {
  const isElsewhere = event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]");
  if (isElsewhere || event.target.matches?.("input, select, textarea")) return;
  if (event.key === "?") dialog.showModal();
  else if (event.key === "/") byId("search").focus();
  else return;
  event.preventDefault();
});
