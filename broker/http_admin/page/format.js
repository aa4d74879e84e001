// Numbers, times and sizes as text.
export const number = (value) =>
  value === null || value === undefined
    ? "–"
    : Number(value).toLocaleString("en", { maximumFractionDigits: 1 });
export const bytes = (count) => {
  let unit = 0;
  while (count >= 1024 && unit < 4) {
    count /= 1024;
    unit += 1;
  }
  const text = count.toLocaleString("en", { maximumFractionDigits: unit ? 1 : 0 });
  return `${text} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
};
export const count = (value, word) => `${number(value)} ${word}${value === 1 ? "" : "s"}`;
const pad = (value, width) => String(value).padStart(width, "0");
const NO_TIMESTAMP = -1;
const isDate = (ms) => ms !== NO_TIMESTAMP && !Number.isNaN(new Date(ms).getTime());
/** What stands for a time that is none: -1 in Kafka, or so far away that it has no date. */
const noDateText = (ms) => (ms === NO_TIMESTAMP ? "no timestamp" : `${ms} ms`);
export const clockText = (ms) => {
  if (!isDate(ms)) return noDateText(ms);
  const at = new Date(ms);
  const parts = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => pad(part, 2));
  return `${parts.join(":")}.${pad(at.getMilliseconds(), 3)}`;
};
export const dateText = (ms) => {
  if (!isDate(ms)) return noDateText(ms);
  const at = new Date(ms);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1, 2)}-${pad(at.getDate(), 2)} ${clockText(ms).slice(0, 8)}`;
};
/** The timestamp of a record; one before 1970 with its date. */
export const timestampText = (ms) => (ms < 0 ? dateText(ms) : clockText(ms));
export const span = (ms) =>
  ms < 1000
    ? `${Math.round(ms)} ms`
    : ms < 60e3
      ? `${(ms / 1000).toFixed(1)} s`
      : ms < 3600e3
        ? `${Math.floor(ms / 60e3)} min ${Math.floor(ms / 1000) % 60} s`
        : `${Math.floor(ms / 3600e3)} h ${Math.floor(ms / 60e3) % 60} min`;
export const hue = (broker) => `var(--b${(broker - 1 + 800) % 8})`;
