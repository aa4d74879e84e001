// The clock of the cluster.
import { act, asks } from "./api.js";
import { byId, el, show } from "./dom.js";
import { dateText } from "./format.js";
export let clock = { now_ms: Date.now(), mode: "real", factor: 1 };
let lookedAt = performance.now();
export const nowMs = () => clock.now_ms + (performance.now() - lookedAt) * clock.factor;
setInterval(() => {
  byId("time").textContent = dateText(nowMs());
}, 200);
/** Stop: nobody knows how late it is without the broker. */
export function stopClock() {
  clock = { ...clock, now_ms: nowMs(), factor: 0 };
  lookedAt = performance.now();
  byId("time").classList.add("stopped");
}
export function showClock(found) {
  clock = found;
  lookedAt = performance.now();
  byId("time").classList.remove("stopped");
  show("modes", [clock.mode, clock.factor], () =>
    [
      ["real", "Real"],
      ["scaled", clock.mode === "scaled" ? `×${clock.factor}` : "×60"],
      ["standing", "Standing"],
    ].map(([mode, label]) =>
      el(
        "button",
        {
          class: clock.mode === mode ? "on" : null,
          "data-mode": mode,
          ...asks("PUT", "/v1/clock", mode === "scaled" ? { mode, factor: 60 } : { mode }),
        },
        label,
      ),
    ),
  );
  show("moves", 0, () =>
    [
      ["+1 s", 1],
      ["+1 min", 60],
      ["+1 h", 3600],
      ["+1 day", 86400],
    ].map(([label, seconds]) =>
      el(
        "button",
        {
          title: "Move the clock; everything due happens",
          "data-seconds": seconds,
          ...asks("POST", "/v1/clock/advance", { seconds }),
        },
        label,
      ),
    ),
  );
}
byId("reset").addEventListener("click", () => {
  if (confirm("Reset the cluster to its start? All connections are closed.")) act("POST", "/v1/reset");
});
