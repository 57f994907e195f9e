// Runs that agree in an option or a tag, as one curve: the mean, with a band of one standard deviation.
import { shown } from "./text.js";

const MOST_POINTS = 400;

// The group of a run: by "tag", or by "option <name>".
export const groupOf = (run, by) => (by === "tag" ? (run.tags.length ? run.tags.join(", ") : "no tag") : `${by.slice(7)} = ${shown(run.config[by.slice(7)])}`);

// What runs can be grouped by: options that differ but not in every run, and tags.
export function choices(runs) {
  const options = [...new Set(runs.flatMap((run) => Object.keys(run.config)))].filter((name) => new Set(runs.map((run) => JSON.stringify(run.config[name]))).size > 1);
  return [...options.map((name) => `option ${name}`), ...(runs.some((run) => run.tags.length) ? ["tag"] : [])];
}

// Lines [{run, split, kind, x, y}] to one per group and split: {label, group, split, x, y, low, high, count}.
export function grouped(lines, by) {
  const parts = new Map();
  for (const line of lines) {
    const key = JSON.stringify([groupOf(line.run, by), line.split]);
    if (!parts.has(key)) parts.set(key, []);
    if (line.x.length) parts.get(key).push(line);
  }
  return [...parts].filter(([, members]) => members.length).map(([key, members]) => ({ ...average(members), group: JSON.parse(key)[0], split: JSON.parse(key)[1], kind: members[0].kind, count: members.length }));
}

function average(members) {
  const x = grid(members), y = new Float64Array(x.length), low = new Float64Array(x.length), high = new Float64Array(x.length);
  const values = members.map((line) => sampled(line, x));
  for (let i = 0; i < x.length; ++i) {
    const known = values.map((row) => row[i]).filter(Number.isFinite), mean = known.reduce((a, b) => a + b, 0) / known.length;
    const spread = Math.sqrt(known.reduce((sum, v) => sum + (v - mean) ** 2, 0) / Math.max(1, known.length - 1));
    [y[i], low[i], high[i]] = [mean, mean - spread, mean + spread];
  }
  return { x, y, low, high };
}

// All x of the members, or evenly spaced ones where there are many.
function grid(members) {
  const all = [...new Set(members.flatMap(({ x }) => Array.from(x)))].filter(Number.isFinite).sort((a, b) => a - b);
  if (all.length <= MOST_POINTS) return Float64Array.from(all);
  const first = all[0], last = all[all.length - 1];
  return Float64Array.from({ length: MOST_POINTS }, (_, i) => first + ((last - first) * i) / (MOST_POINTS - 1));
}

// A line at other x, interpolated; NaN before its start and after its end.
function sampled({ x, y }, at) {
  const found = new Float64Array(at.length).fill(NaN);
  let k = 0;
  for (let i = 0; i < at.length; ++i) {
    while (k < x.length - 1 && x[k + 1] < at[i]) ++k;
    if (at[i] < x[0] || at[i] > x[x.length - 1]) continue;
    if (k === x.length - 1 || x[k] === at[i] || x[k + 1] === x[k]) found[i] = y[k];
    else found[i] = y[k] + ((y[k + 1] - y[k]) * (at[i] - x[k])) / (x[k + 1] - x[k]);
  }
  return found;
}
