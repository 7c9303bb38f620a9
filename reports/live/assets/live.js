// The page follows the run: the server renders its parts, this puts them in their places.
const connection = document.getElementById("connection");
let source;

// What is on the page stays the same element where it is to be the same: somebody may be
// pressing it, have the focus on it, or have scrolled it. Elements with a data-key are the same
// only if that is.
const same = (a, b) => a.nodeName === b.nodeName && a.dataset?.key === b.dataset?.key;
const patch = (now, next) => {
  let at = now.firstChild;
  const dropUntil = (end) => {
    while (at !== end) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };
  for (const want of [...next.childNodes]) {
    let have = at;
    while (have && !same(have, want)) have = have.nextSibling;
    if (!have) {
      now.insertBefore(want, at);
      continue;
    }
    dropUntil(have);
    at = have.nextSibling;
    if (have.nodeType !== Node.ELEMENT_NODE) {
      if (have.data !== want.data) have.data = want.data;
      continue;
    }
    for (const {name} of [...have.attributes]) if (!want.hasAttribute(name)) have.removeAttribute(name);
    for (const {name, value} of want.attributes) if (have.getAttribute(name) !== value) have.setAttribute(name, value);
    patch(have, want);
  }
  dropUntil(null);
};

const show = (parts) => {
  for (const {id, html} of parts) {
    const place = document.getElementById(id);
    if (!place) continue;
    if (html.startsWith("<svg")) { // a drawing: nobody presses anything in it
      place.innerHTML = html;
      continue;
    }
    const next = document.createElement("template");
    next.innerHTML = html;
    patch(place, next.content);
  }
  dispatchEvent(new CustomEvent("locklab:parts", {detail: parts}));
};

const say = (text) => { connection.textContent = text; connection.hidden = text === ""; };

const follow = () => {
  source?.close();
  source = new EventSource(`events?lang=${document.documentElement.lang}`);
  source.addEventListener("hello", () => { document.body.dataset.state = "live"; say(""); });
  source.addEventListener("parts", (event) => show(JSON.parse(event.data)));
  source.addEventListener("end", () => { source.close(); document.body.dataset.state = "ended"; say(connection.dataset.ended); });
  source.addEventListener("error", () => {
    document.body.dataset.state = "lost";
    say(connection.dataset.lost);
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 1000); // some breaks are final to the browser, not to us
  });
};

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("locklab-theme", root.dataset.theme);
});
follow();
