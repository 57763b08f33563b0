/* Thumbnails of what is on screen, a few fetched at a time; what was not seen for long is let go. */
const FETCHES = 6;
const HELD = 900; // bitmaps of PIXELS²: 33 MB
const PIXELS = 96;

class Thumbs {
  constructor(urls, arrived) {
    this.urls = urls;
    this.arrived = arrived;
    this.bitmaps = new Map(); // position → bitmap, the longest unseen first
    this.failed = new Set();
    this.under = new Set();
    this.wanted = [];
  }

  get(i) {
    const bitmap = this.bitmaps.get(i);
    if (!bitmap) return null;
    this.bitmaps.delete(i);
    this.bitmaps.set(i, bitmap);
    return bitmap;
  }

  /* The positions that the last frame lacked; those of earlier frames are forgotten. */
  want(positions) {
    this.wanted = positions;
    this.proceed();
  }

  proceed() {
    while (this.under.size < FETCHES && this.wanted.length) {
      const i = this.wanted.shift();
      if (!this.bitmaps.has(i) && !this.failed.has(i) && !this.under.has(i)) this.fetch(i);
    }
  }

  async fetch(i) {
    this.under.add(i);
    try {
      const img = new Image();
      img.src = this.urls[i];
      await img.decode();
      this.keep(i, await cropped(img));
    } catch {
      this.failed.add(i);
    }
    this.under.delete(i);
    this.proceed();
    this.arrived();
  }

  keep(i, bitmap) {
    this.bitmaps.set(i, bitmap);
    for (const old of this.bitmaps.keys()) {
      if (this.bitmaps.size <= HELD) return;
      this.bitmaps.get(old).close();
      this.bitmaps.delete(old);
    }
  }

  stop() {
    this.wanted = [];
    for (const bitmap of this.bitmaps.values()) bitmap.close();
    this.bitmaps.clear();
  }
}

/* The middle square of an image, small. */
function cropped(img) {
  const side = Math.min(img.naturalWidth, img.naturalHeight);
  const [x, y] = [(img.naturalWidth - side) / 2, (img.naturalHeight - side) / 2];
  const small = { resizeWidth: PIXELS, resizeHeight: PIXELS, resizeQuality: "medium" };
  return createImageBitmap(img, x, y, side, side, small);
}
