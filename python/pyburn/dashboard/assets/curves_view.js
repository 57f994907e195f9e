// The curves of the chosen runs, a card per metric. All cards share the range of x; what is out of sight is not fetched.
import * as api from "./api.js";
import { Chart } from "./chart.js";
import { choices, grouped } from "./groups.js";
import { colour, duration, element, short } from "./text.js";

const settings = { axis: "step", smoothing: 0, logarithmic: false, filter: "", range: null, group: "" };
const axes = { step: "step", epoch: "epoch", time: "time" };
const MOST_POINTS = 5000;

// The loss first, then other losses, then what remains by name; a learning rate is of least interest.
const rank = (name) => (name === "loss" ? 0 : /(^|[/_ ])loss/i.test(name) ? 1 : /^(lr|grad_norm)$/.test(name) ? 3 : 2);
// Which splits are drawn, with the pattern of their lines.
const PATTERNS = { train: "━ train", valid: "╍ valid", test: "┅ test", system: "", events: "" }, order = Object.keys(PATTERNS);
const splits = (lines) => [...new Set(lines.map(({ split }) => split))].sort((a, b) => order.indexOf(a) - order.indexOf(b)).map((split) => PATTERNS[split] ?? split).join("  ");
const inOrder = ([a], [b]) => rank(a) - rank(b) || a.localeCompare(b, undefined, { numeric: true });

