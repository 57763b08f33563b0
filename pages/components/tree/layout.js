/* Where each image of a forest lies. Siblings that are closed or have nothing below them lie in one block of rows, so
   that thousands stay on a few screens; those that are open stand beside it, each above what it includes. */
const SIZE = 64; // of a node, in units of the drawing
const GAP = 12;
const LEVEL = 58; // between a node and what it includes
const WIDE = 1.9; // a block is about so much wider than high

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
    this.visible = []; // positions, each after its parent
    this.blocks = []; // {owner, x, y, width, height} of closed siblings
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
    for (let at = this.visible.length - 1; at >= 0; at -= 1) this.measure(this.visible[at]);
    this.measure(n);
    this.blocks = [];
    this.spread(n, 0, -LEVEL - SIZE);
    for (const i of this.visible) if (this.isOpen(i)) this.spread(i, this.x[i] + SIZE / 2 - this.width[i] / 2, this.y[i]);
    this.bound();
  }

  /* Width of a node with all that is shown below it. */
  measure(i) {
    this.width[i] = this.isOpen(i) ? Math.max(SIZE, this.rowWidth(i)) : SIZE;
  }

  rowWidth(i) {
    const open = this.children[i].filter((kid) => this.isOpen(kid));
    const closed = this.children[i].length - open.length;
    const parts = open.map((kid) => this.width[kid]);
    if (closed) parts.push(blockWidth(closed));
    return parts.reduce((sum, width) => sum + width, 0) + 2 * GAP * Math.max(0, parts.length - 1);
  }

  spread(i, left, top) {
    let x = left + (this.width[i] - this.rowWidth(i)) / 2;
    const y = top + SIZE + LEVEL;
    const closed = [];
    for (const kid of this.children[i]) {
      if (!this.isOpen(kid)) {
        closed.push(kid);
        continue;
      }
      this.x[kid] = x + this.width[kid] / 2 - SIZE / 2;
      this.y[kid] = y;
      x += this.width[kid] + 2 * GAP;
    }
    if (closed.length) this.block(i, closed, x, y);
  }

  block(owner, members, x, y) {
    const columns = columnsOf(members.length);
    members.forEach((i, at) => {
      this.x[i] = x + (at % columns) * (SIZE + GAP);
      this.y[i] = y + Math.floor(at / columns) * (SIZE + GAP);
    });
    const rows = Math.ceil(members.length / columns);
    this.blocks.push({ owner, x, y, width: blockWidth(members.length), height: rows * (SIZE + GAP) - GAP });
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

const columnsOf = (number) => Math.min(number, Math.max(1, Math.ceil(Math.sqrt(number * WIDE))));
const blockWidth = (number) => columnsOf(number) * (SIZE + GAP) - GAP;
