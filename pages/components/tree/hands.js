/* Pointer, wheel and keys: what moves the tree. */
Object.assign(Tree.prototype, {
  listen() {
    for (const button of this.root.querySelectorAll("[data-act]")) {
      button.addEventListener("click", () => this.act(button.dataset.act));
    }
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => this.drop());
    canvas.addEventListener("pointerleave", () => this.side.hover(-1));
    canvas.addEventListener("dblclick", (event) => this.twice(event));
    canvas.addEventListener("keydown", (event) => this.key(event));
  },

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const { view } = this;
    return [(event.clientX - box.left - view.x) / view.scale, (event.clientY - box.top - view.y) / view.scale];
  },

  wheel(event) {
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    this.side.hover(-1);
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    this.zoom(Math.exp(-pixels / (event.ctrlKey ? 120 : 500)), event.clientX - box.left, event.clientY - box.top);
  },

  grab(event) {
    if (event.button !== 0 || this.held) return;
    this.held = { id: event.pointerId, x: event.clientX, y: event.clientY, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  },

  move(event) {
    const { held, canvas } = this;
    if (!held) return this.look(event);
    if (event.pointerId !== held.id) return;
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < STILL) return;
    Object.assign(held, { moved: true, x: event.clientX, y: event.clientY });
    canvas.classList.add("moving");
    this.side.hover(-1);
    this.view.x += dx;
    this.view.y += dy;
    this.request();
  },

  look(event) {
    const [x, y] = this.point(event);
    const i = this.layout.at(x, y);
    this.canvas.classList.toggle("over", i >= 0 || this.painter.pillAt(x, y, this.view.scale) >= 0);
    const box = this.canvas.getBoundingClientRect();
    this.side.hover(i, event.clientX - box.left, event.clientY - box.top, this.view);
  },

  release(event) {
    const { held } = this;
    this.drop();
    if (!held || held.moved || event.pointerId !== held.id) return;
    const [x, y] = this.point(event);
    const pill = this.painter.pillAt(x, y, this.view.scale);
    this.side.hover(-1);
    if (pill >= 0) this.toggle(pill);
    else this.choose(this.layout.at(x, y));
  },

  twice(event) {
    const [x, y] = this.point(event);
    if (this.painter.pillAt(x, y, this.view.scale) < 0) this.toggle(this.layout.at(x, y));
  },

  drop() {
    this.held = null;
    this.canvas.classList.remove("moving");
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const acts = {
      ArrowUp: () => this.step(this.layout.parent[this.marked] ?? -1),
      ArrowDown: () => this.down(),
      ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1),
      Enter: () => this.toggle(this.marked),
      " ": () => this.choose(this.marked),
      Escape: () => this.choose(-1),
      "+": () => this.zoom(1.4),
      "-": () => this.zoom(1 / 1.4),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  },

  step(i) {
    if (i < 0) return;
    this.marked = i;
    if (this.side.shown >= 0) this.side.show(i);
    this.reveal(i);
    this.request();
  },

  down() {
    if (this.marked < 0) return this.step(this.layout.visible[0] ?? -1);
    if (this.layout.isOpen(this.marked)) this.step(this.layout.children[this.marked][0]);
  },

  beside(by) {
    if (this.marked < 0) return this.down();
    const up = this.layout.parent[this.marked];
    const siblings = this.layout.children[up < 0 ? this.layout.forest : up];
    this.step(siblings[siblings.indexOf(this.marked) + by] ?? -1);
  },
});
