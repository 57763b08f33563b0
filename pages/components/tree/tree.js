/* The tree on its canvas: moving, zooming, keys, and one frame at a time. */
const AT_FIRST = 60; // nodes to be seen before anything is opened by hand
const READABLE = 0.5; // the least scale at first: more is to the sides, and Fit shows it
const CLOSEST = 4;
const STILL = 4; // pixels that a click may wander

class Tree {
  constructor(host) {
    this.root = host.querySelector(".tree");
    this.canvas = this.root.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.view = { scale: 1, x: 0, y: 0, width: 1, height: 1 };
    this.side = new Side(this.root, (i) => this.choose(i), (i) => this.toggle(i));
    this.marked = -1;
    this.listen();
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.canvas);
  }

  update(data) {
    if (this.token !== data.token) this.reset(data);
    this.request();
  }

  reset(data) {
    this.token = data.token;
    this.data = data;
    this.thumbs?.stop();
    this.layout = new Layout(data.parent, data.order);
    this.layout.openSome(AT_FIRST);
    this.painter = new Painter(this.layout, data);
    this.thumbs = new Thumbs(data.thumb, () => this.request());
    this.marked = -1;
    this.side.reset(data, this.layout);
    this.root.querySelector(".low").textContent = `sure ${figure(this.painter.low)}`;
    this.root.querySelector(".high").textContent = `${figure(this.painter.high)} unsure (Σσ²)`;
    this.arrange();
    this.fit(READABLE);
  }

  arrange() {
    this.layout.place();
    const [shown, all] = [this.layout.visible.length, this.data.name.length].map((n) => n.toLocaleString("en-US"));
    this.root.querySelector(".shown").textContent = `${shown} of ${all} shown`;
    this.canvas.dataset.shown = this.layout.visible.length;
  }

  resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    const first = this.view.width === 1;
    Object.assign(this.view, { width, height });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ratio = ratio;
    if (first) this.fit(READABLE);
    this.frame(); // at once: a resized canvas is blank
  }

  /* All of it in view, its top at the top; at `least` scale, where that is asked for, its largest tree. */
  fit(least = 0) {
    if (!this.layout || this.view.width === 1) return;
    const { left, top, right, bottom } = this.layout.box;
    const { width, height } = this.view;
    const scale = Math.min(1.4, (width - 48) / (right - left), (height - 56) / (bottom - top));
    this.view.scale = Math.max(least, scale);
    const middle = scale < least ? this.layout.x[this.layout.largest] + SIZE / 2 : (left + right) / 2;
    this.view.x = width / 2 - middle * this.view.scale;
    this.view.y = Math.max(24, (height - (bottom - top) * this.view.scale) * 0.4) - top * this.view.scale;
    this.request();
  }

  request() {
    if (this.asked || !this.layout) return;
    this.asked = requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.asked = null;
    if (!this.layout || !this.ratio) return;
    this.hold();
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.view.width, this.view.height);
    this.thumbs.want(this.painter.draw(context, this.view, this.thumbs, this.looks(), this.marked));
    this.canvas.dataset.thumbs = this.thumbs.bitmaps.size;
  }

  /* Some of the tree stays in sight, however far it is dragged. */
  hold() {
    const { view } = this;
    const { left, top, right, bottom } = this.layout.box;
    const within = (at, low, high, length) => (
      Math.min(length - LEVEL - low * view.scale, Math.max(LEVEL - high * view.scale, at))
    );
    view.x = within(view.x, left, right, view.width);
    view.y = within(view.y, top, bottom, view.height);
  }

  looks() {
    const style = getComputedStyle(this.root);
    const of = (name, other) => style.getPropertyValue(name).trim() || other;
    return {
      background: of("--st-background-color", "#fff"),
      text: style.color,
      accent: of("--st-primary-color", "#4353c9"),
      line: "rgba(128, 128, 128, 0.6)",
      block: "rgba(128, 128, 128, 0.13)",
      font: style.fontFamily,
    };
  }

  /* Opens or closes a node, which stays where it is on the screen. */
  toggle(i) {
    if (i < 0 || !this.layout.children[i].length) return;
    const [x, y] = [this.layout.x[i], this.layout.y[i]];
    this.layout.open[i] = this.layout.open[i] ? 0 : 1;
    this.arrange();
    this.view.x += (x - this.layout.x[i]) * this.view.scale;
    this.view.y += (y - this.layout.y[i]) * this.view.scale;
    if (this.side.shown === i) this.side.show(i);
    this.request();
  }

  choose(i) {
    this.marked = i;
    this.side.show(i);
    if (i >= 0) this.reveal(i);
    this.request();
  }

  /* Opens what is above a node, and moves the view if it is out of sight. */
  reveal(i) {
    let closed = false;
    for (let up = this.layout.parent[i]; up >= 0; up = this.layout.parent[up]) {
      closed ||= !this.layout.open[up];
      this.layout.open[up] = 1;
    }
    if (closed) this.arrange();
    const { view } = this;
    const [x, y] = [this.layout.x[i] * view.scale + view.x, this.layout.y[i] * view.scale + view.y];
    const edge = SIZE * view.scale;
    const room = view.width > 640 ? view.width - 320 : view.width; // the panel lies over the rest
    if (x < 0 || x + edge > room) view.x += room / 2 - x;
    if (y < 0 || y + edge > view.height) view.y += view.height / 2 - y;
  }

  zoom(factor, x = this.view.width / 2, y = this.view.height / 2) {
    const { view } = this;
    const { left, right, top, bottom } = this.layout.box;
    const farthest = Math.min(0.5, view.width / (right - left), view.height / (bottom - top)) / 2;
    const scale = Math.min(CLOSEST, Math.max(farthest, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    this.request();
  }

  act(name) {
    const acts = {
      all: () => this.openAll(true),
      none: () => this.openAll(false),
      fit: () => this.fit(),
      closer: () => this.zoom(1.4),
      farther: () => this.zoom(1 / 1.4),
      png: () => this.save(),
    };
    acts[name]();
  }

  openAll(open) {
    this.layout.openAll(open);
    this.arrange();
    if (this.side.shown >= 0) this.side.show(this.side.shown);
    this.fit();
  }

  /* What is in view, at twice the size, with the thumbnails that are here. */
  save() {
    const canvas = made("canvas");
    [canvas.width, canvas.height] = [2 * this.view.width, 2 * this.view.height];
    const context = canvas.getContext("2d");
    const looks = this.looks();
    context.fillStyle = looks.background;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.scale(2, 2);
    this.painter.draw(context, this.view, this.thumbs, looks, this.marked);
    canvas.toBlob((blob) => {
      const link = made("a");
      link.href = URL.createObjectURL(blob);
      link.download = "penumbra-hierarchy.png";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    }, "image/png");
  }

  stop() {
    this.resizing.disconnect();
    cancelAnimationFrame(this.asked);
    this.thumbs?.stop();
  }
}

/* Streamlit calls this at every rerun; one tree per mounting place, ended when its place is gone. */
const trees = new WeakMap();

export default function ({ data, parentElement }) {
  if (!trees.has(parentElement)) trees.set(parentElement, new Tree(parentElement));
  const tree = trees.get(parentElement);
  tree.update(data);
  return () => setTimeout(() => {
    const host = parentElement.host ?? parentElement;
    if (host.isConnected) return;
    tree.stop();
    trees.delete(parentElement);
  });
}
