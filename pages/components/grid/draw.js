/* What the grid shows. Names that people wrote go in through textContent only. */
const PLACES = 60; // tiles of a full page, also while it is awaited: nothing jumps
const FEWEST = 24; // a page of fewer has tiles no larger than these
const GAP = 6;
const CAPTION = 18;
const SMALLEST = 76; // px: below it the page scrolls instead

Object.assign(Grid.prototype, {
  drawFacts() {
    this.pick(".count").textContent = this.data.facts.count;
    this.pick(".model").textContent = this.data.facts.model;
    this.names.tile.classes = this.data.classes;
    this.names.cluster.classes = this.data.classes;
  },

  /* The classes with a key, which mark the tile that is pointed at. */
  drawKeyed() {
    const buttons = this.data.classes.slice(0, DIGITS.length).map((entry, place) => {
      const button = element("button");
      button.type = "button";
      button.title = entry.name;
      button.append(element("kbd", DIGITS[place]), element("span", entry.name));
      onPress(button, () => this.mark(this.tiles[this.at], entry.id));
      return button;
    });
    this.pick(".keyed").replaceChildren(...buttons);
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

  drawTiles() {
    this.sight.disconnect();
    const places = this.wants ? Array.from({ length: PLACES }, waitingTile) : this.tiles.map((tile) => this.newTile(tile));
    this.pick(".tiles").replaceChildren(...places);
    this.fit();
    if (this.wants) return;
    this.tiles.forEach((tile) => this.drawTile(tile));
    places.forEach((place) => this.sight.observe(place));
  },

  newTile(tile) {
    const made = element("div");
    made.className = "tile";
    made.id = `tile-${tile.item}`;
    made.dataset.item = tile.item;
    made.setAttribute("role", "option");
    const picture = element("div");
    picture.className = "pic";
    const img = new Image();
    img.alt = "";
    img.draggable = false;
    img.addEventListener("load", () => this.arrived(tile, this.loaded));
    img.addEventListener("error", () => this.arrived(tile, this.failed));
    img.src = tile.src;
    picture.append(img);
    const said = element("div");
    said.className = "said";
    made.append(picture, said);
    return made;
  },

  arrived(tile, set) {
    set.add(tile.item);
    if (set === this.failed) this.drawTile(tile);
    this.settle();
  },

  /* Enter counts once all is painted and there was time to look. */
  settle() {
    this.settled = false;
    clearTimeout(this.settling);
    this.drawButton();
    if (this.wants || !this.tiles.every((tile) => this.loaded.has(tile.item) || this.failed.has(tile.item))) return;
    this.begun = performance.now();
    this.settling = setTimeout(() => { this.settled = true; this.drawButton(); }, LOOK_MS);
    for (const src of this.ahead.splice(0)) new Image().src = src; // in the browser's cache when their turn comes
  },

  tileOf(item) {
    return this.pick(`.tile[data-item="${item}"]`);
  },

  drawTile(tile) {
    const place = this.tileOf(tile.item);
    if (!place) return;
    const to = this.classOf(tile);
    const out = this.marks.has(tile.item) || this.failed.has(tile.item);
    const other = out && to !== null;
    const at = this.tiles[this.at] === tile;
    place.setAttribute("aria-selected", String(out));
    place.toggleAttribute("data-other", other);
    place.toggleAttribute("data-failed", this.failed.has(tile.item));
    place.classList.toggle("at", at);
    if (at) this.pick(".tiles").setAttribute("aria-activedescendant", place.id);
    const name = this.nameOf(to);
    const alike = this.confirms === tile.guess;
    const words = other ? [element("b", name)] : out ? [element("b", this.failed.has(tile.item) ? "cannot be shown" : "left out")]
      : [...(alike ? [] : [element("span", tile.name)]), element("span", tile.p.toFixed(2))];
    place.lastElementChild.replaceChildren(...words);
    const guess = `looks like ${tile.name}, ${tile.p.toFixed(2)}${tile.note ? ` · ${tile.note}` : ""}`;
    place.title = guess;
    place.setAttribute("aria-label", other ? `${name} instead, ${guess}` : out ? `left out, ${guess}` : guess);
    if (at) this.drawCloser();
  },

  /* The tile that is pointed at, in full size, where that is asked for. */
  drawCloser() {
    const [closer, tile] = [this.pick(".closer"), this.tiles[this.at]];
    if (!tile) closer.hidden = true;
    if (closer.hidden) return;
    const [img, words] = closer.children;
    if (img.getAttribute("src") !== tile.view) img.src = tile.view;
    words.textContent = this.tileOf(tile.item)?.getAttribute("aria-label") ?? "";
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
    const of = this.pick(".cluster-class");
    const pile = this.data?.piles.find((each) => each.key === this.pile);
    of.hidden = !pile || pile.class !== null;
    this.names.cluster.show(this.nameOf(this.as));
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
    chip.querySelector(".word").textContent = waits ? "saving" : "saved";
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
    if (!ways.length) ways.push(this.way("One image at a time", () => this.leave()));
    end.querySelector(".ways").replaceChildren(...ways);
  },

  way(text, act) {
    const button = element("button", text);
    button.type = "button";
    onPress(button, act);
    return button;
  },

  /* As many columns as make all tiles of the page fit, as large as can be; small screens scroll. */
  fit() {
    const box = this.pick(".tiles");
    const n = this.wants ? PLACES : Math.max(this.tiles.length, FEWEST);
    const [width, height] = [box.clientWidth - 6, box.clientHeight - 6];
    let columns = 1;
    const side = () => (width - (columns - 1) * GAP) / columns;
    const high = () => Math.ceil(n / columns) * (side() + CAPTION + GAP) - GAP;
    while (columns < n && high() > height && (width - columns * GAP) / (columns + 1) >= SMALLEST) columns += 1;
    this.columns = columns;
    box.style.setProperty("--columns", columns);
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

function waitingTile() {
  const made = element("div");
  made.className = "tile waits";
  const picture = element("div");
  picture.className = "pic";
  const said = element("div");
  said.className = "said";
  made.append(picture, said);
  return made;
}

function element(tag, text) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return made;
}

const number = (value) => value.toLocaleString("en-US");
const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
