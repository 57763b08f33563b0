/* The labelling desk. A key answers the image on screen at once; the answer goes to the outbox, then to the server,
   and counts as saved only when the server says so. `update` takes the server's word; everything else is local. */
const DIGITS = "1234567890";
const BUTTONS = 40; // classes beyond these are reached by search
const RESEND_MS = 1500;
const ASK_MS = 4000; // with nothing to show: is there something now?
const LOST_MS = 5000; // without a reply for so long, the server may have forgotten this page: ask for all of it anew
const RENEW_MS = 45000; // keeps the leases of someone who looks at one image for long

class Desk {
  constructor(host) {
    this.host = host;
    this.pick = (selector) => host.querySelector(selector);
    this.stage = new Stage(host);
    this.upcoming = [];
    this.answered = []; // {card, key, kind, name}: what `z` takes back, latest last
    this.turn = 0;
    this.waiting = 0; // since when the server owes a reply; 0: nothing under way
    this.lastSent = 0;
    this.seen = false;
    this.listen();
  }

  /* ---- from the server ---- */

  update(data, send) {
    const fresh = this.scope !== data.scope;
    this.data = data;
    this.send = send;
    if (fresh) this.enter(data);
    if (data.turn >= this.oldest) this.waiting = 0;
    if (!this.waiting && this.lasting) this.trouble("");
    this.outbox.drop([...data.saved, ...data.refused.map((entry) => entry.key)]);
    data.refused.forEach((entry) => this.trouble(`Not saved: ${entry.reason}`, 8000));
    this.refill(data.cards);
    this.drawFacts();
    this.drawSaved();
    this.drawEnd();
    if (this.outbox.events.length) this.flush();
  }

  enter(data) {
    this.scope = data.scope;
    this.outbox = new Outbox(data.scope);
    this.answered = recall(this.memory);
    this.stage.show(null);
    this.drawClasses();
  }

  get memory() {
    return `penumbra:answered:${this.scope}`;
  }

  /* The server's order for what comes next; never the image on screen, never one whose answer is on its way. */
  refill(cards) {
    const current = this.stage.card?.item;
    this.upcoming = cards.filter((card) => card.item !== current && !this.outbox.holds(card.item));
    if (!this.stage.card) this.next();
    else this.prefetch();
  }

  /* ---- to the server: one report under way at a time, all that is unacknowledged in it ---- */

  flush() {
    const now = performance.now();
    if (this.waiting && now - this.lastSent < RESEND_MS) return;
    this.turn = Math.max(this.turn + 1, Date.now());
    if (!this.waiting) [this.waiting, this.oldest] = [now, this.turn];
    this.lastSent = now;
    this.send({ turn: this.turn, events: this.outbox.events.slice(0, 200) });
  }

  tick() {
    if (!this.outbox) return;
    const late = this.waiting && performance.now() - this.waiting > 2 * RESEND_MS;
    if (late && this.outbox.events.length) {
      this.trouble(`The server does not answer. ${count(this.outbox.events.length, "answer")} kept here, to be sent again.`);
    } else if (!late && this.lasting) this.trouble("");
    if (this.waiting && performance.now() - Math.max(this.waiting, this.nudged ?? 0) > LOST_MS) this.nudge();
    const patience = this.outbox.events.length ? RESEND_MS : this.stage.card ? RENEW_MS : ASK_MS;
    if (!document.hidden && performance.now() - this.lastSent > patience) this.flush();
  }

  nudge() {
    this.nudged = performance.now();
    document.dispatchEvent(new Event("penumbra:rerun")); // heard by rerun.js, which stands outside the fragment
  }

  /* ---- what a person does ---- */

  answer(entry) {
    if (!this.stage.ready) return;
    this.commit("answer", { class: entry.id }, entry.name);
  }

  skip() {
    if (this.stage.card) this.commit("skip", { class: null }, "set aside");
  }

  commit(kind, fields, name) {
    const card = this.stage.card;
    const lead = this.stage.ready ? Math.round(performance.now() - this.stage.since) : null;
    const event = this.outbox.add({ item: card.item, kind, ...fields, ...this.context(card), lead_ms: lead });
    this.answered.push({ card, key: event.key, kind, name });
    this.remember();
    this.next();
    this.drawSaved();
    this.flush();
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
    this.upcoming = this.upcoming.filter((card) => card.item !== last.card.item);
    this.upcoming.unshift(last.card);
    this.next();
    this.drawSaved();
    this.flush();
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
    this.drawWhy();
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

  toggleHelp() {
    this.pick(".help").hidden = !this.pick(".help").hidden;
  }

  act(name) {
    const acts = { skip: "skip", undo: "undo", why: "toggleWhy", help: "toggleHelp" };
    this[acts[name]]();
  }

  /* ---- keys: none from fields, repeats, compositions or combinations ---- */

  listen() {
    this.onKey = (event) => this.key(event);
    this.onVisible = () => document.hidden || !this.outbox || this.flush();
    document.addEventListener("keydown", this.onKey);
    document.addEventListener("visibilitychange", this.onVisible);
    this.timer = setInterval(() => this.tick(), 500);
    this.host.querySelectorAll("[data-act]").forEach((button) => onPress(button, () => this.act(button.dataset.act)));
    this.reasons = new Reasons(this.pick(".reasons"));
    this.search = new Search(this.pick(".search"), (entry) => this.answer(entry));
  }

  stop() {
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("visibilitychange", this.onVisible);
    clearInterval(this.timer);
    this.reasons.stop();
  }

  key(event) {
    if (!this.data || event.repeat || event.isComposing || event.defaultPrevented) return;
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || dialogIsOpen()) return;
    const act = this.actOf(event);
    if (!act) return;
    event.preventDefault();
    act();
  }

  actOf(event) {
    const entry = this.data.classes[DIGITS.indexOf(digitOf(event))];
    if (entry) return () => this.answer(entry);
    if (event.key === "/") return () => this.search.focus();
    if (event.key === "Escape" && !this.pick(".help").hidden) return () => this.toggleHelp();
    const acts = { s: "skip", z: "undo", w: "why", h: "help" };
    const name = event.shiftKey ? null : acts[event.key];
    return name && (() => this.act(name));
  }
}
