/* One frame: blocks and lines, then the nodes that are in view. */
const SEEN = 20; // pixels from which a node shows its thumbnail
const SHADES = [[166, 213, 245], [86, 180, 233], [10, 92, 158]]; // as Σσ² has everywhere
const PILL = 18;

class Painter {
  constructor(layout, data) {
    this.layout = layout;
    const values = data.uncertainty;
    const low = values.reduce((a, b) => Math.min(a, b), Infinity);
    const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    this.shade = values.map((value) => shadeOf(high > low ? (value - low) / (high - low) : 0.5));
    [this.low, this.high] = [low, high];
  }

  /* Draws what `view` {scale, x, y, width, height} shows; gives the positions whose thumbnails are missing. */
  draw(context, view, thumbs, looks, marked) {
    const area = { left: -view.x / view.scale, top: -view.y / view.scale };
    area.right = area.left + view.width / view.scale;
    area.bottom = area.top + view.height / view.scale;
    context.save();
    context.translate(view.x, view.y);
    context.scale(view.scale, view.scale);
    this.lines(context, area, view, looks, marked);
    const missing = this.nodes(context, area, view, thumbs, looks, marked);
    context.restore();
    return missing;
  }

  lines(context, area, view, looks, marked) {
    const { layout } = this;
    context.lineWidth = Math.max(1.5, 1 / view.scale);
    context.strokeStyle = looks.line;
    context.fillStyle = looks.block;
    context.beginPath();
    for (const block of layout.blocks) {
      const [x, y, width, height] = [block.x - 6, block.y - 6, block.width + 12, block.height + 12];
      if (x > area.right || x + width < area.left || y > area.bottom || y + height < area.top) continue;
      context.fillRect(x, y, width, height);
    }
    for (const [parent, x, y] of layout.links) this.line(context, area, parent, x, y);
    context.stroke();
    this.frames(context, area, view);
    this.way(context, area, view, looks, marked);
  }

  frames(context, area, view) {
    const { layout } = this;
    context.lineWidth = 1 / view.scale;
    for (const i of layout.frames) {
      const [width, height] = [layout.width[i] + 8, layout.height[i] + 8];
      const [x, y] = [layout.x[i] + SIZE / 2 - width / 2, layout.y[i] - 4];
      if (x > area.right || x + width < area.left || y > area.bottom || y + height < area.top) continue;
      context.strokeRect(x, y, width, height);
    }
  }

  /* From a parent's foot to a point above its children. */
  line(context, area, parent, x, y) {
    if (parent < 0 || parent === this.layout.forest) return;
    const [fromX, fromY] = [this.layout.x[parent] + SIZE / 2, this.layout.y[parent] + SIZE];
    if (Math.max(x, fromX) < area.left || Math.min(x, fromX) > area.right) return;
    if (y < area.top || fromY > area.bottom) return;
    const bend = Math.min(LEVEL, y - fromY) / 2;
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(fromX, fromY + bend, x, y - bend, x, y);
  }

  way(context, area, view, looks, marked) {
    const { layout } = this;
    context.beginPath();
    for (let i = marked; i >= 0 && layout.parent[i] >= 0; i = layout.parent[i]) {
      this.line(context, area, layout.parent[i], layout.x[i] + SIZE / 2, layout.y[i]);
    }
    context.strokeStyle = looks.accent;
    context.lineWidth = Math.max(2.5, 1.5 / view.scale);
    context.stroke();
  }

  nodes(context, area, view, thumbs, looks, marked) {
    const { layout } = this;
    const large = SIZE * view.scale >= SEEN;
    const missing = [];
    for (const i of layout.visible) {
      const [x, y] = [layout.x[i], layout.y[i]];
      if (x > area.right || x + SIZE < area.left || y > area.bottom || y + SIZE < area.top) continue;
      context.fillStyle = this.shade[i];
      context.fillRect(x, y, SIZE, SIZE);
      if (large) {
        const bitmap = thumbs.get(i);
        if (bitmap) context.drawImage(bitmap, x + 4, y + 4, SIZE - 8, SIZE - 8);
        else missing.push(i);
        if (layout.children[i].length) this.pill(context, i, looks);
      }
      if (i === marked) outline(context, x, y, view, looks);
    }
    return missing;
  }

  pill(context, i, looks) {
    const text = this.layout.isOpen(i) ? "−" : `+${this.layout.below[i].toLocaleString("en-US")}`;
    context.font = `600 12px ${looks.font}`;
    const width = Math.max(PILL, context.measureText(text).width + 10);
    const [x, y] = [this.layout.x[i] + SIZE / 2 - width / 2, this.layout.y[i] + SIZE - PILL / 2];
    context.fillStyle = looks.background;
    context.strokeStyle = looks.text;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(x, y, width, PILL, PILL / 2);
    context.fill();
    context.stroke();
    context.fillStyle = looks.text;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, x + width / 2, y + PILL / 2 + 0.5);
  }

  /* The node whose pill is at a point, or −1: pills hang out of their nodes by half. */
  pillAt(x, y, scale) {
    if (SIZE * scale < SEEN) return -1;
    const { layout } = this;
    return layout.visible.find((i) => layout.children[i].length > 0
      && Math.abs(x - layout.x[i] - SIZE / 2) <= 20 && Math.abs(y - layout.y[i] - SIZE) <= PILL / 2 + 1) ?? -1;
  }
}

function outline(context, x, y, view, looks) {
  context.strokeStyle = looks.accent;
  context.lineWidth = Math.max(3, 2 / view.scale);
  context.strokeRect(x - 2, y - 2, SIZE + 4, SIZE + 4);
}

function shadeOf(share) {
  const place = share * 2;
  const [from, to] = place < 1 ? [SHADES[0], SHADES[1]] : [SHADES[1], SHADES[2]];
  const part = place < 1 ? place : place - 1;
  return `rgb(${from.map((value, at) => Math.round(value + part * (to[at] - value))).join(" ")})`;
}
