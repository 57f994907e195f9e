// The page: which runs are chosen, which view is shown, and asking again every other second.
import * as api from "./api.js";
import { CurvesView } from "./curves_view.js";
import { RunView } from "./run_view.js";
import { TableView } from "./table_view.js";
import { colour, element } from "./text.js";

const EVERY = 2000, MOST_AT_FIRST = 50;
const $ = (id) => document.getElementById(id);

let timer = 0;
const state = {
  runs: [],
  on: new Map(),       // by id: whether the run is chosen
  colours: new Map(),  // by id: stays the same while the page is open
  chosen: () => state.runs.filter(({ id }) => state.on.get(id)),
  colour: (id) => colour(state.colours.get(id) ?? 0),
  refresh: () => { clearTimeout(timer); refresh(); },
  current: () => {
    const named = location.hash.split("=")[1];
    return (state.runs.find(({ id }) => encodeURIComponent(id) === named) ?? state.chosen()[0] ?? state.runs[0])?.id;
  },
};
const views = { curves: new CurvesView(state), table: new TableView(state), run: new RunView({ ...state, runs: () => state.runs }) };
const view = () => views[location.hash.slice(1).split("=")[0]] ?? views.curves;

function show() {
  const current = state.runs.length ? view() : null;
  for (const link of document.querySelectorAll("nav a")) link.setAttribute("aria-selected", String(views[link.hash.slice(1)] === (current ?? views.curves)));
  if (!current) {
    $("main").replaceChildren(element("div", { class: "empty" }, element("h1", {}, "No runs yet"), element("p", {}, "Runs appear here when training writes to this folder: "),
      element("p", {}, element("code", {}, "Learner(model, optimizer, loss=loss).fit(data, run=\"runs/first\")"))));
    return;
  }
  if ($("main").firstChild !== current.node) $("main").replaceChildren(current.node);
  current.update();
}

// A search finds names, tags as "#baseline", and options as "lr=0.1".
function found(run, text) {
  return text.toLowerCase().split(/\s+/).every((word) => {
    if (word.startsWith("#")) return run.tags.some((tag) => tag.toLowerCase().startsWith(word.slice(1)));
    const [key, value] = word.split("=");
    if (value === undefined) return run.name.toLowerCase().includes(word);
    return Object.entries(run.config).some(([name, held]) => name.toLowerCase().endsWith(key) && String(held).toLowerCase().startsWith(value));
  });
}

function list() {
  const listed = state.runs.filter((run) => found(run, $("find").value.trim()));
  $("count").textContent = `${state.chosen().length} of ${state.runs.length}`;
  $("list").replaceChildren(...listed.map((run) => element("li", {},
    element("label", {}, element("input", { type: "checkbox", checked: state.on.get(run.id), onchange: (event) => { state.on.set(run.id, event.target.checked); list(); show(); } }),
      element("span", { class: "swatch", style: { background: state.colour(run.id) } }), element("span", { class: "name", title: run.id }, run.name)),
    element("a", { class: `state ${run.state}`, href: `#run=${encodeURIComponent(run.id)}` }, run.state === "running" && run.status.epochs ? `${run.status.epoch ?? 0}/${run.status.epochs}` : run.state),
    run.tags.length ? element("div", { class: "tags" }, ...run.tags.map((tag) => element("span", { class: "tag" }, tag))) : null)));
  return listed;
}

async function refresh() {
  try {
    const { folder, runs } = await api.runs();
    $("live").className = "";
    document.title = `${folder.split("/").pop()} · pyburn`;
    if (runs !== state.runs) {
      for (const run of [...runs].reverse()) if (!state.colours.has(run.id)) state.colours.set(run.id, state.colours.size);
      for (const [index, { id }] of runs.entries()) if (!state.on.has(id)) state.on.set(id, index < MOST_AT_FIRST);
      state.runs = runs;
      list();
      show();
    }
  } catch {
    $("live").className = "off";
  }
  timer = setTimeout(refresh, document.hidden ? 5 * EVERY : EVERY);
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("pyburn theme", name);
  show();
}
const dark = matchMedia("(prefers-color-scheme: dark)");
function systemTheme() {  // until somebody has chosen one
  document.documentElement.dataset.theme = localStorage.getItem("pyburn theme") ?? (dark.matches ? "dark" : "light");
}
systemTheme();
dark.addEventListener("change", () => { systemTheme(); show(); });
$("theme").onclick = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
$("find").oninput = list;
$("all").onclick = () => { for (const { id } of list()) state.on.set(id, true); list(); show(); };
$("none").onclick = () => { for (const { id } of list()) state.on.set(id, false); list(); show(); };
$("menu").onclick = () => $("menu").setAttribute("aria-expanded", String($("runs").classList.toggle("open")));
$("main").onclick = () => { $("runs").classList.remove("open"); $("menu").setAttribute("aria-expanded", "false"); };
addEventListener("hashchange", show);
if (location.search) history.replaceState(null, "", location.pathname + location.hash); // the token is in a cookie now, and need not stay in the address
refresh();
