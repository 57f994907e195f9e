// Numbers, times and elements of the page.

export const element = (tag, properties = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name === "style") Object.assign(made.style, value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};

export const svg = (tag, attributes, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};

export function short(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6) return (value / 1e6).toPrecision(4).replace(/\.?0+$/, "") + "M";
  if (size >= 1e4) return (value / 1e3).toPrecision(4).replace(/\.?0+$/, "") + "k";
  if (size < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

// A value of a configuration, as text; what is not set is a dash.
export const shown = (value) => (value === null || value === undefined || value === "" ? "–" : typeof value === "object" ? JSON.stringify(value, (_, held) => held ?? "–") : short(value));

// Nested options as dotted names.
export const flat = (values, before = "") => Object.entries(values).flatMap(([key, value]) =>
  value && typeof value === "object" && !Array.isArray(value) ? flat(value, `${before}${key}.`) : [[before + key, value]]);

// Rows as a CSV file. A text that a spreadsheet would take for a formula gets an apostrophe: runs come from anywhere.
const cell = (value) => {
  if (typeof value === "number" || value === null || value === undefined) return String(value ?? "");
  const text = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
export const csv = (rows) => rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";

export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  element("a", { href: address, download: name.replace(/[^\w.() -]+/g, "_") }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function bytes(count) {
  const unit = Math.min(3, Math.floor(Math.log10(Math.max(count, 1)) / 3));
  return `${Number((count / 1000 ** unit).toPrecision(3))} ${["bytes", "kB", "MB", "GB"][unit]}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// Round numbers that cover a range.
export function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999999);
  const first = Math.ceil(low / step - 1e-9), steps = Math.floor(high / step + 1e-9) - first;
  if (!(steps >= 0 && steps <= 20 * count + 20)) return [low, high]; // numbers so large or so close that steps between them are lost
  return Array.from({ length: steps + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// The numbers of an axis in one notation: as many decimals as they need to differ, or powers of ten where that would be long.
export function labels(values) {
  const largest = Math.max(...values.map(Math.abs)), step = values.length > 1 ? Math.abs(values[1] - values[0]) : largest;
  const decimals = step > 0 ? Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) : 0;
  if (largest >= 1e4 || decimals > 5) return values.map(short);
  return values.map((value) => (value === 0 ? "0" : value.toFixed(decimals)));
}

// Colours that stay apart: eight that everybody can tell (Okabe and Ito), then turns of the wheel.
const FIRST = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f"];
export const colour = (index) => (index < FIRST.length ? FIRST[index] : `hsl(${(index * 137.508) % 360} 62% ${index % 2 ? 48 : 58}%)`);
