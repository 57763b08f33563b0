/* Where the images are and how they look: arrays from the server, shapes and colours. Units: the map is a square of 1. */
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"]; // Okabe and Ito (2008)
const NONE = "#8C8C8C";
const RAMP = ["#9C9C9C", "#E69F00", "#D55E00"]; // little … much, read on light and dark
const LEVELS = 24; // steps of the ramp
const SHAPES = 5;

const bytesOf = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
const shortsOf = (text) => new Uint16Array(bytesOf(text).buffer);
const longsOf = (text) => new Uint32Array(bytesOf(text).buffer);

class Places {
  constructor(data) {
    this.x = Float32Array.from(shortsOf(data.x), (each) => each / 65535);
    this.y = Float32Array.from(shortsOf(data.y), (each) => each / 65535);
    this.ids = longsOf(data.ids);
  }

  get size() {
    return this.x.length;
  }

  /* Positions whose point lies inside a polygon, as the server counts them too. */
  inside(polygon) {
    const found = new Uint8Array(this.size);
    for (let i = 0; i < this.size; i += 1) found[i] = within(this.x[i], this.y[i], polygon);
    return found;
  }

  /* The image whose mark is nearest to a place, at most `reach` pixels away; the map is w by h pixels. */
  nearest([x, y], [w, h], reach) {
    let best = -1;
    let least = reach * reach;
    for (let i = 0; i < this.size; i += 1) {
      const square = (w * (this.x[i] - x)) ** 2 + (h * (this.y[i] - y)) ** 2;
      if (square < least) [best, least] = [i, square];
    }
    return best;
  }
}

function within(x, y, polygon) {
  let odd = 0;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [ax, ay] = polygon[i];
    const [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd ^= 1;
  }
  return odd;
}

/* A mark's colour and shape: of a category by its number, of a scale by its step; -1 is what has none. */
function look(mark, scale) {
  if (mark < 0) return { colour: NONE, shape: 0 };
  if (scale) return { colour: ramp(mark / (LEVELS - 1)), shape: 0 };
  return { colour: COLOURS[mark % COLOURS.length], shape: Math.floor(mark / COLOURS.length) % SHAPES };
}

function ramp(share) {
  const place = Math.min(0.9999, Math.max(0, share)) * (RAMP.length - 1);
  const [from, to] = [RAMP[Math.floor(place)], RAMP[Math.floor(place) + 1]].map(rgb);
  const part = place % 1;
  return `rgb(${from.map((each, i) => Math.round(each + part * (to[i] - each))).join(",")})`;
}

const rgb = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));

/* Adds one mark to the current path: circle, square, triangle, diamond, cross. */
function mark(context, x, y, r, shape) {
  if (shape === 0) {
    context.moveTo(x + r, y);
    context.arc(x, y, r, 0, 2 * Math.PI);
  } else if (shape === 1) context.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r);
  else if (shape === 2) outline(context, [[x, y - 1.2 * r], [x + 1.1 * r, y + 0.8 * r], [x - 1.1 * r, y + 0.8 * r]]);
  else if (shape === 3) outline(context, [[x, y - 1.25 * r], [x + 1.25 * r, y], [x, y + 1.25 * r], [x - 1.25 * r, y]]);
  else {
    context.rect(x - 1.1 * r, y - 0.4 * r, 2.2 * r, 0.8 * r);
    context.rect(x - 0.4 * r, y - 1.1 * r, 0.8 * r, 2.2 * r);
  }
}

function outline(context, corners) {
  corners.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}
