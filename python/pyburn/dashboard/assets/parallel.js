// Parallel coordinates: an axis per option and result, a line per run, coloured by the last axis. Drag along an axis to keep a range.
import { element, labels, shown, svg, ticks } from "./text.js";

const TOP = 34, BOTTOM = 14, SIDE = 60, HEIGHT = 330, MOST_AXES = 10;

export class Parallel {
  constructor(colour) {
    this.colour = colour; // of a run
    this.kept = new Map(); // by axis: the range [from, to] of the axis, from 0 at its bottom to 1
    this.node = element("div", { class: "card" });
  }

  // axes: [{name, value(run)}], of which the last is the result.
  show(runs, axes) {
    this.drawn = [runs, axes];
    axes = axes.filter(({ value }) => new Set(runs.map(value).filter((v) => v !== undefined && v !== null)).size > 1).slice(-MOST_AXES);
    const room = Math.max(320, document.querySelector("main").clientWidth - 46);
    const scales = axes.map((axis) => ({ ...axis, at: scale(runs.map(axis.value)) }));
    if (scales.length < 2) return this.node.replaceChildren(element("p", { class: "faint" }, "At least two columns with differing values are needed."));
    const x = (i) => SIDE + ((room - 2 * SIDE) * i) / (scales.length - 1), y = (share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
    const drawing = svg("svg", { viewBox: `0 0 ${room} ${HEIGHT}`, role: "img", "aria-label": `Parallel coordinates of ${scales.map(({ name }) => name).join(", ")}`, class: "parallel" });
    const last = scales.at(-1);
    for (const run of runs) {
      const shares = scales.map(({ at, value }) => at.share(value(run)));
      const inside = scales.every(({ name }, i) => { const kept = this.kept.get(name); return !kept || (shares[i] >= kept[0] && shares[i] <= kept[1]); });
      const points = shares.map((share, i) => (Number.isFinite(share) ? `${x(i).toFixed(1)},${y(share).toFixed(1)}` : null)).filter(Boolean);
      const line = svg("polyline", { points: points.join(" "), fill: "none", class: inside ? "line" : "line out", stroke: shade(last.at.share(last.value(run))), "stroke-width": 2 });
      line.append(svg("title", {}, `${run.name}\n${scales.map(({ name, value }) => `${name}: ${shown(value(run))}`).join("\n")}`));
      drawing.append(line);
    }
    for (const [i, axis] of scales.entries()) drawing.append(...this.axis(axis, x(i), y, i, scales.length));
    this.node.replaceChildren(drawing);
    this.watch(drawing, scales, x, y, room);
  }

  axis({ name, at }, x, y, index, count) {
    const end = index === count - 1, anchor = end ? "start" : "end", side = end ? 7 : -7, kept = this.kept.get(name);
    const title = name.length > 18 ? `…${name.slice(-17)}` : name;
    const parts = [svg("line", { x1: x, x2: x, y1: y(0), y2: y(1), stroke: "var(--faint)" }), svg("text", { x, y: 16, "text-anchor": index === 0 ? "start" : end ? "end" : "middle", fill: "var(--text)", "font-size": 12, "font-weight": 600 }, title)];
    if (index === 0) parts[1].setAttribute("x", 8);
    if (end) parts[1].setAttribute("x", x + SIDE - 8);
    for (const [share, text] of at.marks) parts.push(svg("text", { x: x + side, y: y(share) + 4, "text-anchor": anchor, fill: "var(--faint)", "font-size": 11, class: "mark" }, text));
    if (kept) parts.push(svg("rect", { x: x - 6, width: 12, y: y(kept[1]), height: Math.max(1, y(kept[0]) - y(kept[1])), fill: "var(--accent)", "fill-opacity": 0.35 }));
    return parts;
  }

  watch(drawing, scales, x, y, room) {
    let start = null;
    const at = (event) => { const box = drawing.getBoundingClientRect(), factor = room / box.width; return [(event.clientX - box.left) * factor, (y(0) - (event.clientY - box.top) * factor) / (y(0) - y(1))]; };
    drawing.addEventListener("pointerdown", (event) => {
      const [px, share] = at(event), near = scales.findIndex((_, i) => Math.abs(x(i) - px) < 14);
      if (near >= 0) { start = { name: scales[near].name, share }; drawing.setPointerCapture(event.pointerId); event.preventDefault(); }
    });
    drawing.addEventListener("pointerup", (event) => {
      if (!start) return;
      const share = at(event)[1], range = [Math.min(share, start.share), Math.max(share, start.share)];
      if (range[1] - range[0] < 0.02) this.kept.delete(start.name); else this.kept.set(start.name, range); // a click shows all again
      start = null;
      this.show(...this.drawn);
    });
  }
}

// From values to shares of an axis: numbers evenly, or by powers of ten where they span many; texts in order.
function scale(values) {
  const known = values.filter((v) => v !== undefined && v !== null && !(typeof v === "number" && !Number.isFinite(v)));
  if (known.every((v) => typeof v === "number")) {
    const wide = known.every((v) => v > 0) && Math.max(...known) / Math.min(...known) > 50, to = wide ? Math.log10 : (v) => v;
    const low = to(Math.min(...known)), high = to(Math.max(...known)), span = high - low || 1, single = [...new Set(known)].sort((a, b) => a - b);
    const few = single.length <= 5, marks = few ? single.map(to) : ticks(low, high, 5), texts = few ? single.map(shown) : wide ? marks.map((m) => shown(10 ** m)) : labels(marks);
    return { share: (v) => (typeof v === "number" ? (to(v) - low) / span : NaN), marks: marks.map((m, i) => [(m - low) / span, texts[i]]) };
  }
  const names = [...new Set(known.map(shown))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })), place = (name) => (names.length > 1 ? names.indexOf(name) / (names.length - 1) : 0.5);
  return { share: (v) => (v === undefined || v === null ? NaN : place(shown(v))), marks: names.map((name) => [place(name), name.length > 9 ? `${name.slice(0, 8)}…` : name]) };
}

// From blue to orange, both readable in light and dark, and told apart by everybody.
const shade = (share) => (Number.isFinite(share) ? `color-mix(in oklab, #d55e00 ${Math.round(100 * share)}%, #0091d5)` : "var(--faint)");
