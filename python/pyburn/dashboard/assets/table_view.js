// Runs side by side: hyper-parameters and best results, sorted by any column, and one drawn over the other.
import { colour, duration, element, short, ticks } from "./text.js";

const settings = { column: null, up: false, all: false, x: null, y: null };

const cell = (value) => element("td", { class: typeof value === "number" ? "number" : "" }, short(value));
const compare = (a, b) => {
  if (a === b) return 0;
  if (a === undefined || a === null || a === "") return 1;
  if (b === undefined || b === null || b === "") return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
};

export class TableView {
  constructor(state) {
    this.state = state;
    this.node = element("div");
  }

  columns(runs) {
    const options = [...new Set(runs.flatMap((run) => Object.keys(run.config)))];
    const differ = options.filter((key) => new Set(runs.map((run) => JSON.stringify(run.config[key]))).size > 1);
    const results = [...new Set(runs.flatMap((run) => Object.keys(run.best)))];
    return {
      options: settings.all || runs.length < 2 ? options : differ,
      results: results.sort((a, b) => Number(b.startsWith("valid")) - Number(a.startsWith("valid")) || a.localeCompare(b)),
    };
  }

  value(run, column) {
    const [group, name] = column;
    if (group === "option") return run.config[name];
    if (group === "result") { const v = run.best[name]?.value; return v === undefined ? undefined : Number(v); }
    return { name: run.name, state: run.state, epoch: run.status.epoch, time: (run.status.finished ?? run.status.updated) - run.status.created }[name];
  }

  better(run, name) {
    return run.metrics?.[name.split("/").slice(1).join("/")]?.higher_is_better;
  }

  update() {
    const runs = this.state.chosen(), { options, results } = this.columns(runs);
    const columns = [["run", "name"], ["run", "state"], ["run", "epoch"], ["run", "time"], ...options.map((o) => ["option", o]), ...results.map((r) => ["result", r])];
    const key = (column) => column.join(" ");
    const sorted = settings.column ? [...runs].sort((a, b) => (settings.up ? 1 : -1) * compare(this.value(a, settings.column), this.value(b, settings.column))) : runs;
    const best = Object.fromEntries(results.map((name) => {
      const up = runs.map((run) => this.better(run, name)).find((flag) => typeof flag === "boolean");
      const values = runs.map((run) => this.value(run, ["result", name])).filter(Number.isFinite);
      return [name, up === undefined || values.length < 2 ? undefined : up ? Math.max(...values) : Math.min(...values)];
    }));
    const header = columns.map((column) => {
      const on = settings.column && key(settings.column) === key(column);
      const sort = () => { settings.up = on ? !settings.up : true; settings.column = column; this.update(); };
      return element("th", { "aria-sort": on ? (settings.up ? "ascending" : "descending") : "none" }, element("button", { onclick: sort }, column[1] + (on ? (settings.up ? " ▴" : " ▾") : "")));
    });
    const rows = sorted.map((run) => element("tr", {}, ...columns.map((column) => {
      const value = this.value(run, column);
      if (key(column) === "run name")
        return element("td", {}, element("span", { class: "swatch", style: { background: this.state.colour(run.id), display: "inline-block", marginRight: "7px" } }), element("a", { href: `#run=${encodeURIComponent(run.id)}`, style: { color: "inherit" } }, run.name));
      if (key(column) === "run time") return element("td", { class: "number" }, duration(value));
      const made = cell(value);
      if (column[0] === "result" && value !== undefined && value === best[column[1]]) made.classList.add("best");
      return made;
    })));
    const toggle = element("label", { class: "row" }, element("input", { type: "checkbox", checked: settings.all, onchange: (event) => { settings.all = event.target.checked; this.update(); } }), "show options that are the same in all runs too");
    const scroll = this.node.querySelector(".scroll")?.scrollLeft ?? 0;
    this.node.replaceChildren(element("h2", {}, "Runs"), toggle,
      element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...header)), element("tbody", {}, ...rows))),
      ...this.scatter(runs, options, results));
    this.node.querySelector(".scroll").scrollLeft = scroll;
  }

  // A result over a hyper-parameter, a dot per run.
  scatter(runs, options, results) {
    const numeric = options.filter((name) => runs.some((run) => typeof run.config[name] === "number"));
    if (!numeric.length || !results.length || runs.length < 2) return [];
    if (!numeric.includes(settings.x)) settings.x = numeric[0];
    if (!results.includes(settings.y)) settings.y = results[0];
    const choose = (name, list) => element("select", { "aria-label": name, onchange: (event) => { settings[name] = event.target.value; this.update(); } },
      ...list.map((value) => element("option", { value, selected: settings[name] === value }, value)));
    const points = runs.map((run) => ({ run, x: run.config[settings.x], y: this.value(run, ["result", settings.y]) })).filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
    const drawn = points.length ? this.plot(points) : element("p", { class: "faint" }, "No run has both.");
    return [element("h2", {}, "Results and hyper-parameters"), element("div", { class: "row" }, choose("y", results), "over", choose("x", numeric)), drawn];
  }

  plot(points) {
    const room = document.querySelector("main").clientWidth - 46; // letters keep their size on a phone, which shows less width
    const [width, height, left, bottom] = [Math.max(Math.min(640, room), 220), 320, 60, 34];
    const spread = (values) => { const [a, b] = [Math.min(...values), Math.max(...values)], m = (b - a) * 0.06 || Math.abs(a) * 0.1 || 1; return [a - m, b + m]; };
    const positive = points.every(({ x }) => x > 0), wide = positive && Math.max(...points.map(({ x }) => x)) / Math.min(...points.map(({ x }) => x)) > 50;
    const scale = wide ? Math.log10 : (v) => v, back = wide ? (v) => 10 ** v : (v) => v;
    const [x0, x1] = spread(points.map(({ x }) => scale(x))), [y0, y1] = spread(points.map(({ y }) => y));
    const px = (v) => left + ((v - x0) / (x1 - x0)) * (width - left - 12), py = (v) => 10 + (1 - (v - y0) / (y1 - y0)) * (height - bottom - 10);
    const svg = (tag, attributes, text = "") => { const made = document.createElementNS("http://www.w3.org/2000/svg", tag); for (const [k, v] of Object.entries(attributes)) made.setAttribute(k, v); made.textContent = text; return made; };
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${settings.y} over ${settings.x}`, class: "plot" });
    const faint = { fill: "var(--faint)", "font-size": 11 };
    for (const t of ticks(y0, y1, 5)) drawing.append(svg("line", { x1: left, x2: width - 12, y1: py(t), y2: py(t), stroke: "var(--rule)" }), svg("text", { ...faint, x: left - 6, y: py(t) + 4, "text-anchor": "end" }, short(t)));
    for (const t of ticks(x0, x1, width < 400 ? 4 : 6)) drawing.append(svg("text", { ...faint, x: px(t), y: height - 12, "text-anchor": "middle" }, short(back(t))));
    for (const { run, x, y } of points) {
      const dot = svg("circle", { cx: px(scale(x)), cy: py(y), r: 5, fill: this.state.colour(run.id) });
      dot.append(svg("title", {}, `${run.name}: ${short(y)}`));
      drawing.append(dot);
    }
    return element("div", { class: "card", style: { maxWidth: "800px" } }, drawing);
  }
}
