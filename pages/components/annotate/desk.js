/* The labelling desk. A key answers the image on screen at once; the answer goes to the outbox, then to the server,
   and counts as saved only when the server says so. `update` takes the server's word; everything else is local. */
const BUTTONS = 40; // classes beyond these are reached by the finder
const HEED_MS = 700; // letters right after one that set the image aside belong to a word meant for that image

class Desk {
  constructor(host) {
    this.host = host;
    this.pick = (selector) => host.querySelector(selector);
    this.stage = new Stage(host);
    this.link = new Link(this);
    this.upcoming = [];
    this.answered = []; // {card, key, kind, name}: what undo takes back, latest last
    this.elsewhere = new Map(); // item -> when another tab of this person answered it
    this.doubt = null; // the turn whose reply says whether the image on screen is still this person's
    this.seen = false;
    this.deaf = 0; // until when letters open no finder
    this.listen();
  }

  get item() {
    return this.stage.card?.item;
  }

  /* ---- from the server ---- */

  update(data, send) {
    const moved = this.data && this.data.place !== data.place;
    const fresh = this.scope !== data.scope;
    this.data = data;
    this.keys = new Keys(data.keys);
    this.offered = Object.keys(data.keys.acts).filter((act) => !data.without.includes(act));
    if (fresh) this.enter(data);
    this.link.heard(data, send);
    data.refused.forEach((entry) => this.trouble(`Not saved: ${entry.reason}`, 8000));
    if (moved) {
      this.doubt = 0;
      document.activeElement?.blur?.(); // out of the header's fields: keys are the desk's again
    }
    this.refill(data.cards);
    this.drawAll();
    this.link.proceed();
  }

  enter(data) {
    this.scope = data.scope;
    this.outbox = new Outbox(data.scope);
    this.answered = recall(this.memory);
    this.flagged = this.outbox.events.findLast((event) => event.kind === "flag");
    this.stage.show(null);
  }

  get memory() {
    return `penumbra:answered:${this.scope}`;
  }

  /* The server's order for what comes next; never an image whose answer is on its way, and the one on screen stays. */
  refill(cards) {
    const mine = cards.filter((card) => !this.outbox.holds(card.item) && !this.isElsewhere(card.item));
    if (this.doubt !== null && this.data.turn >= this.doubt && !this.outbox.events.length) {
      this.doubt = null;
      if (!mine.some((card) => card.item === this.item)) this.stage.show(null);
    }
    this.upcoming = mine.filter((card) => card.item !== this.item);
    if (!this.stage.card) this.next();
    else this.prefetch();
  }

  isElsewhere(item) {
    return performance.now() - (this.elsewhere.get(item) ?? -Infinity) < LOST_MS;
  }

  /* Another tab of this person answered these. */
  drop(items) {
    items.forEach((item) => this.elsewhere.set(item, performance.now()));
    this.upcoming = this.upcoming.filter((card) => !items.includes(card.item));
    if (items.includes(this.item)) this.next();
  }

  /* After sleep the leases may be over: what is on screen may be another person's by now. */
  wake() {
    this.doubt = this.link.next;
    this.link.flush();
  }

  /* ---- what a person does ---- */

  answer(entry) {
    if (this.stage.ready) this.commit("answer", { class: entry.id }, entry.name);
  }

  aside(kind) {
    if (this.stage.card) this.commit(kind, { class: null }, kind);
  }

  commit(kind, fields, name) {
    if (this.overlay) return;
    const card = this.stage.card;
    const lead = this.stage.ready ? Math.round(performance.now() - this.stage.since) : null;
    const event = this.outbox.add({ item: card.item, kind, ...fields, ...this.context(card), lead_ms: lead });
    this.answered.push({ card, key: event.key, kind, name });
    this.remember();
    this.next();
    this.drawSaved();
    this.link.flush();
  }

  /* What the person was shown when they answered. */
  context(card) {
    const guess = card.guesses[0];
    return {
      seen: this.seen, round: card.round, source: card.source,
      guess: guess ? guess.class : null, guess_probability: guess ? guess.p : null,
    };
  }

  undo() {
    const last = this.answered.pop();
    if (!last) return;
    const current = this.stage.card;
    if (current) this.upcoming.unshift(current);
    const fields = { class: null, ...this.context(last.card), lead_ms: null };
    this.outbox.add({ item: last.card.item, kind: "undo", ...fields });
    this.remember();
    this.elsewhere.delete(last.card.item);
    this.upcoming = this.upcoming.filter((card) => card.item !== last.card.item);
    this.upcoming.unshift(last.card);
    this.next();
    this.drawSaved();
    this.link.flush();
  }

