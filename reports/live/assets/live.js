// The page follows the run: the server renders its parts, this puts them in their places.
const narrow = matchMedia("(max-width: 40rem)");
const connection = document.getElementById("connection");
let source;

const show = (parts) => {
  for (const {id, html} of parts) {
    const place = document.getElementById(id);
    if (place) place.innerHTML = html;
  }
  dispatchEvent(new CustomEvent("locklab:parts", {detail: parts}));
};

const say = (text) => { connection.textContent = text; connection.hidden = text === ""; };

const follow = () => {
  source?.close();
  const asked = new URLSearchParams({lang: document.documentElement.lang});
  if (narrow.matches) asked.set("narrow", "");
  source = new EventSource(`events?${asked}`);
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
narrow.addEventListener("change", follow);
follow();
