// Curves on a canvas: drag to zoom, double-click to see all, hover to read values. It draws what it is given and fetches nothing.
import { csv, download, element, labels, short, ticks } from "./text.js";

const LEFT = 68, RIGHT = 10, TOP = 8, BOTTOM = 40;
const DASHES = { train: [], valid: [7, 4], test: [2, 3], events: [], system: [] };
const MOST_IN_TIP = 12, MANY = 20;

// Charts wait here and are drawn one per frame: the page answers between two of them.
const waiting = new Set();
let frame = 0;
function next() {
  const [chart] = waiting;
  waiting.delete(chart);
  frame = waiting.size > 0 ? requestAnimationFrame(next) : 0;
  chart.draw();
}

export class Chart {
  // onZoom([from, to]) or onZoom(null); axisText(x) writes a value of the x axis; all() gives the lines for a CSV file, drawn ones by default.
  constructor({ title, onZoom, axisText = short, all = async () => this.lines }) {
    Object.assign(this, { title, onZoom, axisText, all, lines: [], range: null, logarithmic: false, xLabel: "step", yLabel: title });
    this.canvas = element("canvas", { role: "img", "aria-label": title });
    this.note = element("span", { class: "faint" });
    const button = (text, title, onclick) => element("button", { class: "plain", title, "aria-label": title, onclick }, text);
    this.wide = element("span", { class: "buttons" }, button("CSV", "Save the points as CSV", () => this.saveCsv()),
      button("PNG", "Save the chart as PNG", () => this.savePng()), button("⤢", "Enlarge or shrink", () => this.card.classList.toggle("wide")));
    this.tip = element("div", { class: "tip", hidden: true });
    this.card = element("div", { class: "card" }, element("h3", {}, element("span", {}, title), this.note, this.wide), this.canvas, this.tip);
    this.watch();
  }

  // lines: [{label, colour, split, dots, x, y, low, high}], where low and high bound a band; range: [from, to] of x or null for all.
  show(lines, { range = null, logarithmic = false, xLabel = this.xLabel, yLabel = this.yLabel } = {}) {
    Object.assign(this, { lines, range, logarithmic, xLabel, yLabel });
    this.queue();
  }

  async saveCsv() {
    const lines = await this.all();
    const rows = lines.flatMap(({ label, x, y }) => Array.from(x, (v, i) => [label, v, y[i]]));
    download(`${this.title}.csv`, csv([["curve", this.xLabel, this.yLabel], ...rows]), "text/csv");
  }

  // The chart with its title and a legend, on the colour of the card.
  savePng() {
    const { canvas } = this, scale = devicePixelRatio || 1, style = getComputedStyle(canvas), named = this.lines.slice(0, MANY), line = 18 * scale;
    const copy = element("canvas", { width: canvas.width, height: canvas.height + line * (named.length + 2) }), pen = copy.getContext("2d");
    pen.fillStyle = style.getPropertyValue("--card");
    pen.fillRect(0, 0, copy.width, copy.height);
    pen.font = `${13 * scale}px system-ui, sans-serif`;
    pen.fillStyle = style.getPropertyValue("--text");
    pen.fillText(this.title, 12 * scale, line);
    pen.drawImage(canvas, 0, line * 1.5);
    for (const [i, { label, colour }] of named.entries()) {
      const y = canvas.height + line * (i + 2.2);
      pen.fillStyle = colour;
      pen.fillRect(12 * scale, y - 8 * scale, 10 * scale, 10 * scale);
      pen.fillStyle = style.getPropertyValue("--text");
      pen.fillText(label, 30 * scale, y);
    }
    copy.toBlob((blob) => download(`${this.title}.png`, blob));
  }

  queue() {
    waiting.add(this);
    frame ||= requestAnimationFrame(next);
  }

