/* The tiles of a page. Names that people wrote go in through textContent only. */
const PLACES = 60; // tiles of a full page, also while it is awaited: nothing jumps
const FEWEST = 24; // a page of fewer has tiles no larger than these
const GAP = 6;
const CAPTION = 18;
const SMALLEST = 64; // px: below it the page scrolls instead

Object.assign(Grid.prototype, {
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
    if (closer.hidden || !tile) return;
    const [img, words] = closer.children;
    if (img.getAttribute("src") !== tile.view) img.src = tile.view;
    words.textContent = this.tileOf(tile.item)?.getAttribute("aria-label") ?? "";
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
