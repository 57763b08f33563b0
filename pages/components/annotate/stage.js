/* The image on screen and the decoded ones behind it; `ready` says whether the person can see what they answer. */
const AT_ONCE = 3; // images under way: more would make the next one wait for later ones

class Stage {
  constructor(root) {
    this.frame = root.querySelector(".frame");
    this.wait = root.querySelector(".wait");
    this.domain = root.querySelector(".domain");
    const zoomed = root.querySelector(".zoomed");
    this.zoom = new Zoom(this.frame, (scale, full) => {
      zoomed.textContent = scale === 1 ? "" : `${scale.toFixed(1)}×${full ? " · full resolution" : ""}`;
    });
    this.loaded = new Map(); // item -> {img, decoded}
    this.wanted = []; // cards whose images are to be here, the next one first
    this.under = 0; // fetches under way
    this.card = null;
    this.since = 0; // when the image on screen was painted
  }

  get ready() {
    return this.card !== null && Boolean(this.loaded.get(this.card.item)?.decoded);
  }

  /* Load and decode what comes next, in its order; forget what left the queue. */
  prefetch(cards) {
    const items = new Set(cards.map((card) => card.item));
    for (const item of this.loaded.keys()) if (!items.has(item)) this.loaded.delete(item);
    this.wanted = cards;
    this.proceed();
  }

  proceed() {
    for (const card of this.wanted) {
      if (this.under >= AT_ONCE) return;
      this.load(card);
    }
  }

  load(card) {
    if (this.loaded.has(card.item)) return;
    const entry = { img: new Image(), decoded: false };
    entry.img.alt = "The image to answer";
    entry.img.draggable = false;
    this.loaded.set(card.item, entry);
    this.fetch(card, entry);
  }

  fetch(card, entry) {
    this.under += 1;
    entry.img.src = card.view;
    entry.img.decode().then(() => this.arrived(card, entry), () => this.failed(card, entry)).finally(() => {
      this.under -= 1;
      this.proceed();
    });
  }

  arrived(card, entry) {
    entry.decoded = true;
    if (this.card?.item === card.item) this.paint();
  }

  failed(card, entry) {
    if (this.loaded.get(card.item) !== entry) return;
    this.complain(card);
    setTimeout(() => this.retry(card, entry), 2000);
  }

  retry(card, entry) {
    if (this.loaded.get(card.item) !== entry || entry.decoded) return;
    entry.img.removeAttribute("src");
    this.fetch(card, entry);
  }

  complain(card) {
    if (this.card?.item !== card.item) return;
    this.wait.textContent = "This image cannot be fetched. Trying again; “later” sets it aside.";
    this.wait.hidden = false;
  }

  show(card) {
    this.card = card;
    this.domain.textContent = card ? card.note : "";
    this.zoom.show(card);
    if (!card) return this.clear();
    this.load(card);
    if (this.ready) return this.paint();
    this.frame.replaceChildren();
    this.wait.textContent = "Loading the image …";
    this.wait.hidden = false;
  }

  clear() {
    this.frame.replaceChildren();
    this.wait.textContent = "Looking for more images …";
    this.wait.hidden = false;
  }

  paint() {
    const { item } = this.card;
    this.wait.hidden = true;
    this.frame.replaceChildren(this.loaded.get(item).img);
    this.frame.dataset.item = item;
    this.since = performance.now();
    requestAnimationFrame(() => setTimeout(() => {
      if (this.card?.item === item) this.frame.dataset.painted = `${item}@${performance.now()}`;
    }));
  }
}
