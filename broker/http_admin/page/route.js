// The address of what is open: #/topics/orders/0/17, #/groups/billing, #/requests/17.
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
const hashOf = (...parts) => `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
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

// Arrow keys move between the buttons of rows, Escape closes what is open.
document.addEventListener("keydown", (event) => {
  const button = event.target.closest?.("[data-open]");
  if (event.target.matches?.("input, select, textarea")) return;
  if (event.key === "Escape" && !document.querySelector("dialog[open]") && location.hash.length > 2) {
    location.hash = "#/";
  } else if (button && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const buttons = [...button.closest(".body, section").querySelectorAll(".row-button")];
    const next = buttons[buttons.indexOf(button) + (event.key === "ArrowDown" ? 1 : -1)];
    if (!next) return;
    next.focus();
    event.preventDefault();
  }
});
