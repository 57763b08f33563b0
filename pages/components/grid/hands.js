/* Keys and clicks: none from fields, repeats, compositions or combinations. */
Object.assign(Grid.prototype, {
  listen() {
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
    this.host.querySelectorAll("[data-act]").forEach((button) => onPress(button, () => this.act(button.dataset.act)));
    onPress(this.pick(".retrain"), () => this.link.ask({ do: "round" }));
    this.pick("select").addEventListener("change", (event) => {
      event.target.blur(); // keys are the grid's again
      this.choosePile(event.target.value);
    });
    this.pick(".tiles").addEventListener("click", (event) => this.click(event));
    this.pick(".tiles").addEventListener("dblclick", () => this.show("closer"));
    this.pick(".closer").addEventListener("click", () => this.show(null));
    const grid = this;
    const trouble = (text, ms) => this.trouble(text, ms);
    this.finder = new Finder(this.pick(".of-tile"), {
      get item() { return grid.tiles[grid.at]?.item; },
      answer: (entry) => this.mark(this.tiles[this.at], entry.id), trouble,
    });
    this.naming = new Finder(this.pick(".of-cluster"), {
      get item() { return grid.pile; }, answer: (entry) => this.setClass(entry), trouble,
    });
    this.sight = new IntersectionObserver((entries) => this.sighted(entries), { threshold: 0.6 });
    this.size = new ResizeObserver(() => this.fit());
    this.size.observe(this.pick(".sheet"));
  },

  stop() {
    document.removeEventListener("keydown", this.onKey);
    this.link.stop();
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
    if (!this.data) return;
    const step = this.stepOf(event);
    const does = step !== null ? () => this.go(this.at + step) : isForeign(event) ? null : this.doing(event);
    if (!does) return;
    event.preventDefault();
    does();
  },

  /* How far an arrow goes, also one that is held; null where the key is none, or belongs to something else. */
  stepOf(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns };
    [steps.Home, steps.End] = [-this.at, this.tiles.length - 1 - this.at];
    if (!(event.key in steps) || !this.tiles.length || event.ctrlKey || event.metaKey || event.altKey) return null;
    if (event.shiftKey || event.defaultPrevented || typing(event) || dialogIsOpen() || elsewhere(event)) return null;
    return steps[event.key];
  },

  doing(event) {
    if (event.key === "Escape") return this.overlay && (() => this.show(null));
    if (["Enter", " "].includes(event.key)) return elsewhere(event) ? null : () => this.pressed(event);
    const { answers, act, finds } = this.keys.read(event) ?? {};
    if (act) return ["undo", "grid", "help"].includes(act) && (!this.overlay || act === "help") ? () => this.act(act) : null;
    if (this.overlay === "help" || !this.tiles.length) return null;
    if (answers !== undefined) return () => this.mark(this.tiles[this.at], answers);
    return finds === undefined ? null : () => this.finder.open(finds);
  },

  /* What covers the tiles is closed by Enter first: nothing unseen is confirmed. */
  pressed({ key, shiftKey }) {
    if (key === "Enter") return this.overlay ? this.show(null) : this.confirm();
    if (shiftKey) return this.show(this.overlay ? null : "closer");
    this.toggle(this.tiles[this.at]);
  },

  act(name) {
    const acts = { help: () => this.show(this.overlay ? null : "help"), grid: () => this.leaving(), undo: () => this.undo() };
    acts.confirm = () => this.confirm();
    acts[name]();
  },

  show(name) {
    this.overlay = name === "closer" && !this.tiles.length ? null : name;
    for (const each of ["help", "closer"]) this.pick(`.${each}`).hidden = this.overlay !== each;
    this.drawCloser();
  },

  go(place) {
    if (place < 0 || place >= this.tiles.length) return;
    const before = this.tiles[this.at];
    this.at = place;
    if (before) this.drawTile(before);
    this.drawTile(this.tiles[place]);
    this.tileOf(this.tiles[place].item)?.scrollIntoView({ block: "nearest" });
  },

  sighted(entries) {
    for (const entry of entries) if (entry.isIntersecting) this.seen.add(Number(entry.target.dataset.item));
    this.drawButton();
  },
});

/* Whether the key belongs to a button, link or menu that has the focus. */
function elsewhere(event) {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && target.closest("button, a, summary, [role=button], [role=tab], [role=menuitem]") !== null;
}