  flag(card, note) {
    this.flagged = this.outbox.add({ item: card.item, kind: "flag", note });
    this.drawFlagged();
    this.link.flush();
  }

  remember() {
    this.answered = this.answered.slice(-50);
    try {
      sessionStorage.setItem(this.memory, JSON.stringify(this.answered));
    } catch {
      /* undo then reaches back to this page's load only */
    }
  }

  next() {
    const card = this.upcoming.shift() ?? null;
    this.seen = card !== null && !this.pick(".why").hidden;
    this.stage.show(card);
    this.prefetch();
    this.drawCard();
    this.explain(STAYS_MS);
    this.drawEnd();
  }

  /* Only an open panel asks why, and a closed one keeps nothing. */
  explain(ms) {
    const card = this.pick(".why").hidden ? null : this.stage.card;
    this.reasons.show(card?.why, ms);
  }

  prefetch() {
    const current = this.stage.card ? [this.stage.card] : [];
    const last = this.answered.slice(-1).map((entry) => entry.card); // undo shows it at once
    this.stage.prefetch([...current, ...this.upcoming, ...last]);
  }

  toggleWhy() {
    const why = this.pick(".why");
    why.hidden = !why.hidden;
    this.seen = this.seen || (!why.hidden && this.stage.card !== null);
    this.pick("[data-act=why]").setAttribute("aria-expanded", String(!why.hidden));
    this.drawWhy();
    this.explain(0);
  }

  act(name) {
    const acts = {
      later: () => this.aside("later"), unusable: () => this.aside("unusable"),
      flag: () => this.flagging.open(), undo: () => this.undo(), why: () => this.toggleWhy(),
      grid: () => this.link.ask({ do: "grid" }), help: () => this.show(this.overlay ? null : "help"),
    };
    if (this.offered.includes(name) && (!this.overlay || name === "help")) acts[name]();
  }

  /* One of the dialogs of the desk, or none: while one is open, keys are its own. */
  show(name) {
    this.overlay = name;
    this.host.querySelectorAll(".overlay").forEach((each) => { each.hidden = !each.classList.contains(name ?? "none"); });
    if (name === null) this.host.querySelectorAll(".overlay input").forEach((input) => input.blur());
    this.settings.draw();
  }

  /* ---- keys ---- */

  listen() {
    this.onKey = (event) => this.key(event);
    this.onStorage = (event) => this.outbox && this.drop(this.outbox.answeredElsewhere(event));
    document.addEventListener("keydown", this.onKey);
    window.addEventListener("storage", this.onStorage);
    this.host.querySelectorAll("[data-act]").forEach((button) => onPress(button, () => this.act(button.dataset.act)));
    onPress(this.pick(".retrain"), () => this.link.ask({ do: "round" }));
    this.reasons = new Reasons(this.pick(".reasons"));
    this.finder = new Finder(this.pick(".finder"), this);
    this.flagging = new Flagging(this.pick(".flagging"), this);
    this.settings = new Settings(this.host, this);
  }

  stop() {
    document.removeEventListener("keydown", this.onKey);
    window.removeEventListener("storage", this.onStorage);
    this.link.stop();
    this.reasons.stop();
    this.stage.show(null);
  }

  key(event) {
    if (!this.data || isForeign(event)) return;
    if (this.overlay === "settings") return this.settings.key(event);
    const meant = this.overlay ? this.inHelp(event) : this.keys.read(event);
    const does = meant && this.doing(meant);
    if (!does) return;
    event.preventDefault();
    does();
  }

  inHelp(event) {
    const meant = this.keys.read(event);
    return event.key === "Escape" || meant?.act === "help" ? { act: "help" } : undefined;
  }

  doing({ answers, act, finds }) {
    if (answers !== undefined) {
      const entry = this.data.classes.find((each) => each.id === answers);
      return entry && (() => this.answer(entry));
    }
    if (act) return () => this.byKey(act);
    return () => this.find(finds);
  }

  byKey(act) {
    if (this.keys.typing && ["later", "unusable"].includes(act)) this.deaf = performance.now() + HEED_MS;
    this.act(act);
  }

  /* “Spoon” typed with its capital sets an image aside; what follows must not answer the next one. */
  find(text) {
    if (text && performance.now() < this.deaf) {
      this.deaf = performance.now() + HEED_MS;
      this.trouble(`Letters right after ${printed(this.keys.acts.later)} or ${printed(this.keys.acts.unusable)} are not read: press / first.`, 4000);
      return;
    }
    this.finder.open(text);
  }
}
