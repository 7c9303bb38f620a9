// The theme that somebody chose is there before the first thing is drawn.
const chosen = localStorage.getItem("locklab-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
