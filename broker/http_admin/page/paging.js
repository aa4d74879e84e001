// A search and a pager for a list of which the broker sends one page.
import { byId, el, setStops } from "./dom.js";
import { number } from "./format.js";

/** The state of one list: what is searched for, and where its page begins. */
export class Paging {
  /** `id` is that of the list; `${id}-search` is its field and `${id}-pager` the place of its buttons. */
  constructor(id, limit, onChange) {
    Object.assign(this, { id, limit, offset: 0, onChange });
    this.field = byId(`${id}-search`);
    this.field.addEventListener("input", () => this.moveTo(0));
    byId(`${id}-pager`).addEventListener("click", (event) => {
      const button = event.target.closest("[data-offset]");
      if (button) this.moveTo(Number(button.dataset.offset));
    });
  }

  get search() {
    return this.field.value.trim();
  }

  get query() {
    return new URLSearchParams({ search: this.search, offset: this.offset, limit: this.limit });
  }

  moveTo(offset) {
    this.offset = offset;
    this.onChange();
  }

  /** Show which of all results are on the page; go back if there are none so far behind any more. */
  show(total) {
    const { limit, offset } = this;
    if (offset && offset >= total) this.moveTo(Math.max(0, Math.ceil(total / limit) - 1) * limit);
    const button = (text, label, to, isPossible) =>
      el("button", { class: "quiet", "aria-label": label, "data-offset": to, disabled: !isPossible }, text);
    const parts =
      total > limit
        ? [
            button("‹", `Previous ${this.id}`, offset - limit, offset > 0),
            el(
              "span",
              null,
              `${number(offset + 1)} to ${number(Math.min(offset + limit, total))} of ${number(total)}`,
            ),
            button("›", `Next ${this.id}`, offset + limit, offset + limit < total),
          ]
        : [];
    const pager = byId(`${this.id}-pager`);
    const state = parts.map((part) => part.outerHTML).join("");
    if (pager.dataset.state === state) return; // a button keeps its focus
    pager.dataset.state = state;
    const focused = document.activeElement?.ariaLabel;
    pager.replaceChildren(...parts);
    setStops(pager);
    for (const part of parts) if (focused && part.ariaLabel === focused) part.focus();
  }
}
