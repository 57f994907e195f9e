// Histograms, images, texts and audio of a run: a card per tag, with a slider over the steps.
import * as api from "./api.js";
import { Ridges } from "./ridges.js";
import { element } from "./text.js";

const HEADINGS = { image: "Images", text: "Texts", audio: "Audio", histogram: "Histograms" };
const MOST_CARDS = 60; // per kind, until more are asked for

export class MediaView {
  constructor() {
    this.node = element("div");
    this.cards = new Map(); // by kind and tag
    this.sections = new Map();
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const card = [...this.cards.values()].find(({ node }) => node === target);
        if (card) { card.visible = isIntersecting; if (isIntersecting) card.load(); }
      }
    }, { rootMargin: "200px" });
  }

  // media: by kind and tag, a list of [index, step, time].
  update(id, media) {
    if (id !== this.id) { this.seen.disconnect(); this.cards.clear(); this.sections.clear(); this.node.replaceChildren(); }
    this.id = id;
    for (const [kind, heading] of Object.entries(HEADINGS)) {
      const tags = Object.entries(media[kind] ?? {});
      if (!tags.length) continue;
      if (!this.sections.has(kind)) {
        const grid = element("div", { class: "grid" }), more = element("button", { hidden: true, onclick: () => { section.most = Infinity; this.update(this.id, this.media); } });
        const section = { grid, more, most: MOST_CARDS };
        this.sections.set(kind, section);
        this.node.append(element("h2", {}, heading), grid, more);
      }
      const section = this.sections.get(kind);
      for (const [tag, steps] of tags.slice(0, section.most)) this.card(kind, tag, section.grid).steps(steps);
      section.more.hidden = tags.length <= section.most;
      section.more.textContent = `Show all ${tags.length}`;
    }
    this.media = media;
  }

  card(kind, tag, grid) {
    const key = JSON.stringify([kind, tag]);
    if (!this.cards.has(key)) {
      const card = new { image: ImageCard, audio: AudioCard, text: TextCard, histogram: HistogramCard }[kind](this.id, tag);
      this.cards.set(key, card);
      grid.append(card.node);
      this.seen.observe(card.node);
    }
    return this.cards.get(key);
  }
}

// A slider over the steps of a tag; it stays at the newest until somebody moves it.
class Card {
  constructor(id, tag, body) {
    Object.assign(this, { id, tag, entries: [], newest: true, visible: false, body });
    this.note = element("span", { class: "faint" });
    this.slider = element("input", { type: "range", min: 0, max: 0, "aria-label": `Step of ${tag}`, oninput: () => { this.newest = this.slider.valueAsNumber === this.entries.length - 1; this.show(); } });
    this.node = element("div", { class: "card media" }, element("h3", {}, element("span", {}, tag), this.note), body, this.slider);
  }

  steps(entries) {
    if (JSON.stringify(entries) === JSON.stringify(this.entries)) return;
    this.entries = entries;
    this.slider.max = entries.length - 1;
    this.slider.hidden = entries.length < 2;
    if (this.newest) this.slider.value = entries.length - 1;
    this.stale = true;
    if (this.visible) this.load();
  }

  load() {
    if (this.stale) { this.stale = false; this.show(); }
  }

  show() {
    const [index, step, time] = this.entries[this.slider.valueAsNumber] ?? this.entries.at(-1);
    this.note.textContent = `step ${step}`;
    this.note.title = new Date(time * 1000).toLocaleString();
    this.draw(index, step);
  }
}

class ImageCard extends Card {
  constructor(id, tag) {
    super(id, tag, element("img", { alt: tag }));
    this.body.addEventListener("load", () => this.body.classList.toggle("pixels", this.body.naturalWidth < 200));
  }
  draw(index, step) { this.body.src = api.blob(this.id, "image", this.tag, index, step); }
}

class AudioCard extends Card {
  constructor(id, tag) { super(id, tag, element("audio", { controls: true, preload: "none" })); }
  draw(index, step) { this.body.src = api.blob(this.id, "audio", this.tag, index, step); }
}

class TextCard extends Card {
  constructor(id, tag) { super(id, tag, element("pre")); }
  async draw(_, step) {
    try {
      const found = await api.timeline(this.id, "text", this.tag);
      this.body.textContent = (found.findLast((one) => one.step === step) ?? found.at(-1))?.text ?? "";
    } catch (error) { this.body.textContent = error.message; }
  }
}

class HistogramCard extends Card {
  constructor(id, tag) {
    const ridges = new Ridges(tag);
    super(id, tag, ridges.canvas);
    this.ridges = ridges;
    this.slider.remove(); // all steps are drawn
  }
  async draw() {
    try {
      const found = await api.timeline(this.id, "histogram", this.tag), last = found.at(-1);
      this.ridges.show(found);
      this.note.textContent = `${found.length} of ${this.entries.length} steps`;
      this.note.title = last ? `step ${last.step}: ${last.count} values from ${last.min} to ${last.max}, mean ${last.mean}` : "";
    } catch (error) { this.note.textContent = error.message; }
  }
}
