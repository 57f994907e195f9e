// All about one run: progress, notes, curves, confusion matrices, media, sample predictions, checkpoints, options, environment, messages.
import * as api from "./api.js";
import { Chart } from "./chart.js";
import { CurvesView } from "./curves_view.js";
import { MediaView } from "./media_view.js";
import { NotesView } from "./notes_view.js";
import { duration, element, flat, short, shown } from "./text.js";

export class RunView {
  constructor(state) {
    this.state = state;
    this.node = element("div");
    this.shown = "";
    this.chosen = element("div");
    this.results = element("div");
    this.rest = element("div");
    this.notes = new NotesView({ changed: () => { state.refresh(); this.update(); }, removed: state.refresh });
    this.curves = new CurvesView({ ...state, chosen: () => state.runs().filter(({ id }) => id === this.id) });
    this.media = new MediaView();
    this.parts = [this.chosen, this.curves.node, this.results, this.media.node, this.rest];
    for (const part of this.parts) part.classList.add("part");
  }

  async update() {
    const id = this.id = this.state.current();
    if (!id) return this.node.replaceChildren(element("p", { class: "empty" }, "No run selected."));
    try {
      const run = await api.run(id), text = JSON.stringify(run);
      if (id !== this.id) return; // another was chosen meanwhile
      if (this.node.firstChild !== this.chosen) this.node.replaceChildren(...this.parts);
      this.curves.update();
      this.media.update(id, run.media);
      if (text === this.shown) return;
      this.shown = text;
      this.notes.show(run);
      const opened = new Set([...this.rest.querySelectorAll("details[open] summary")].map((node) => node.textContent)), focus = document.activeElement;
      this.chosen.replaceChildren(this.chooser(id), this.head(run), this.notes.node);
      this.results.replaceChildren(...this.tables(run));
      const details = [this.listing("Options", run.config), this.listing("Environment", run.environment), this.text("Model", run.model), this.text("Messages", run.log)];
      this.rest.replaceChildren(...this.samples(run), ...this.checkpoints(run), ...details.filter(Boolean));
      for (const one of this.rest.querySelectorAll("details")) one.open = opened.has(one.querySelector("summary").textContent);
      if (this.notes.node.contains(focus) || this.notes.actions.contains(focus)) focus.focus(); // elements that move lose it
    } catch (error) {
      this.shown = "";
      this.node.replaceChildren(element("p", { class: "empty" }, error.message));
    }
  }

  chooser(id) {
    return element("div", { class: "row" }, element("select", { "aria-label": "Run", onchange: (event) => { location.hash = `run=${encodeURIComponent(event.target.value)}`; } },
      ...this.state.runs().map((run) => element("option", { value: run.id, selected: run.id === id }, run.name))));
  }

  head({ id, name, state, status }) {
    const done = status.epochs ? ((status.epoch ?? 1) - 1 + (status.batches ? status.batch / status.batches : 0)) / status.epochs : null;
    const seconds = (status.finished ?? status.updated) - status.created, live = state === "running" || state === "paused";
    const stop = element("button", { class: "danger", onclick: async () => { stop.disabled = true; stop.textContent = "stops after the step"; await api.stop(id); } }, "Stop");
    return element("div", { class: "card" }, element("div", { class: "row" }, element("h1", {}, name), element("span", { class: `state ${state}` }, state), live ? stop : null, this.notes.actions),
      status.message ? element("p", {}, status.message) : null,
      element("p", { class: "faint" }, [status.epoch ? `epoch ${status.epoch}${status.epochs ? ` of ${status.epochs}` : ""}` : "", status.step ? `step ${status.step}` : "", duration(seconds), live && done > 0.01 ? `about ${duration(seconds / done - seconds)} left` : "",
        Number.isFinite(status.created) ? `started ${new Date(status.created * 1000).toLocaleString()}` : ""].filter(Boolean).join(" · ")),
      done === null ? null : element("progress", { value: state === "finished" ? 1 : done, max: 1 }),
      status.resume_with && state !== "finished" ? element("p", { class: "faint" }, element("code", {}, status.resume_with)) : null,
      this.best(status.best ?? {}));
  }

  best(best) {
    if (!Object.keys(best).length) return null;
    return element("div", { class: "scroll" }, element("table", {}, element("tr", {}, ...["best of", "value", "epoch"].map((text) => element("th", {}, text))),
      ...Object.entries(best).map(([name, { value, epoch }]) => element("tr", {}, element("td", {}, name), element("td", { class: "number" }, short(Number(value))), element("td", { class: "number" }, short(epoch))))));
  }

