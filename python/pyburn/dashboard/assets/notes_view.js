// What a user writes about a run: its display name, tags and notes; and deletion, which asks twice.
import * as api from "./api.js";
import { bytes, element } from "./text.js";

export class NotesView {
  constructor({ changed, removed }) {
    Object.assign(this, { changed, removed }); // called after an edit and after the deletion
    this.tags = element("input", { type: "text", placeholder: "baseline, augmented", "aria-label": "Tags", onchange: () => this.save({ tags: this.tags.value.split(",").map((tag) => tag.trim()).filter(Boolean) }) });
    this.notes = element("textarea", { rows: 3, placeholder: "What was tried, and what came out", "aria-label": "Notes", onchange: () => this.save({ notes: this.notes.value }) });
    this.said = element("span", { class: "faint", role: "status" });
    this.node = element("div", { class: "card notes" }, element("label", {}, element("span", {}, "Tags"), this.tags), element("label", {}, element("span", {}, "Notes"), this.notes), this.said);
    this.rename = element("button", { onclick: () => this.askName() }, "Rename");
    this.remove = element("button", { class: "danger", onclick: () => this.askFirst() }, "Delete");
    this.actions = element("span", { class: "row actions" }, this.rename, this.remove);
  }

  show({ id, name, notes, state }) {
    const other = id !== this.id;
    Object.assign(this, { id, name });
    this.remove.disabled = state === "running" || state === "paused";
    this.remove.title = this.remove.disabled ? "Stop the run first" : "";
    if (other) { this.said.textContent = ""; this.actions.replaceChildren(this.rename, this.remove); }
    if (other || document.activeElement !== this.tags) this.tags.value = (notes.tags ?? []).join(", ");
    if (other || document.activeElement !== this.notes) this.notes.value = notes.notes ?? "";
  }

  async save(changes) {
    try {
      await api.annotate(this.id, changes);
      this.said.textContent = "saved";
      this.changed();
    } catch (error) { this.said.textContent = error.message; }
  }

  ask(...children) {
    const cancel = element("button", { onclick: () => this.actions.replaceChildren(this.rename, this.remove) }, "Cancel");
    this.actions.replaceChildren(...children, cancel);
  }

  askName() {
    const box = element("input", { type: "text", value: this.name, "aria-label": "New name", onkeydown: (event) => { if (event.key === "Enter") done(); } });
    const done = async () => { await this.save({ name: box.value.trim() }); this.actions.replaceChildren(this.rename, this.remove); };
    this.ask(box, element("button", { onclick: done }, "Save"));
    box.select();
  }

  async askFirst() {
    try {
      const { files, bytes: size, key } = await api.remove(this.id);
      this.ask(element("span", {}, `Delete ${files} files (${bytes(size)}) of "${this.name}"?`), element("button", { class: "danger", onclick: () => this.askAgain(key) }, "Delete"));
    } catch (error) { this.said.textContent = error.message; }
  }

  askAgain(key) {
    const done = async () => {
      try {
        await api.remove(this.id, key);
        location.hash = "table";
        this.removed();
      } catch (error) { this.said.textContent = error.message; this.actions.replaceChildren(this.rename, this.remove); }
    };
    this.ask(element("strong", {}, "This cannot be undone."), element("button", { class: "danger", onclick: done }, "Delete permanently"));
  }
}
