// The curves of the chosen runs, a card per metric. All cards share the range of x; what is out of sight is not fetched.
import * as api from "./api.js";
import { Chart } from "./chart.js";
import { duration, element, short } from "./text.js";

const settings = { axis: "step", smoothing: 0, logarithmic: false, filter: "", range: null };
const axes = { step: "steps", epoch: "epochs", time: "time" };

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
    this.reset = element("button", { hidden: true, onclick: () => this.zoom(null) }, "Show all");
    this.node = element("div", {}, this.tools(), this.metrics, this.heading, this.system);
  }

  tools() {
    const change = (name, read) => (event) => { settings[name] = read(event.target); this.update(); };
    const smoothing = element("output", {}, settings.smoothing.toFixed(2));
    return element("div", { class: "tools row" },
      element("label", {}, "Smoothing", element("input", { type: "range", min: 0, max: 0.999, step: 0.001, value: settings.smoothing, "aria-label": "Smoothing",
        oninput: (event) => { settings.smoothing = Number(event.target.value); smoothing.value = settings.smoothing.toFixed(2); this.update(); } }), smoothing),
      element("label", {}, "Over", element("select", { "aria-label": "Axis", onchange: (event) => { settings.axis = event.target.value; settings.range = null; this.update(); } },
        ...Object.entries(axes).map(([value, text]) => element("option", { value, selected: value === settings.axis }, text)))),
      element("label", {}, element("input", { type: "checkbox", checked: settings.logarithmic, onchange: change("logarithmic", (box) => box.checked) }), "logarithmic"),
      element("input", { type: "search", placeholder: "Find metrics", value: settings.filter, style: { width: "150px" }, "aria-label": "Find metrics", oninput: change("filter", (box) => box.value) }),
      this.reset);
  }

  zoom(range) {
    settings.range = range;
    this.update();
  }

  // Cards for the metrics of the chosen runs; called when runs, choices or settings change.
  update() {
    const chosen = this.state.chosen(), wanted = new Map();
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
    for (const [key, { name, system, lines }] of wanted) {
      let card = this.cards.get(key);
      if (!card) {
        const axisText = (x) => (settings.axis === "time" ? duration(x) : short(x));
        card = { chart: new Chart({ title: name, onZoom: (range) => this.zoom(range), axisText }), visible: false, asked: "" };
        this.cards.set(key, card);
        (system ? this.system : this.metrics).append(card.chart.card);
        this.seen.observe(card.chart.card);
      }
      card.lines = lines;
      this.refresh(card);
    }
    this.heading.hidden = !this.system.children.length;
    this.reset.hidden = !settings.range;
  }

  // Draws at once with the points at hand, then with those that fit the new range.
  async refresh(card) {
    const options = { range: settings.range, logarithmic: settings.logarithmic };
    if (card.drawn) card.chart.show(card.drawn.filter(({ run }) => card.lines.some((line) => line.run.id === run.id)), options);
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
        const many = new Set(card.lines.map(({ run }) => run.id)).size > 1;
        card.drawn = card.lines.map((line, i) => ({
          ...line, ...points[i], colour: this.state.colour(line.run.id), dots: line.kind === "epoch",
          label: `${many ? line.run.name + " · " : ""}${line.split}`,
        }));
        card.chart.note.textContent = [...new Set(card.lines.map(({ split }) => split))].join(", ");
        card.chart.show(card.drawn, { range: settings.range, logarithmic: settings.logarithmic });
      } catch (error) {
        card.asked = "";
        card.chart.note.textContent = error.message;
      }
    }, card.drawn ? 60 : 0);
  }
}