  tables({ tables }) {
    const draw = { confusion_matrix: (table) => this.matrix(table), curve: (table) => this.curve(table), per_class: (table) => this.bars(table) };
    const known = tables.filter(({ type }) => draw[type]);
    return known.length ? [element("h2", {}, "Results"), element("div", { class: "grid" }, ...known.map((table) => draw[table.type](table)))] : [];
  }

  title({ name, split, epoch }) {
    return element("h3", {}, element("span", {}, name), element("span", { class: "faint" }, `${[split, epoch ? `epoch ${epoch}` : ""].filter(Boolean).join(", ")}`));
  }

  matrix(table) {
    const { labels, values } = table, accent = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
    const rows = values.map((row, i) => {
      const total = row.reduce((a, b) => a + b, 0) || 1;
      return element("tr", {}, element("th", {}, labels[i]), ...row.map((count, j) => {
        const share = count / total, strength = Math.round(255 * Math.sqrt(share)).toString(16).padStart(2, "0");
        return element("td", { title: `${labels[i]} predicted as ${labels[j]}: ${count} (${(100 * share).toFixed(1)} %)`, style: { background: count ? accent + strength : "var(--panel)", color: share > 0.4 ? "var(--ground)" : "inherit" } }, short(count));
      }));
    });
    return element("div", { class: "card" }, this.title(table), element("div", { class: "scroll" },
      element("table", { class: "matrix" }, element("tr", {}, element("th", { class: "faint" }, "actual ↓ predicted →"), ...labels.map((label) => element("th", {}, label))), ...rows)));
  }

  curve(table) {
    const chart = new Chart({ title: `${table.name} (${table.split})`, onZoom: () => {} });
    chart.show([{ label: table.split, colour: this.state.colour(this.state.current()), split: "train", x: table.x.map(Number), y: table.y.map(Number) }], { xLabel: table.x_label ?? "x", yLabel: table.y_label ?? "y" });
    return chart.card;
  }

  bars(table) {
    const most = Math.max(...table.values.map(Number).filter(Number.isFinite), 1e-12);
    return element("div", { class: "card" }, this.title(table), element("table", {}, ...table.labels.map((label, i) => element("tr", {}, element("td", {}, label),
      element("td", { style: { width: "60%" } }, element("span", { class: "bar", style: { width: `${(100 * Number(table.values[i])) / most || 0}%` } })), element("td", { class: "number" }, short(Number(table.values[i])))))));
  }

  samples({ id, samples }) {
    const latest = samples[samples.length - 1];
    if (!latest) return [];
    const card = ({ image, text, target, prediction, scores, ...rest }) => {
      const right = String(target) === String(prediction), score = scores?.[prediction];
      return element("div", { class: "card sample" }, image ? element("img", { src: api.image(id, image), loading: "lazy", alt: "" }) : null, text ? element("p", {}, text) : null,
        element("span", { class: target === undefined ? "" : right ? "right" : "wrong" }, String(prediction ?? "")), target !== undefined && !right ? ` (actual: ${target})` : "", score === undefined ? "" : element("span", { class: "faint" }, ` ${(100 * score).toFixed(0)} %`),
        ...Object.entries(rest).map(([key, value]) => element("div", { class: "faint" }, `${key}: ${shown(value)}`)));
    };
    return [element("h2", {}, `Predictions (${latest.split}, step ${latest.step})`), element("div", { class: "grid samples" }, ...latest.samples.map(card))];
  }

  checkpoints({ checkpoints }) {
    if (!checkpoints.length) return [];
    const row = ({ file, epoch, step, kept_by }) => element("tr", {}, element("td", {}, file), element("td", { class: "number" }, short(epoch)), element("td", { class: "number" }, short(step)), element("td", {}, (kept_by ?? []).join(", ")));
    return [element("h2", {}, "Checkpoints"), element("div", { class: "scroll" }, element("table", {}, element("tr", {}, ...["file", "epoch", "step", "kept by"].map((text) => element("th", {}, text))), ...[...checkpoints].reverse().map(row)))];
  }

  listing(title, values) {
    const rows = flat(values).map(([key, value]) => element("tr", {}, element("td", { class: "faint" }, key), element("td", { style: { whiteSpace: "normal" } }, shown(value))));
    return rows.length ? element("details", {}, element("summary", {}, title), element("div", { class: "scroll" }, element("table", {}, ...rows))) : null;
  }

  text(title, text) {
    return text ? element("details", {}, element("summary", {}, title), element("pre", {}, text)) : null;
  }
}
