"use strict";
// The page is whole without this script: it lets tables be sorted, folds what does not
// fit and what is long on a small screen, and opens what is folded before printing.
(() => {
  document.documentElement.classList.add("scripted");
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const body = table.tBodies[0];
    const heads = [...table.querySelectorAll("tr.names th")];
    const value = (row, i) => {
      const cell = row.cells[i];
      return cell.dataset.v ?? cell.textContent.trim();
    };
    heads.forEach((head, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const numeric = head.classList.contains("num");
        const empty = (text) => text === "" || text === "–";
        const rows = [...body.rows].sort((a, b) => {
          const x = value(a, i), y = value(b, i);
          if (empty(x) || empty(y)) return empty(x) - empty(y); // absent ones last, either way
          const order = numeric ? Number(x.replaceAll(",", "")) - Number(y.replaceAll(",", "")) : x.localeCompare(y, document.documentElement.lang, {numeric: true});
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
  }
  const open = (root, on) => root.querySelectorAll("details.folds").forEach((d) => { d.open = on; });
  const small = matchMedia("(max-width: 40rem)"), wide = matchMedia("(min-width: 80rem)"); // where nothing folds
  // Tables that fit stay tables; what still scrolls says so.
  const tables = [...document.querySelectorAll(".box > table")];
  let width = 0;
  const fold = () => {
    if (innerWidth === width) return;
    width = innerWidth;
    const closed = [...document.querySelectorAll("details:not([open])")]; // what is closed has no width
    for (const d of closed) d.open = true;
    const boxes = [...document.querySelectorAll(".box, figure.drawing")];
    for (const b of boxes) delete b.dataset.hint;
    for (const t of tables) {
      t.classList.toggle("fits", !small.matches);
      t.classList.remove("tight");
    }
    const cut = (e) => e.scrollWidth > e.clientWidth;
    if (wide.matches) for (const t of tables.filter((t) => cut(t.parentElement))) t.classList.add("tight");
    for (const t of tables.filter((t) => cut(t.parentElement))) t.classList.remove("fits");
    for (const b of boxes.filter(cut)) b.dataset.hint = document.documentElement.dataset.scrolls;
    for (const d of closed) d.open = false;
  };
  // What an address names is unfolded, whether it is inside or around.
  const show = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) open(target, true);
  };
  const fit = () => { open(document, !small.matches); show(); };
  small.addEventListener("change", fit);
  addEventListener("hashchange", show);
  fit();
  fold();
  addEventListener("resize", fold);
  for (const link of document.querySelectorAll(".languages a")) {
    link.addEventListener("click", () => { link.hash = location.hash; }); // the same place in the other language
  }
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
