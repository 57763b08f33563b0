/* What the grid shows. Names that people wrote go in through textContent only. */
Object.assign(Grid.prototype, {
  drawAll() {
    this.drawFacts();
    this.drawKeys();
    this.drawPiles();
    this.drawSaved();
    this.drawEnd();
    this.drawButton();
  },

  drawFacts() {
    const { count: said, model, round, newer } = this.data.facts;
    this.pick(".count").textContent = said;
    this.pick(".model").textContent = model;
    this.pick(".rounds").hidden = !round && !newer;
    this.pick(".retrain").hidden = Boolean(round);
    this.pick(".round").hidden = !round;
    this.pick(".round").textContent = round;
  },

  /* Only what changed since: most turns change no key. */
  drawKeys() {
    const drawn = JSON.stringify([this.data.classes, this.data.keys]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.finder.classes = this.data.classes;
    this.naming.classes = this.data.classes;
    this.pick(".of-tile input").placeholder = this.keys.typing ? "type a class …" : "/ find a class";
    this.host.querySelectorAll("[data-key]").forEach((kbd) => { kbd.textContent = printed(this.keys.acts[kbd.dataset.key]); });
    const keyed = this.data.classes.filter((entry) => this.keys.classes.has(entry.id));
    this.pick(".keyed").replaceChildren(...keyed.map((entry) => this.classButton(entry)));
  },

  /* Marks the tile that is pointed at. */
  classButton(entry) {
    const button = element("button");
    button.type = "button";
    button.title = entry.name;
    button.append(element("kbd", printed(this.keys.classes.get(entry.id))), element("span", entry.name));
    onPress(button, () => this.mark(this.tiles[this.at], entry.id));
    return button;
  },

  drawPiles() {
    const select = this.pick("select");
    if (select.matches(":focus") && select.dataset.drawn === this.scope) return void (select.value = this.pile ?? "");
    const option = (each) => {
      const made = element("option", each.text);
      made.value = each.key;
      return made;
    };
    const group = (label, some) => {
      const made = element("optgroup");
      made.label = label;
      made.append(...some.map(option));
      return made;
    };
    const [classes, clusters] = [true, false].map((of) => this.data.piles.filter((each) => (each.class !== null) === of));
    select.replaceChildren(group("What the model takes them for", classes), group("Clusters: images that lie together", clusters));
    select.value = this.pile ?? "";
    select.dataset.drawn = this.scope;
    this.pick(".piles").hidden = this.data.piles.length === 0;
  },

  nameOf(id) {
    return this.data.classes.find((each) => each.id === id)?.name ?? "";
  },

  /* “57 as guitar, 1 as horse” */
  sentence(answered) {
    const counts = new Map();
    for (const tile of answered) counts.set(this.classOf(tile), (counts.get(this.classOf(tile)) ?? 0) + 1);
    const main = counts.get(this.confirms) ?? 0;
    counts.delete(this.confirms);
    const others = [...counts].map(([id, n]) => `${n} as ${this.nameOf(id)}`);
    const rest = others.length > 2 ? [`${[...counts.values()].reduce((a, b) => a + b, 0)} as other classes`] : others;
    return [...(main ? [`${main} as ${this.nameOf(this.confirms)}`] : []), ...rest].join(", ");
  },

  drawButton() {
    const button = this.pick(".confirm");
    const of = this.pick(".of-cluster");
    const pile = this.data?.piles.find((each) => each.key === this.pile);
    of.hidden = !pile || pile.class !== null;
    this.pick(".of-cluster input").placeholder = this.as === null ? "which class?" : `${this.nameOf(this.as)} · another?`;
    button.disabled = !this.ready;
    button.lastElementChild.textContent = this.words();
  },

  words() {
    if (!this.data || this.wants) return "Loading …";
    if (!this.tiles.length) return "Nothing to confirm";
    if (!this.settled) return "Loading …";
    const rest = this.tiles.filter((tile) => !this.marks.has(tile.item) && !this.failed.has(tile.item)).length;
    if (rest && this.confirms === null) return `Which class are these ${rest}?`;
    const unseen = this.tiles.filter((tile) => !this.seen.has(tile.item)).length;
    if (unseen) return `Scroll on: ${unseen} not seen yet`;
    const answered = this.tiles.filter((tile) => this.classOf(tile) !== null);
    const out = this.tiles.length - answered.length;
    if (!answered.length) return `Leave all ${out} out`;
    return `Confirm ${this.sentence(answered)}${out ? ` · ${out} left out` : ""}`;
  },

  drawSaved() {
    const last = this.batches.at(-1);
    const chip = this.pick(".saved");
    chip.hidden = !last;
    if (!last) return;
    const waits = this.outbox.waitsForAny(last.keys);
    chip.dataset.state = waits ? "waits" : "saved";
    chip.dataset.batch = last.keys[0]?.split(":")[0] ?? "";
    chip.querySelector(".word").textContent = waits ? "Saving" : "Saved";
    chip.querySelector(".name").textContent = last.said || `${last.open.length} left out`;
    const src = last.tiles[0]?.src ?? "";
    const img = chip.querySelector("img");
    if (img.getAttribute("src") !== src) img.src = src;
  },

  drawEnd() {
    const end = this.pick(".end");
    const over = !this.wants && !this.tiles.length ? this.data.end : null;
    end.hidden = !over;
    this.pick(".tiles").hidden = Boolean(over);
    if (!over) return;
    end.querySelector("h3").textContent = over.title;
    end.querySelector("p").textContent = over.text;
    const ways = [];
    if (over.again) ways.push(this.way("Look at them again", () => this.lookAgain()));
    if (over.next) ways.push(this.way(`Go on: ${over.next.text}`, () => this.choosePile(over.next.key)));
    if (!ways.length) ways.push(this.way("One image at a time", () => this.leaving()));
    end.querySelector(".ways").replaceChildren(...ways);
  },

  way(text, act) {
    const button = element("button", text);
    button.type = "button";
    onPress(button, act);
    return button;
  },

  /* A line for what went wrong; `ms` says how long, without it until the cause is gone. */
  trouble(text, ms) {
    const line = this.pick(".trouble");
    line.textContent = text;
    line.hidden = !text;
    this.lasting = Boolean(text) && !ms;
    clearTimeout(this.fading);
    if (ms) this.fading = setTimeout(() => this.trouble(""), ms);
  },
});

function recall(name) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name));
    return kept !== null && typeof kept === "object" ? kept : {};
  } catch {
    return {};
  }
}

/* Streamlit calls this at every rerun; one grid per mounting place, ended when its place is gone. */
const grids = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  if (!grids.has(parentElement)) grids.set(parentElement, new Grid(parentElement));
  const grid = grids.get(parentElement);
  grid.leaving = () => setTriggerValue("leave", true);
  grid.update(data, (report) => setStateValue("report", report));
  return () => setTimeout(() => {
    const host = parentElement.host ?? parentElement;
    if (host.isConnected) return;
    grid.stop();
    grids.delete(parentElement);
  });
}
