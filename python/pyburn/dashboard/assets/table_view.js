// Runs side by side: hyperparameters and best results, sorted by any column, and drawn over each other.
import { Parallel } from "./parallel.js";
import { csv, download, duration, element, labels, short, shown, svg, ticks } from "./text.js";

const HIDDEN = "pyburn hidden columns"; // chosen by the user, kept by the browser
const settings = { column: null, up: false, x: null, y: null, picked: new Map(JSON.parse(localStorage.getItem(HIDDEN) ?? "[]")) };

const cell = (value) => element("td", { class: typeof value === "number" ? "number" : "" }, value === undefined || value === null || value === "" ? "" : shown(value));
const key = ([group, name]) => `${group} ${name}`;
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
    this.list = element("div", { class: "picker" });
    this.picker = element("details", { class: "popup" }, element("summary", {}, "Columns"), this.list);
    this.parallel = new Parallel((run) => state.colour(run.id));
  }

  // All columns, and those that are shown: by default options that differ, tags and notes that somebody wrote, and the results.
  columns(runs) {
    const options = [...new Set(runs.flatMap((run) => Object.keys(run.config)))];
    const differs = (name) => runs.length < 2 || new Set(runs.map((run) => JSON.stringify(run.config[name]))).size > 1;
    const results = [...new Set(runs.flatMap((run) => Object.keys(run.best)))]
      .sort((a, b) => Number(b.startsWith("valid")) - Number(a.startsWith("valid")) || Number(b.endsWith("loss")) - Number(a.endsWith("loss")) || a.localeCompare(b));
    const all = [["run", "state"], ["run", "epoch"], ["run", "time"], ["run", "tags"], ...options.map((o) => ["option", o]), ...results.map((r) => ["result", r]), ["run", "notes"]];
    const usual = ([group, name]) => (group === "option" ? differs(name) : name === "tags" ? runs.some((run) => run.tags.length) : name === "notes" ? runs.some((run) => run.notes) : true);
    const columns = all.filter((column) => settings.picked.get(key(column)) ?? usual(column));
    return { all, columns: [["run", "name"], ...columns], options: columns.filter(([group]) => group === "option").map(([, name]) => name), results };
  }

  pick(column, on) {
    settings.picked.set(key(column), on);
    localStorage.setItem(HIDDEN, JSON.stringify([...settings.picked]));
    this.update();
  }

  value(run, column) {
    const [group, name] = column;
    if (group === "option") return run.config[name];
    if (group === "result") { const v = run.best[name]?.value; return v === undefined ? undefined : Number(v); }
    return { name: run.name, state: run.state, epoch: run.status.epoch, time: (run.status.finished ?? run.status.updated) - run.status.created, tags: run.tags.join(", "), notes: run.notes.split("\n")[0] }[name];
  }

  better(run, name) {
    return run.metrics?.[name.split("/").slice(1).join("/")]?.higher_is_better;
  }

  update() {
    const runs = this.state.chosen(), { all, columns, options, results } = this.columns(runs);
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
      if (key(column) === "run notes") { made.className = "note"; made.title = value; }
      if (column[0] === "result" && value !== undefined && value === best[column[1]]) made.classList.add("best");
      return made;
    })));
    const on = new Set(columns.map(key)), listed = all.map(key).join("\n");
    if (listed !== this.listed) this.list.replaceChildren(...all.map((column) => element("label", {}, element("input", { type: "checkbox", checked: on.has(key(column)), onchange: (event) => this.pick(column, event.target.checked) }), column[1], element("span", { class: "faint" }, column[0]))));
    this.listed = listed;
    const save = () => download("runs.csv", csv([columns.map(([, name]) => name), ...sorted.map((run) => columns.map((column) => this.value(run, column)))]), "text/csv");
    const scroll = this.node.querySelector(".scroll")?.scrollLeft ?? 0;
    this.parallel.show(runs, [...options.map((name) => ({ name, value: (run) => run.config[name] })), ...results.slice(0, 1).map((name) => ({ name: this.result(results), value: (run) => this.value(run, ["result", this.result(results)]) }))]);
    this.node.replaceChildren(element("div", { class: "row" }, element("h2", {}, "Runs"), this.picker, element("button", { onclick: save }, "CSV")),
      element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...header)), element("tbody", {}, ...rows))),
      ...(runs.length > 1 && results.length && options.length ? [element("h2", {}, "Parallel coordinates"), element("p", { class: "faint" }, "Drag along an axis to keep a range of it; click it to show all again."), this.parallel.node] : []),
      ...this.scatter(runs, options, results));
    this.node.querySelector(".scroll").scrollLeft = scroll;
  }

  // The result that the plots show.
  result(results) {
    return results.includes(settings.y) ? settings.y : results[0];
  }

  // A result over a hyperparameter, a dot per run.
  scatter(runs, options, results) {
    const numeric = options.filter((name) => runs.some((run) => typeof run.config[name] === "number"));
    if (!numeric.length || !results.length || runs.length < 2) return [];
    if (!numeric.includes(settings.x)) settings.x = numeric[0];
    settings.y = this.result(results);
    const choose = (name, list) => element("select", { "aria-label": name, onchange: (event) => { settings[name] = event.target.value; this.update(); } },
      ...list.map((value) => element("option", { value, selected: settings[name] === value }, value)));
    const points = runs.map((run) => ({ run, x: run.config[settings.x], y: this.value(run, ["result", settings.y]) })).filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
    const drawn = points.length ? this.plot(points) : element("p", { class: "faint" }, "No run has both values.");
    return [element("h2", {}, "Results and hyperparameters"), element("div", { class: "row" }, choose("y", results), "over", choose("x", numeric)), drawn];
  }

  plot(points) {
    const room = document.querySelector("main").clientWidth - 46; // letters keep their size on a phone, which shows less width
    const [width, height, left, bottom] = [Math.max(Math.min(640, room), 220), 330, 74, 46];
    const spread = (values) => { const [a, b] = [Math.min(...values), Math.max(...values)], m = (b - a) * 0.06 || Math.abs(a) * 0.1 || 1; return [a - m, b + m]; };
    const positive = points.every(({ x }) => x > 0), wide = positive && Math.max(...points.map(({ x }) => x)) / Math.min(...points.map(({ x }) => x)) > 50;
    const scale = wide ? Math.log10 : (v) => v, back = wide ? (v) => 10 ** v : (v) => v;
    const [x0, x1] = spread(points.map(({ x }) => scale(x))), [y0, y1] = spread(points.map(({ y }) => y));
    const px = (v) => left + ((v - x0) / (x1 - x0)) * (width - left - 12), py = (v) => 10 + (1 - (v - y0) / (y1 - y0)) * (height - bottom - 10);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${settings.y} over ${settings.x}`, class: "plot" });
    const faint = { fill: "var(--faint)", "font-size": 11 };
    const across = ticks(x0, x1, width < 400 ? 4 : 6), up = ticks(y0, y1, 5), xTexts = wide ? across.map((t) => short(back(t))) : labels(across), yTexts = labels(up);
    for (const [i, t] of up.entries()) drawing.append(svg("line", { x1: left, x2: width - 12, y1: py(t), y2: py(t), stroke: "var(--rule)" }), svg("text", { ...faint, x: left - 6, y: py(t) + 4, "text-anchor": "end" }, yTexts[i]));
    for (const [i, t] of across.entries()) drawing.append(svg("text", { ...faint, x: px(t), y: height - 28, "text-anchor": "middle" }, xTexts[i]));
    drawing.append(svg("text", { ...faint, x: left + (width - left) / 2, y: height - 10, "text-anchor": "middle" }, settings.x),
      svg("text", { ...faint, x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${10 + (height - bottom) / 2}) rotate(-90)` }, settings.y));
    for (const { run, x, y } of points) {
      const dot = svg("circle", { cx: px(scale(x)), cy: py(y), r: 5, fill: this.state.colour(run.id) });
      dot.append(svg("title", {}, `${run.name}: ${short(y)}`));
      drawing.append(dot);
    }
    return element("div", { class: "card", style: { maxWidth: "800px" } }, drawing);
  }
}
