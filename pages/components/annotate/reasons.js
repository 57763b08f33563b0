/* Why this image, beyond the guesses: target images that an answer would sharpen, and the answered ones most like it.
   Fetched while the panel is open and the image stays, never ahead: no key waits for it. */
const STAYS_MS = 250; // keys faster than this ask for nothing
const SHARPENED = 5;
const ALIKE = 3;

class Reasons {
  constructor(root) {
    this.root = root;
    this.rows = { sharpens: root.querySelector(".sharpens"), nearest: root.querySelector(".nearest") };
    this.none = root.querySelector(".none");
  }

  /* Show an image's reasons, from `address`, once it has stayed for `ms`; without an address there are none to show. */
  show(address, ms) {
    this.stop();
    this.root.hidden = !address;
    this.draw(null);
    if (!address) return;
    const asked = new AbortController();
    this.asked = asked;
    this.soon = setTimeout(() => this.fetch(address, asked), ms);
  }

  stop() {
    clearTimeout(this.soon);
    this.asked?.abort();
  }

  async fetch(address, asked) {
    let found;
    try {
      const reply = await fetch(address, { signal: asked.signal });
      if (!reply.ok) throw new Error(reply.statusText);
      found = await reply.json();
    } catch {
      found = undefined;
    }
    if (!asked.signal.aborted) this.draw(found);
  }

  /* null: not there yet, undefined: cannot be had. The row's height stays the same. */
  draw(found) {
    const sharpens = found?.sharpens.map((each) => thumb(each.view, "A target image", shareOf(each.share, found.of)));
    const nearest = found?.nearest.map((each) => thumb(each.view, "", likeness(each), each.name));
    this.fill(this.rows.sharpens, sharpens, SHARPENED);
    this.fill(this.rows.nearest, nearest, ALIKE);
    this.root.setAttribute("aria-busy", String(found === null));
    this.none.textContent = found === undefined ? "Neither can be fetched now." : nearest?.length === 0 ? "No answer yet." : "";
    this.none.hidden = !this.none.textContent;
  }

  fill(row, thumbs, most) {
    const empty = Array.from({ length: most - (thumbs?.length ?? 0) }, () => element("figure"));
    row.replaceChildren(...(thumbs ?? []), ...empty);
  }
}

function thumb(view, alt, title, name) {
  const figure = element("figure");
  const img = element("img");
  img.alt = alt;
  img.draggable = false;
  img.src = view;
  figure.title = title;
  figure.append(img);
  if (name !== undefined) figure.append(element("figcaption", name));
  return figure;
}

const likeness = (each) => `${each.name}: cosine ${each.cosine.toFixed(3)} under the model's head as it is now`;
const shareOf = (share, of) =>
  `${(100 * share).toPrecision(2)} % of what an answer here tells about ${count(of, "target image")}`;
