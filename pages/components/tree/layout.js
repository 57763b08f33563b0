/* Where each image of a forest lies. Siblings that are closed or have nothing below them lie in one block of rows;
   those that are open stand beside it, each above what it includes, and go on below where a row gets too wide: within
   the frame of their parent then. So thousands stay on a few screens. */
const SIZE = 64; // of a node, in units of the drawing
const GAP = 12;
const LEVEL = 58; // between a node and what it includes
const WIDE = 1.9; // what is packed is about so much wider than high
const ROW = 2200; // a row as wide as this is never broken: the first view is half as wide
const PAD = 10; // of a frame

class Layout {
  constructor(parent, order) {
    this.parent = parent;
    this.order = order;
    const n = parent.length;
    this.children = Array.from({ length: n + 1 }, () => []); // the last one is the forest itself
    for (const i of order) this.children[parent[i] < 0 ? n : parent[i]].push(i);
    this.below = new Int32Array(n + 1);
    for (let at = order.length - 1; at >= 0; at -= 1) {
      const i = order[at];
      this.below[parent[i] < 0 ? n : parent[i]] += this.below[i] + 1;
    }
    this.open = new Uint8Array(n + 1);
    this.open[n] = 1;
    this.x = new Float64Array(n);
    this.y = new Float64Array(n);
    this.width = new Float64Array(n + 1);
    this.height = new Float64Array(n + 1);
    this.visible = []; // positions, each after its parent
    this.blocks = []; // {owner, x, y, width, height} of closed siblings
    this.links = []; // [parent, x, y]: lines from its foot to a point above what it includes
    this.frames = []; // positions whose tree has a frame
  }

  get forest() {
    return this.parent.length;
  }

  /* The one at the top with the most below it. */
  get largest() {
    return this.children[this.forest].reduce((most, i) => (this.below[i] > this.below[most] ? i : most));
  }

  /* Open from the top on, level by level, until about so many are to be seen. */
  openSome(most) {
    let seen = this.children[this.forest].length;
    let level = this.children[this.forest];
    while (level.length) {
      const next = [];
      for (const i of level) {
        const kids = this.children[i].length;
        if (!kids || seen + kids > most) continue;
        this.open[i] = 1;
        seen += kids;
        next.push(...this.children[i]);
      }
      level = next;
    }
  }

  openAll(open) {
    for (let i = 0; i < this.forest; i += 1) this.open[i] = open && this.children[i].length ? 1 : 0;
  }

  isOpen(i) {
    return this.open[i] === 1 && this.children[i].length > 0;
  }

  /* Both passes go along `order`, not down the tree: a chain may be thousands deep. */
  place() {
    const n = this.forest;
    const shown = new Uint8Array(n + 1);
    shown[n] = 1;
    this.visible = this.order.filter((i) => {
      const up = this.parent[i] < 0 ? n : this.parent[i];
      shown[i] = shown[up] && this.isOpen(up) ? 1 : 0;
      return shown[i];
    });
    this.rows = new Map();
    for (let at = this.visible.length - 1; at >= 0; at -= 1) this.measure(this.visible[at]);
    this.measure(n);
    [this.blocks, this.links, this.frames] = [[], [], []];
    this.spread(n, 0, -LEVEL - SIZE);
    for (const i of this.visible) {
      if (this.isOpen(i)) this.spread(i, this.x[i] + SIZE / 2 - this.width[i] / 2, this.y[i]);
    }
    this.bound();
  }

  /* Size of a node with all that is shown below it, and the rows of it. */
  measure(i) {
    if (!this.isOpen(i)) {
      this.width[i] = this.height[i] = SIZE;
      return;
    }
    const rows = inRows(this.parts(i));
    this.rows.set(i, rows);
    const pad = rows.length > 1 ? PAD : 0;
    this.width[i] = Math.max(SIZE, ...rows.map((row) => row.width)) + 2 * pad;
    this.height[i] = SIZE + LEVEL + rows.reduce((sum, row) => sum + row.height, 2 * GAP * (rows.length - 1)) + pad;
  }

  /* What a node includes: each open one with its tree, and the closed ones as a block. */
  parts(i) {
    const closed = this.children[i].filter((kid) => !this.isOpen(kid));
    const parts = this.children[i].filter((kid) => this.isOpen(kid)).map((kid) => (
      { kid, width: this.width[kid], height: this.height[kid] }
    ));
    if (closed.length) parts.push({ closed, ...blockSize(closed.length) });
    return parts;
  }

  spread(i, left, top) {
    const rows = this.rows.get(i);
    const up = this.parent[i];
    const packed = rows.length > 1 || (i !== this.forest && this.rows.get(up < 0 ? this.forest : up).length > 1);
    if (packed && i !== this.forest) this.frames.push(i);
    let y = top + SIZE + LEVEL;
    rows.forEach((row, at) => {
      let x = left + (this.width[i] - row.width) / 2;
      for (const part of row.parts) {
        if (part.closed) this.block(i, part, x, y);
        else {
          this.x[part.kid] = x + part.width / 2 - SIZE / 2;
          this.y[part.kid] = y;
        }
        if (at === 0 && i !== this.forest) this.links.push([i, x + part.width / 2, part.closed ? y - 6 : y]);
        x += part.width + 2 * GAP;
      }
      y += row.height + 2 * GAP;
    });
  }

  block(owner, { closed, width, height }, x, y) {
    const columns = columnsOf(closed.length);
    closed.forEach((i, at) => {
      this.x[i] = x + (at % columns) * (SIZE + GAP);
      this.y[i] = y + Math.floor(at / columns) * (SIZE + GAP);
    });
    this.blocks.push({ owner, x, y, width, height });
  }

  bound() {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const i of this.visible) {
      left = Math.min(left, this.x[i]);
      top = Math.min(top, this.y[i]);
      right = Math.max(right, this.x[i] + SIZE);
      bottom = Math.max(bottom, this.y[i] + SIZE);
    }
    this.box = this.visible.length ? { left, top, right, bottom } : { left: 0, top: 0, right: SIZE, bottom: SIZE };
  }

  at(x, y) {
    for (let place = this.visible.length - 1; place >= 0; place -= 1) {
      const i = this.visible[place];
      if (x >= this.x[i] && x <= this.x[i] + SIZE && y >= this.y[i] && y <= this.y[i] + SIZE) return i;
    }
    return -1;
  }
}

/* Parts {width, height} from the left, in a new row where one would get wider than all of them suggest. */
function inRows(parts) {
  const area = parts.reduce((sum, part) => sum + (part.width + 2 * GAP) * (part.height + 2 * GAP), 0);
  const most = Math.max(ROW, Math.sqrt(area * WIDE));
  const rows = [];
  for (const part of parts) {
    const row = rows.at(-1);
    if (row && row.width + 2 * GAP + part.width <= most) {
      row.parts.push(part);
      row.width += 2 * GAP + part.width;
      row.height = Math.max(row.height, part.height);
    } else rows.push({ parts: [part], width: part.width, height: part.height });
  }
  return rows;
}

const columnsOf = (number) => Math.min(number, Math.max(1, Math.ceil(Math.sqrt(number * WIDE))));

function blockSize(number) {
  const columns = columnsOf(number);
  return { width: columns * (SIZE + GAP) - GAP, height: Math.ceil(number / columns) * (SIZE + GAP) - GAP };
}
