"use strict";
// The page is whole without this script: it lets tables be sorted, folds what is long on
// a small screen, and opens what is folded before printing.
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
  const small = matchMedia("(max-width: 40rem)");
  // What an address names is unfolded, whether it is inside or around.
  const show = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) open(target, true);
  };
  const fit = () => { open(document, !small.matches); show(); };
  small.addEventListener("change", fit);
  addEventListener("hashchange", show);
  fit();
  for (const link of document.querySelectorAll(".languages a")) {
    link.addEventListener("click", () => { link.hash = location.hash; }); // the same place in the other language
  }
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
