// Light or dark: as the system has it, or as the reader chose. No module: it runs before the page is drawn.
{
  const NEXT = { system: "light", light: "dark", dark: "system" };
  const root = document.documentElement;
  let kept = null;
  try {
    kept = localStorage.getItem("scheme");
  } catch {
    // The browser keeps nothing for this page.
  }
  root.dataset.scheme = kept in NEXT ? kept : "system";
  const label = () => {
    const button = document.getElementById("scheme");
    button.textContent = { system: "Auto", light: "Light", dark: "Dark" }[root.dataset.scheme];
    button.title = `Colours: ${button.textContent.toLowerCase()}; the next is ${NEXT[root.dataset.scheme]}`;
  };
  document.addEventListener("DOMContentLoaded", () => {
    label();
    document.getElementById("scheme").addEventListener("click", () => {
      root.dataset.scheme = NEXT[root.dataset.scheme];
      label();
      try {
        localStorage.setItem("scheme", root.dataset.scheme);
      } catch {
        // It is chosen until the page is loaded again.
      }
    });
  });
}
