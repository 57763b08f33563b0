/* Zoom and pan: wheel, drag, two fingers, double click. Past what the screen's image holds, the original is fetched. */
const CLOSEST = 4; // screen pixels to one of the image, at most

class Zoom {
  constructor(frame, changed) {
    this.frame = frame;
    this.changed = changed; // told of (scale, whether the original is shown)
    this.fingers = new Map();
    this.reset();
    frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frame.addEventListener("dblclick", (event) => this.there(event));
    frame.addEventListener("pointerdown", (event) => this.down(event));
    frame.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
  }

  /* Another image, or none: as large as fits. */
  show(card) {
    this.card = card;
    this.original = null;
    this.fingers.clear();
    this.reset();
  }

  reset() {
    [this.scale, this.x, this.y] = [1, 0, 0];
    this.place();
  }

  /* Screen pixels to one of the original where it just fits. */
  get fit() {
    const { width, height } = this.card;
    return Math.min(this.frame.clientWidth / width, this.frame.clientHeight / height);
  }

  wheel(event) {
    event.preventDefault();
    if (this.card) this.to(this.scale * Math.exp(-event.deltaY / 400), event.clientX, event.clientY);
  }

  there(event) {
    if (!this.card) return;
    if (this.scale > 1) this.reset();
    else this.to(Math.max(2.5, 1 / this.fit), event.clientX, event.clientY);
  }

  down(event) {
    this.fingers.set(event.pointerId, event);
    if (event.isPrimary) this.frame.setPointerCapture(event.pointerId);
  }

  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before || !this.card) return;
    const other = [...this.fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    this.fingers.set(event.pointerId, event);
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (other) this.pinch(before, event, other);
    else if (this.scale > 1) this.shift(dx, dy);
  }

  pinch(before, now, other) {
    const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY) || 1;
    const [x, y] = [(now.clientX + other.clientX) / 2, (now.clientY + other.clientY) / 2];
    this.to((this.scale * apart(now)) / apart(before), x, y);
  }

  /* Zoom so that what is below (clientX, clientY) stays there. */
  to(scale, clientX, clientY) {
    const box = this.frame.getBoundingClientRect();
    const next = Math.min(Math.max(8, CLOSEST / this.fit), Math.max(1, scale));
    const [px, py] = [clientX - box.left - box.width / 2, clientY - box.top - box.height / 2];
    this.x = px - ((px - this.x) * next) / this.scale;
    this.y = py - ((py - this.y) * next) / this.scale;
    this.scale = next;
    this.shift(0, 0);
    this.sharpen();
  }

  /* Move, but never so far that the image leaves the frame. */
  shift(dx, dy) {
    const reach = (size) => ((this.scale - 1) * size) / 2;
    const within = (value, most) => Math.min(most, Math.max(-most, value));
    this.x = within(this.x + dx, reach(this.frame.clientWidth));
    this.y = within(this.y + dy, reach(this.frame.clientHeight));
    this.place();
  }

  sharpen() {
    const shown = this.frame.querySelector("img");
    const { card } = this;
    if (!shown || this.original || this.scale * this.fit * card.width * devicePixelRatio <= shown.naturalWidth) return;
    const img = new Image();
    [img.alt, img.draggable, this.original] = [shown.alt, false, img];
    img.src = card.full;
    img.decode().then(() => this.swap(img), () => {
      if (this.original === img) this.original = null; // the next turn of the wheel tries again
    });
  }

  swap(img) {
    if (this.original !== img || !this.frame.querySelector("img")) return;
    this.frame.replaceChildren(img);
    this.frame.dataset.full = this.card.item;
    this.place();
  }

  place() {
    this.frame.style.setProperty("--zoom", `translate(${this.x}px, ${this.y}px) scale(${this.scale})`);
    this.frame.classList.toggle("near", this.scale > 1);
    if (!this.original) delete this.frame.dataset.full;
    this.changed(this.scale, this.frame.dataset.full !== undefined);
  }
}
