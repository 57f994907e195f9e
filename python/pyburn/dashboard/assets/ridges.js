// Histograms over the steps, one ridge behind the other: the oldest at the back, hover to read one.
import { element, labels, short, ticks } from "./text.js";

const LEFT = 12, RIGHT = 62, BOTTOM = 36, TOP = 10;
const MOST_RIDGES = 40, POINTS = 120;

export class Ridges {
  constructor(title) {
    this.canvas = element("canvas", { role: "img", "aria-label": `Histograms of ${title}` });
    this.found = [];
    this.canvas.addEventListener("pointermove", (event) => { this.near = event.offsetY; this.draw(); });
    this.canvas.addEventListener("pointerleave", () => { this.near = undefined; this.draw(); });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }

  // found: [{step, edges, counts, min, max, mean, count}], oldest first.
  show(found) {
    this.found = found.slice(-MOST_RIDGES);
    this.range = middle(this.found);
    this.rows = this.found.map((one) => density(one, this.range));
    this.draw();
  }

  draw() {
    const { canvas, rows } = this, { width, height } = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1;
    if (!width || !rows?.length) return;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    const pen = canvas.getContext("2d"), style = getComputedStyle(canvas), colour = (name) => style.getPropertyValue(`--${name}`).trim();
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    const inner = width - LEFT - RIGHT, tall = (height - TOP - BOTTOM) * (rows.length > 1 ? 0.45 : 1), gap = rows.length > 1 ? (height - TOP - BOTTOM - tall) / (rows.length - 1) : 0;
    const base = (i) => TOP + tall + gap * i;
    const chosen = this.near === undefined ? -1 : rows.map((_, i) => Math.abs(base(i) - this.near)).reduce((best, d, i, all) => (d < all[best] ? i : best), 0);
    for (const [i, row] of rows.entries()) {
      const peak = Math.max(...row, 1e-300), at = (k) => [LEFT + (inner * k) / (POINTS - 1), base(i) - (row[k] / peak) * tall];
      pen.beginPath();
      pen.moveTo(LEFT, base(i));
      for (let k = 0; k < POINTS; ++k) pen.lineTo(...at(k));
      pen.lineTo(LEFT + inner, base(i));
      pen.fillStyle = `color-mix(in srgb, ${colour("accent")} ${30 + Math.round((55 * (i + 1)) / rows.length)}%, ${colour("card")})`;
      pen.fill();
      pen.strokeStyle = i === chosen ? colour("text") : colour("card");
      pen.lineWidth = i === chosen ? 1.6 : 0.8;
      pen.stroke();
    }
    this.axes(pen, colour, { width, height, inner, base, chosen });
  }

  axes(pen, colour, { width, height, inner, base, chosen }) {
    const [low, high] = this.range, marks = ticks(low, high, inner / 70), texts = labels(marks);
    pen.fillStyle = colour("faint");
    pen.textBaseline = "top";
    pen.textAlign = "center";
    for (const [i, mark] of marks.entries()) pen.fillText(texts[i], LEFT + ((mark - low) / (high - low)) * inner, height - BOTTOM + 5);
    pen.fillText("value", LEFT + inner / 2, height - 13);
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    const rows = this.found.length, every = Math.max(1, Math.ceil(rows / 7));
    for (let i = rows - 1; i >= 0; i -= every) if (chosen < 0) pen.fillText(short(this.found[i].step), width - RIGHT + 6, base(i));
    if (chosen < 0) return pen.fillText("step", width - RIGHT + 6, TOP + 2);
    const { step, mean, min, max, count } = this.found[chosen];
    pen.fillStyle = colour("text");
    pen.fillText(`step ${short(step)}`, width - RIGHT + 6, base(chosen));
    pen.fillText(`${short(Number(count))} values, mean ${short(Number(mean))}, from ${short(Number(min))} to ${short(Number(max))}`, LEFT, TOP);
  }
}

// The range that holds all but the outermost 0.4 % of the values, so that single outliers do not squeeze the rest.
function middle(found) {
  const bins = found.flatMap(({ edges, counts }) => counts.map((count, i) => [edges[i], edges[i + 1], count])).filter(([, , count]) => count > 0);
  const most = bins.reduce((sum, [, , count]) => sum + count, 0) * 0.002;
  const outside = (sorted, end) => { let seen = 0; return (sorted.find(([, , count]) => (seen += count) > most) ?? [0, 1])[end]; };
  const low = outside(bins.sort((a, b) => a[0] - b[0]), 0), high = outside(bins.sort((a, b) => b[1] - a[1]), 1);
  return high > low ? [low, high] : [low - 0.5, low + 0.5];
}

// The counts of a histogram per unit of width, at evenly spaced points of a common range.
function density({ edges, counts }, [low, high]) {
  const found = new Array(POINTS).fill(0), step = (high - low) / (POINTS - 1), total = counts.reduce((a, b) => a + b, 0) || 1;
  for (const [i, count] of counts.entries()) {
    if (edges[i + 1] < low || edges[i] > high) continue;
    const from = Math.max(0, Math.floor((edges[i] - low) / step)), to = Math.min(POINTS - 1, Math.max(from, Math.ceil((edges[i + 1] - low) / step) - 1));
    for (let k = from; k <= to; ++k) found[k] += count / total / (to - from + 1);
  }
  return found;
}
