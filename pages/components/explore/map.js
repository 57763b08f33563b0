/* The map: drawn on a plain canvas, so that it needs no GPU. Names that people wrote go in through textContent only. */
const REACH = 9; // pixels from a mark that still touch it
const EDGE = 12; // pixels kept free around the map
const STILL = 4; // pixels that a click may move

class ImageMap {
  constructor(host) {
    this.pick = (selector) => host.querySelector(selector);
    this.canvas = this.pick(".field canvas");
    this.context = this.canvas.getContext("2d");
    this.tool = "lasso";
    this.polygon = null;
    this.drawing = null; // the outline under way, in the map's units
    this.whole();
    this.listen();
  }

  /* ---- from the server ---- */

  update(data, send, open) {
    [this.send, this.open] = [send, open];
    if (data.x !== this.known?.x || data.y !== this.known?.y || data.ids !== this.known?.ids) {
      this.known = { x: data.x, y: data.y, ids: data.ids };
      this.places = new Places(data);
      this.hideHover();
    }
    if (data.scope !== this.scope) this.whole(); // another map: what was zoomed into means nothing there
    this.scope = data.scope;
    this.scale = data.scale;
    this.legend = data.legend;
    this.marks = Int16Array.from(shortsOf(data.marks), (each) => (each === 65535 ? -1 : each));
    this.polygon = data.polygon;
    this.choose();
    this.drawLegend();
    this.draw();
  }

  choose() {
    this.chosen = this.polygon ? this.places.inside(this.polygon) : null;
    this.pick('[data-act="clear"]').disabled = !this.polygon;
    const inside = this.chosen ? this.chosen.reduce((sum, each) => sum + each, 0) : 0;
    this.pick(".gap").textContent = this.polygon ? `${inside.toLocaleString("en-US")} inside, listed below` : "";
  }

  /* ---- from the person ---- */