  extent() {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { x } of this.lines) if (x.length) { x0 = Math.min(x0, x[0]); x1 = Math.max(x1, x[x.length - 1]); }
    if (this.range) [x0, x1] = this.range;
    for (const { x, y, low, high } of this.lines)
      for (const values of low ? [low, high] : [y])
        for (let i = 0; i < x.length; ++i) {
          const v = values[i];
          if (x[i] < x0 || x[i] > x1 || !Number.isFinite(v) || (this.logarithmic && v <= 0)) continue;
          if (v < y0) y0 = v;
          if (v > y1) y1 = v;
        }
    if (!(x1 > x0)) [x0, x1] = Number.isFinite(x0) ? [x0 - 0.5, x0 + 0.5] : [0, 1];
    if (!(y1 >= y0)) [y0, y1] = this.logarithmic ? [0.1, 1] : [0, 1];
    if (this.logarithmic) [y0, y1] = [Math.log10(y0), Math.log10(y1)];
    const margin = (y1 - y0) * 0.05 || Math.abs(y0) * 0.05 || 0.5;
    return [x0, x1, y0 - margin, y1 + margin];
  }

  draw() {
    const { canvas } = this, { width, height } = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1;
    if (!width) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d"), style = getComputedStyle(canvas);
    pen.scale(scale, scale);
    const [x0, x1, y0, y1] = this.extent(), inner = [width - LEFT - RIGHT, height - TOP - BOTTOM];
    const px = (x) => LEFT + ((x - x0) / (x1 - x0)) * inner[0];
    const py = (y) => TOP + (1 - ((this.logarithmic ? Math.log10(y) : y) - y0) / (y1 - y0)) * inner[1];
    this.map = { x0, x1, px, py, inner };
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = style.getPropertyValue("--faint");
    pen.strokeStyle = style.getPropertyValue("--rule");
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const marks = ticks(y0, y1, inner[1] / 34), texts = this.logarithmic ? marks.map((t) => short(10 ** t)) : labels(marks);
    for (const [i, t] of marks.entries()) {
      const at = TOP + (1 - (t - y0) / (y1 - y0)) * inner[1];
      pen.beginPath(); pen.moveTo(LEFT, at); pen.lineTo(width - RIGHT, at); pen.stroke();
      pen.fillText(texts[i], LEFT - 6, at);
    }
    pen.textBaseline = "top";
    for (const t of ticks(x0, x1, inner[0] / 80)) {
      pen.textAlign = px(t) > width - 30 ? "right" : "center";
      pen.fillText(this.axisText(t), px(t), height - BOTTOM + 6);
    }
    pen.textAlign = "center";
    pen.fillText(this.xLabel, LEFT + inner[0] / 2, height - 14, inner[0]);
    pen.save();
    pen.translate(9, TOP + inner[1] / 2);
    pen.rotate(-Math.PI / 2);
    pen.textBaseline = "middle";
    pen.fillText(this.yLabel.length > 40 ? `${this.yLabel.slice(0, 39)}…` : this.yLabel, 0, 0, inner[1]);
    pen.restore();
    pen.save();
    pen.beginPath(); pen.rect(LEFT, TOP, ...inner); pen.clip();
    pen.lineJoin = "bevel";
    pen.lineWidth = this.lines.length > MANY ? 1 : 1.6;  // hair lines are drawn several times faster
    for (const line of this.lines) this.trace(pen, line, px, py);
    if (this.drag) {
      pen.fillStyle = style.getPropertyValue("--accent") + "33";
      pen.fillRect(Math.min(...this.drag), TOP, Math.abs(this.drag[1] - this.drag[0]), inner[1]);
    } else if (this.cursor) {
      pen.strokeStyle = style.getPropertyValue("--faint");
      pen.setLineDash([]);
      pen.lineWidth = 1;
      pen.beginPath(); pen.moveTo(this.cursor, TOP); pen.lineTo(this.cursor, TOP + inner[1]); pen.stroke();
    }
    pen.restore();
  }

  trace(pen, { x, y, low, high, colour, split, dots }, px, py) {
    if (low) this.band(pen, x, low, high, colour, px, py);
    pen.strokeStyle = pen.fillStyle = colour;
    pen.setLineDash(DASHES[split] ?? [5, 2, 1, 2]);
    pen.beginPath();
    let drawing = false;
    for (let i = 0; i < x.length; ++i) {
      const shown = Number.isFinite(y[i]) && (!this.logarithmic || y[i] > 0);
      if (shown) drawing ? pen.lineTo(px(x[i]), py(y[i])) : pen.moveTo(px(x[i]), py(y[i]));
      drawing = shown;
    }
    pen.stroke();
    if (!dots || x.length > 60) return;
    for (let i = 0; i < x.length; ++i) {
      if (!Number.isFinite(y[i])) continue;
      pen.beginPath(); pen.arc(px(x[i]), py(y[i]), 2.4, 0, 7); pen.fill();
    }
  }

  band(pen, x, low, high, colour, px, py) {
    const floor = this.logarithmic ? 10 ** (this.extent()[2] - 1) : -Infinity, known = Array.from(x.keys()).filter((i) => Number.isFinite(low[i]) && Number.isFinite(high[i]));
    pen.beginPath();
    for (const i of known) pen.lineTo(px(x[i]), py(Math.max(high[i], floor)));
    for (const i of known.reverse()) pen.lineTo(px(x[i]), py(Math.max(low[i], floor)));
    pen.globalAlpha = 0.18;
    pen.fillStyle = colour;
    pen.fill();
    pen.globalAlpha = 1;
  }

  watch() {
    const at = (event) => event.clientX - this.canvas.getBoundingClientRect().left;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.canvas.setPointerCapture(event.pointerId);
      this.drag = [at(event), at(event)];
      this.tip.hidden = true;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.drag) this.drag[1] = at(event);
      else this.hover(event);
      this.queue();
    });
    this.canvas.addEventListener("pointerup", () => {
      const drag = this.drag?.sort((a, b) => a - b);
      this.drag = null;
      this.queue();
      if (drag && this.map && drag[1] - drag[0] > 6) this.onZoom(drag.map((p) => this.valueAt(p)));
    });
    for (const name of ["pointercancel", "pointerleave"])
      this.canvas.addEventListener(name, () => { this.drag = this.cursor = null; this.tip.hidden = true; this.queue(); });
    this.canvas.addEventListener("dblclick", () => this.onZoom(null));
    new ResizeObserver(() => this.queue()).observe(this.canvas);
  }

  valueAt(pixel) {
    const { x0, x1, inner } = this.map;
    return x0 + (Math.min(Math.max(pixel - LEFT, 0), inner[0]) / inner[0]) * (x1 - x0);
  }

  hover(event) {
    if (!this.map) return;
    const box = this.canvas.getBoundingClientRect(), x = this.valueAt(event.clientX - box.left), height = event.clientY - box.top;
    this.cursor = this.map.px(x);
    const near = this.lines.filter((line) => line.x.length).map((line) => {
      const i = nearest(line.x, x);
      return { line, x: line.x[i], value: line.y[i], far: Math.abs(this.map.py(line.y[i]) - height) };
    });
    near.sort((a, b) => (Number.isNaN(a.far) ? 1e9 : a.far) - (Number.isNaN(b.far) ? 1e9 : b.far));
    const shown = near.slice(0, MOST_IN_TIP).sort((a, b) => b.value - a.value);
    this.tip.hidden = !shown.length;
    this.tip.replaceChildren(
      element("div", { class: "faint" }, this.axisText(shown.length ? near[0].x : x)),
      ...shown.map(({ line, value }) => element("div", {}, element("span", { class: "swatch", style: { background: line.colour } }), line.label, element("b", {}, short(value) + (line.high ? ` ± ${short(Math.abs(line.high[nearest(line.x, x)] - value))}` : "")))),
      ...(near.length > shown.length ? [element("div", { class: "faint" }, `and ${near.length - shown.length} more`)] : []),
    );
    const right = this.cursor < box.width / 2;
    Object.assign(this.tip.style, { top: "40px", left: right ? `${this.cursor + 26}px` : "auto", right: right ? "auto" : `${box.width - this.cursor + 26}px` });
  }
}

// The index of the value next to v in a growing list.
function nearest(x, v) {
  let low = 0, high = x.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] < v) low = middle; else high = middle;
  }
  return v - x[low] < x[high] - v ? low : high;
}
