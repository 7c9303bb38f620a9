"use strict";
// The page is whole without this script. It says which tables scroll sideways, opens what is
// folded before printing, and keeps the place when the language changes.
(() => {
  const hint = () => {
    for (const box of document.querySelectorAll(".box, figure.drawing, figure.tradeoff")) {
      delete box.dataset.hint;
      if (box.scrollWidth > box.clientWidth) box.dataset.hint = document.documentElement.dataset.scrolls;
    }
  };
  hint();
  addEventListener("resize", hint);
  document.addEventListener("toggle", hint, true);
  const show = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();
  for (const link of document.querySelectorAll(".languages a")) {
    link.addEventListener("click", () => { link.hash = location.hash; });
  }
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
