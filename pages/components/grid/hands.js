/* Keys and clicks: none from fields, repeats, compositions or combinations. */
const DIGITS = "1234567890";

Object.assign(Grid.prototype, {
  listen() {
    this.onKey = (event) => this.key(event);
    this.onVisible = () => document.hidden || !this.outbox || this.flush();
    document.addEventListener("keydown", this.onKey);
    document.addEventListener("visibilitychange", this.onVisible);
    this.timer = setInterval(() => this.tick(), 500);
    this.host.querySelectorAll("[data-act]").forEach((button) => onPress(button, () => this.act(button.dataset.act)));
    this.pick("select").addEventListener("change", (event) => this.choosePile(event.target.value));
    this.pick(".tiles").addEventListener("click", (event) => this.click(event));
    this.pick(".closer").addEventListener("click", () => this.look());
    this.names = {
      tile: new Names(this.pick(".tile-class"), (entry) => this.mark(this.tiles[this.at], entry.id)),
      cluster: new Names(this.pick(".cluster-class"), (entry) => this.setClass(entry), true),
    };
    this.sight = new IntersectionObserver((entries) => this.sighted(entries), { threshold: 0.6 });
    this.size = new ResizeObserver(() => this.fit());
    this.size.observe(this.pick(".sheet"));
  },

  stop() {
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("visibilitychange", this.onVisible);
    clearInterval(this.timer);
    this.sight.disconnect();
    this.size.disconnect();
  },

  click(event) {
    const element = event.target.closest(".tile[data-item]");
    if (!element) return;
    const place = this.tiles.findIndex((tile) => String(tile.item) === element.dataset.item);
    this.go(place);
    this.toggle(this.tiles[place]);
  },

  key(event) {
    if (!this.data || event.isComposing || event.defaultPrevented) return;
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || dialogIsOpen()) return;
    const step = this.stepOf(event);
    if (step !== null) return this.handled(event, () => this.go(this.at + step));
    if (event.repeat) return ["Enter", " "].includes(event.key) && !elsewhere(event) ? event.preventDefault() : undefined;
    const act = this.actOf(event);
    if (act) this.handled(event, act);
  },

  handled(event, act) {
    event.preventDefault();
    act();
  },

  /* How far an arrow goes; null where the key is none, or belongs to something else. */
  stepOf(event) {
    if (elsewhere(event) || event.shiftKey || !this.tiles.length) return null;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns };
    steps.Home = -this.at;
    steps.End = this.tiles.length - 1 - this.at;
    return steps[event.key] ?? null;
  },

  actOf(event) {
    const entry = this.data.classes[DIGITS.indexOf(digitOf(event))];
    if (entry) return () => this.mark(this.tiles[this.at], entry.id);
    if (["Enter", " "].includes(event.key)) {
      if (elsewhere(event)) return null;
      if (event.key === " ") return () => this.toggle(this.tiles[this.at]);
      return this.overlay() ?? (() => this.confirm()); // what covers the tiles is closed first: nothing unseen is confirmed
    }
    if (event.key === "Escape") return this.overlay();
    const acts = { "/": () => this.names.tile.focus(), z: "undo", g: "leave", h: "help", v: "look", c: "setCluster" };
    const name = event.shiftKey && event.key !== "/" ? null : acts[event.key];
    return typeof name === "string" ? () => this.act(name) : name ?? null;
  },

  /* What closes the layer that lies over the tiles; null where there is none. */
  overlay() {
    if (!this.pick(".help").hidden) return () => this.help();
    return this.pick(".closer").hidden ? null : () => this.look();
  },

  act(name) {
    this[name]();
  },

  setCluster() {
    if (!this.pick(".cluster-class").hidden) this.names.cluster.focus();
  },

  help() {
    this.pick(".help").hidden = !this.pick(".help").hidden;
  },

  /* The tile in full size, and back. */
  look() {
    const closer = this.pick(".closer");
    const tile = this.tiles[this.at];
    closer.hidden = !closer.hidden || !tile;
    this.drawCloser();
  },

  leave() {
    this.leaving();
  },

  go(place) {
    if (place < 0 || place >= this.tiles.length) return;
    const before = this.tiles[this.at];
    this.at = place;
    if (before) this.drawTile(before);
    this.drawTile(this.tiles[place]);
    const tile = this.tileOf(this.tiles[place].item);
    tile?.scrollIntoView({ block: "nearest" });
  },

  sighted(entries) {
    for (const entry of entries) if (entry.isIntersecting) this.seen.add(Number(entry.target.dataset.item));
    this.drawButton();
  },
});

/* A press that neither takes the focus from the keys nor repeats while Enter is held. */
function onPress(button, act) {
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("keydown", (event) => {
    if (event.repeat && ["Enter", " "].includes(event.key)) event.preventDefault();
  });
  button.addEventListener("click", act);
}

function digitOf(event) {
  if (/^[0-9]$/.test(event.key)) return event.key;
  const code = event.shiftKey ? null : /^Digit([0-9])$/.exec(event.code);
  return code ? code[1] : "none"; // keyboards whose digits need Shift
}

function typing(event) {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/* Whether the key belongs to a button, link or menu that has the focus. */
function elsewhere(event) {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && target.closest("button, a, summary, [role=button], [role=tab], [role=menuitem]") !== null;
}

const dialogIsOpen = () => document.querySelector('[role="dialog"]') !== null;