  listen() {
    const on = (name, handler) => this.canvas.addEventListener(name, handler);
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => (this.from ? this.drag(event) : this.hover(event)));
    on("pointerup", (event) => this.release(event));
    on("pointercancel", () => this.cancel());
    on("pointerleave", () => this.hideHover());
    on("wheel", (event) => this.zoom(event));
    on("dblclick", () => this.showWhole());
    this.pick(".tools").addEventListener("click", (event) => this.command(event.target.closest("button")));
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas);
  }

  command(button) {
    if (!button) return;
    if (button.dataset.act === "whole") this.showWhole();
    if (button.dataset.act === "clear") this.settle(null);
    if (!button.dataset.tool) return;
    this.tool = button.dataset.tool;
    this.canvas.dataset.tool = this.tool;
    this.pick(".tools").querySelectorAll("[data-tool]").forEach((each) => {
      each.setAttribute("aria-pressed", String(each === button));
    });
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.from = { x: event.offsetX, y: event.offsetY, view: { ...this.view }, at: this.unit(event) };
    this.drawing = this.tool === "move" ? null : [this.from.at];
    this.hideHover();
  }

  drag(event) {
    if (this.tool === "move") {
      this.view.x = this.from.view.x + event.offsetX - this.from.x;
      this.view.y = this.from.view.y + event.offsetY - this.from.y;
    } else if (this.tool === "box") {
      const [[ax, ay], [bx, by]] = [this.from.at, this.unit(event)];
      this.drawing = [[ax, ay], [bx, ay], [bx, by], [ax, by]];
    } else this.drawing.push(this.unit(event));
    this.draw();
  }

  release(event) {
    if (!this.from) return;
    const moved = Math.hypot(event.offsetX - this.from.x, event.offsetY - this.from.y);
    const outlined = this.drawing;
    this.cancel();
    if (moved < STILL && (outlined?.length ?? 0) < 8) return this.click(event);
    if (outlined && outlined.length > 2) this.settle(thinned(outlined));
  }

  cancel() {
    this.from = this.drawing = null;
    this.draw();
  }

  click(event) {
    const position = this.at(event);
    if (position >= 0) this.open(this.places.ids[position]);
  }

  settle(polygon) {
    this.polygon = polygon;
    this.choose();
    this.draw();
    this.send(polygon);
  }

  zoom(event) {
    event.preventDefault();
    const factor = Math.min(40, Math.max(1, this.view.zoom * Math.exp(-event.deltaY / 400))) / this.view.zoom;
    this.view.x = event.offsetX + factor * (this.view.x - event.offsetX);
    this.view.y = event.offsetY + factor * (this.view.y - event.offsetY);
    this.view.zoom *= factor;
    this.hideHover();
    this.draw();
  }

  whole() {
    this.view = { zoom: 1, x: 0, y: 0 };
  }

  showWhole() {
    this.whole();
    this.draw();
  }

  hover(event) {
    const position = this.at(event);
    if (position < 0) return this.hideHover();
    const box = this.pick(".hover");
    if (box.hidden || this.over !== position) {
      this.over = position;
      box.querySelector("img").src = `/img/item/${this.places.ids[position]}`;
      box.querySelector("figcaption").textContent = this.saying(position);
    }
    box.hidden = false;
    this.canvas.dataset.over = "";
    const right = event.offsetX > this.canvas.clientWidth / 2;
    box.style.left = `${event.offsetX + (right ? -box.offsetWidth - 12 : 12)}px`;
    box.style.top = `${Math.max(4, Math.min(this.canvas.clientHeight - box.offsetHeight - 4, event.offsetY - 60))}px`;
  }

  hideHover() {
    this.pick(".hover").hidden = true;
    delete this.canvas.dataset.over;
  }

  /* ---- places ---- */

  /* Pixels of the unit square before zooming. */
  get size() {
    return [this.canvas.clientWidth - 2 * EDGE, this.canvas.clientHeight - 2 * EDGE];
  }

  /* The map's unit square fills the field, whatever its shape. */
  pixel(x, y, [w, h] = this.size) {
    return [(EDGE + x * w) * this.view.zoom + this.view.x, (EDGE + (1 - y) * h) * this.view.zoom + this.view.y];
  }

  unit(event) {
    const [w, h] = this.size;
    const x = (event.offsetX - this.view.x) / this.view.zoom;
    const y = (event.offsetY - this.view.y) / this.view.zoom;
    return [(x - EDGE) / w, 1 - (y - EDGE) / h];
  }

  at(event) {
    const zoomed = this.size.map((each) => each * this.view.zoom);
    return this.places.nearest(this.unit(event), zoomed, REACH);
  }

  saying(position) {
    const step = this.marks[position];
    if (step < 0) return this.scale ? `${this.scale.title}: not known` : this.legend.none;
    if (!this.scale) return this.legend.names[step];
    const value = this.scale.low + ((this.scale.high - this.scale.low) * step) / (LEVELS - 1);
    return `${this.scale.title} about ${value.toPrecision(2)}`;
  }

  /* ---- drawing ---- */

  draw() {
    if (!this.places || !this.canvas.clientWidth) return;
    const dense = window.devicePixelRatio || 1;
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (this.canvas.width !== Math.round(w * dense)) this.canvas.width = Math.round(w * dense);
    if (this.canvas.height !== Math.round(h * dense)) this.canvas.height = Math.round(h * dense);
    this.context.setTransform(dense, 0, 0, dense, 0, 0);
    this.context.clearRect(0, 0, w, h);
    this.drawMarks();
    this.drawOutline();
  }

  drawMarks() {
    const many = this.places.size;
    const size = this.size; // once: it asks the browser for the layout
    const r = (many < 1500 ? 4 : many < 5000 ? 3 : 2.2) * Math.min(2.5, Math.sqrt(this.view.zoom));
    const groups = new Map();
    for (let i = 0; i < many; i += 1) {
      const key = this.marks[i] + (this.chosen && !this.chosen[i] ? 100000 : 0); // those outside the choice: faint
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
    }
    const first = (key) => (key >= 99999 ? -2 : key); // faint ones and those without a mark below the rest
    for (const key of [...groups.keys()].sort((a, b) => first(a) - first(b))) {
      const faint = key >= 99999;
      const { colour, shape } = look(faint ? key - 100000 : key, this.scale);
      this.context.globalAlpha = faint ? 0.13 : 0.78;
      this.context.fillStyle = colour;
      this.context.beginPath();
      for (const i of groups.get(key)) mark(this.context, ...this.pixel(this.places.x[i], this.places.y[i], size), r, shape);
      this.context.fill();
    }
    this.context.globalAlpha = 1;
  }

  drawOutline() {
    const corners = this.drawing ?? this.polygon;
    if (!corners || corners.length < 2) return;
    this.context.strokeStyle = getComputedStyle(this.canvas).color;
    this.context.lineWidth = 1.5;
    this.context.setLineDash([5, 4]);
    this.context.beginPath();
    outline(this.context, corners.map(([x, y]) => this.pixel(x, y)));
    this.context.stroke();
    this.context.setLineDash([]);
  }

  drawLegend() {
    const box = this.pick(".legend");
    if (this.scale) {
      const strip = document.createElement("span");
      strip.className = "ramp";
      strip.style.background = `linear-gradient(90deg, ${RAMP.join(", ")})`;
      const { title, low, high, unit } = this.scale;
      box.replaceChildren(text(`${title}${unit ? `, ${unit}` : ""}`), text(low.toPrecision(2)), strip, text(high.toPrecision(2)));
      return;
    }
    const used = new Set(this.marks);
    const entries = this.legend.names.map((name, i) => [name, i]).filter(([, i]) => used.has(i));
    if (used.has(-1)) entries.push([this.legend.none, -1]);
    box.replaceChildren(...entries.map(([name, i]) => swatch(name, i)));
  }
}

function text(words) {
  const part = document.createElement("span");
  part.textContent = words;
  return part;
}

function swatch(name, number) {
  const entry = document.createElement("span");
  const sample = document.createElement("canvas");
  [sample.width, sample.height] = [28, 28];
  const context = sample.getContext("2d");
  const { colour, shape } = look(number, null);
  context.fillStyle = colour;
  context.beginPath();
  mark(context, 14, 14, 9, shape);
  context.fill();
  const label = document.createElement("b");
  label.textContent = name;
  entry.title = name;
  entry.append(sample, label);
  return entry;
}

/* A hand draws hundreds of corners; 200 say the same. Rounded, as the server compares with the same numbers. */
function thinned(corners) {
  const step = Math.ceil(corners.length / 200);
  return corners.filter((_, i) => i % step === 0).map((pair) => pair.map((each) => Math.round(each * 1e6) / 1e6));
}

const maps = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  if (!maps.has(parentElement)) maps.set(parentElement, new ImageMap(parentElement));
  const send = (polygon) => setStateValue("polygon", polygon);
  maps.get(parentElement).update(data, send, (item) => setTriggerValue("open", item));
  return () => setTimeout(() => {
    const host = parentElement.host ?? parentElement;
    if (host.isConnected || !maps.has(parentElement)) return;
    maps.get(parentElement).resized.disconnect();
    maps.delete(parentElement);
  });
}
