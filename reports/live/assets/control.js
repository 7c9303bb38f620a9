// What is clicked is asked of the lab, with the page's own token; what the lab refuses is said.
const token = document.querySelector('meta[name="locklab-token"]').content;
const refused = document.getElementById("refused");
const load = document.getElementById("load");
const loadNow = document.getElementById("load-now");

const ask = async (what, order) => {
  refused.textContent = "";
  try {
    const answer = await fetch(`control/${what}?lang=${document.documentElement.lang}`, {
      method: "POST",
      headers: {"Content-Type": "application/json", Authorization: `Bearer ${token}`},
      body: JSON.stringify(order),
    });
    if (answer.ok) return;
    const text = await answer.text();
    try {
      refused.textContent = JSON.parse(text).error.message;
    } catch { // it is not from the lab, but from what is before it
      refused.textContent = text || `${answer.status} ${answer.statusText}`;
    }
  } catch {
    refused.textContent = refused.dataset.lost;
  }
};

// What somebody chose stays chosen when the server sends the choices again.
const chosen = {};
document.addEventListener("change", ({target}) => { if (target.matches("#targets select")) chosen[target.id] = target.value; });
addEventListener("locklab:parts", () => {
  for (const [id, was] of Object.entries(chosen)) {
    const select = document.getElementById(id);
    if (select && [...select.options].some((option) => option.value === was)) select.value = was;
  }
});

const value = (id) => document.getElementById(id).value;
const traffic = (more) => ask("fault", {...JSON.parse(value("way")), ...more});
const process = (fault) => ask("fault", {fault, target: value("node")});

const orders = {
  lock: ({lock}) => ask("lock", {lock}),
  heal: ({id}) => ask("heal", {id}),
  slow: () => traffic({fault: "latency", delay: value("delay")}),
  cut: () => traffic({fault: "partition", mode: value("mode")}),
  kill: () => process("kill"),
  pause: () => process("pause"),
  restart: () => process("restart"),
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (button) orders[button.dataset.do](button.dataset);
});
load.addEventListener("input", () => { loadNow.textContent = load.value; });
load.addEventListener("change", () => ask("rate", {per_s: Number(load.value)}));
addEventListener("locklab:parts", () => { // somebody else may have changed it
  const now = document.querySelector("[data-per-s]");
  if (!now || document.activeElement === load) return;
  load.value = now.dataset.perS;
  loadNow.textContent = now.dataset.perS;
});