export class CurvesView {
  constructor(state) {
    this.state = state;
    this.cards = new Map();  // by name of the metric
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const card = [...this.cards.values()].find(({ chart }) => chart.card === target);
        if (card) { card.visible = isIntersecting; this.refresh(card); }
      }
    }, { rootMargin: "200px" });
    this.metrics = element("div", { class: "grid" });
    this.system = element("div", { class: "grid" });
    this.heading = element("h2", { hidden: true }, "System");
    this.groups = element("select", { "aria-label": "Group runs", onchange: (event) => { settings.group = event.target.value; this.update(); } });
    this.reset = element("button", { hidden: true, onclick: () => this.zoom(null) }, "Show all");
    this.node = element("div", {}, this.tools(), this.metrics, this.heading, this.system);
  }

  tools() {
    const change = (name, read) => (event) => { settings[name] = read(event.target); this.update(); };
    const smoothing = element("output", {}, settings.smoothing.toFixed(2));
    return element("div", { class: "tools row" },
      element("label", {}, "Smoothing", element("input", { type: "range", min: 0, max: 0.999, step: 0.001, value: settings.smoothing, "aria-label": "Smoothing",
        oninput: (event) => { settings.smoothing = Number(event.target.value); smoothing.value = settings.smoothing.toFixed(2); this.update(); } }), smoothing),
      element("label", {}, "X-axis", element("select", { "aria-label": "X-axis", onchange: (event) => { settings.axis = event.target.value; settings.range = null; this.update(); } },
        ...Object.entries(axes).map(([value, text]) => element("option", { value, selected: value === settings.axis }, text)))),
      element("label", {}, element("input", { type: "checkbox", checked: settings.logarithmic, onchange: change("logarithmic", (box) => box.checked) }), "logarithmic"),
      element("input", { type: "search", placeholder: "Find metrics", value: settings.filter, style: { width: "150px" }, "aria-label": "Find metrics", oninput: change("filter", (box) => box.value) }),
      element("label", {}, "Group by", this.groups), this.reset);
  }

  // The mean of runs can be drawn where there are several.
  offerGroups(chosen) {
    const offered = choices(chosen);
    if (!offered.includes(settings.group) && chosen.length > 1) settings.group = "";
    this.groups.parentNode.hidden = !offered.length || chosen.length < 2;
    this.groups.replaceChildren(...["", ...offered].map((value) => element("option", { value, selected: value === settings.group }, value.replace(/^option /, "") || "no group")));
  }

  zoom(range) {
    settings.range = range;
    this.update();
  }

  // Cards for the metrics of the chosen runs; called when runs, choices or settings change.
  update() {
    const chosen = this.state.chosen(), wanted = new Map();
    this.offerGroups(chosen);
    const best = settings.axis === "epoch" ? "epoch" : "step";  // a second curve of the same numbers only confuses
    for (const run of chosen) {
      const known = new Set(run.curves.map((curve) => JSON.stringify(curve)));
      for (const [kind, split, name] of run.curves) {
        if (kind !== best && known.has(JSON.stringify([best, split, name]))) continue;
        const key = split === "system" ? `system ${name}` : name;
        if (!name.toLowerCase().includes(settings.filter.toLowerCase())) continue;
        if (!wanted.has(key)) wanted.set(key, { name, system: split === "system", lines: [] });
        wanted.get(key).lines.push({ run, kind, split, name });
      }
    }
    for (const [key, card] of this.cards)
      if (!wanted.has(key)) { this.seen.unobserve(card.chart.card); card.chart.card.remove(); this.cards.delete(key); }
    for (const [key, { name, system, lines }] of [...wanted].sort(inOrder)) {
      let card = this.cards.get(key);
      if (!card) {
        const axisText = (x) => (settings.axis === "time" ? duration(x) : short(x));
        const chart = new Chart({ title: name, onZoom: (range) => this.zoom(range), axisText, all: () => this.all(card) });
        this.cards.set(key, card = { chart, visible: false, asked: "", name });
        const after = [...this.cards].filter(([other]) => other.startsWith("system ") === system && inOrder([key], [other]) < 0).sort(inOrder)[0];
        (system ? this.system : this.metrics).insertBefore(chart.card, after ? after[1].chart.card : null);
        this.seen.observe(chart.card);
      }
      card.lines = lines;
      card.unit = lines.map(({ run }) => run.metrics?.[name]?.unit).find(Boolean);
      this.refresh(card);
    }
    this.heading.hidden = !this.system.children.length;
    this.reset.hidden = !settings.range;
  }

  // All points of the curves of a card, as far as the server sends them.
  async all(card) {
    const points = await api.curves({ curves: card.lines.map(({ run, kind, split, name }) => [run.id, kind, split, name]), axis: settings.axis, points: MOST_POINTS });
    return this.labelled(card, points);
  }

  labelled(card, points) {
    const many = new Set(card.lines.map(({ run }) => run.id)).size > 1;
    return card.lines.map((line, i) => ({
      ...line, ...points[i], colour: this.state.colour(line.run.id), dots: line.kind === "epoch", label: `${many ? line.run.name + " · " : ""}${line.split}`,
    }));
  }

  draw(card) {
    let lines = card.drawn.filter(({ run }) => card.lines.some((line) => line.run.id === run.id));
    if (settings.group && new Set(lines.map(({ run }) => run.id)).size > 1) {
      const means = grouped(lines, settings.group), names = [...new Set(means.map(({ group }) => group))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
      lines = means.map((line) => ({ ...line, colour: colour(names.indexOf(line.group)), dots: line.kind === "epoch", label: `${line.group} · ${line.split} (${line.count} runs)` }));
    }
    const yLabel = card.unit ? `${card.name} (${card.unit})` : card.name;
    card.chart.show(lines, { range: settings.range, logarithmic: settings.logarithmic, xLabel: axes[settings.axis], yLabel });
  }

  // Draws at once with the points at hand, then with those that fit the new range.
  async refresh(card) {
    if (card.drawn) this.draw(card);
    if (!card.visible || !card.lines) return;
    const request = {
      curves: card.lines.map(({ run, kind, split, name }) => [run.id, kind, split, name]),
      axis: settings.axis, from: settings.range?.[0], to: settings.range?.[1], smoothing: settings.smoothing,
      points: Math.min(2000, Math.max(200, Math.round(card.chart.canvas.clientWidth * (card.lines.length > 20 ? 0.75 : 2)))),
    };
    const asked = JSON.stringify([request, card.lines.map(({ run }) => run.status.updated)]);
    if (asked === card.asked) return;
    card.asked = asked;
    clearTimeout(card.timer);
    card.timer = setTimeout(async () => {
      try {
        const points = await api.curves(request);
        if (card.asked !== asked) return;  // the next answer is under way
        card.drawn = this.labelled(card, points);
        card.chart.note.textContent = splits(card.lines);
        this.draw(card);
      } catch (error) {
        card.asked = "";
        card.chart.note.textContent = error.message;
      }
    }, card.drawn ? 60 : 0);
  }
}
