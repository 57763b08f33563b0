/* The desk's line to the server: one report under way at a time, with all that is unacknowledged in it. */
const RESEND_MS = 1500;
const ASK_MS = 4000; // with nothing to show: is there something now?
const WATCH_MS = 1500; // while a round runs: how far is it?
const LOST_MS = 5000; // without a reply for so long, the server may have forgotten this page: ask for all of it anew
const RENEW_MS = 45000; // keeps the leases of someone who looks at one image for long
const SLEPT_MS = 60000; // a clock that stood still for so long was asleep

class Link {
  constructor(desk) {
    this.desk = desk;
    this.turn = 0;
    this.waiting = 0; // since when the server owes a reply; 0: nothing under way
    this.lastSent = 0;
    this.asks = []; // what is asked once and answered in words: {id, do, …}
    this.replies = new Map();
    this.count = 0;
    this.ticked = Date.now();
    this.onVisible = () => document.hidden || this.woke();
    document.addEventListener("visibilitychange", this.onVisible);
    document.addEventListener("resume", this.onVisible);
    this.timer = setInterval(() => this.tick(), 500);
  }

  stop() {
    document.removeEventListener("visibilitychange", this.onVisible);
    document.removeEventListener("resume", this.onVisible);
    clearInterval(this.timer);
  }

  get outbox() {
    return this.desk.outbox;
  }

  /* The server's word on what was sent. */
  heard(data, send) {
    this.send = send;
    if (data.turn >= this.oldest) this.waiting = 0;
    if (!this.waiting && this.desk.lasting) this.desk.trouble("");
    this.outbox.drop([...data.saved, ...data.refused.map((entry) => entry.key)]);
    const told = this.asks.filter((ask) => ask.id in data.told);
    this.asks = this.asks.filter((ask) => !(ask.id in data.told));
    told.forEach((ask) => this.replies.get(ask.id)?.(data.told[ask.id]));
    told.forEach((ask) => this.replies.delete(ask.id));
  }

  proceed() {
    if (this.outbox.events.length || this.asks.length || this.desk.doubt > this.turn) this.flush();
  }

  /* The least that the turn of a report from now on can be. */
  get next() {
    return Math.max(this.turn + 1, Date.now());
  }

  flush() {
    const now = performance.now();
    if (!this.send || (this.waiting && now - this.lastSent < RESEND_MS)) return;
    this.turn = this.next;
    if (!this.waiting) [this.waiting, this.oldest] = [now, this.turn];
    this.lastSent = now;
    this.send({ turn: this.turn, events: this.outbox.events.slice(0, 200), asks: this.asks });
  }

  /* Ask for something besides answers; `then` hears the reply, which has words only where it could not be done. */
  ask(what, then = (words) => words && this.desk.trouble(words, 8000)) {
    this.count += 1;
    const id = `${this.outbox.session}:a${this.count}`;
    this.asks.push({ id, ...what });
    this.replies.set(id, then);
    this.flush();
  }

  tick() {
    if (!this.outbox) return;
    const slept = Date.now() - this.ticked > SLEPT_MS;
    this.ticked = Date.now();
    if (slept) this.woke();
    const kept = this.outbox.events.length;
    const late = this.waiting && performance.now() - this.waiting > 2 * RESEND_MS;
    if (late && kept) {
      this.desk.trouble(`The server does not answer. ${count(kept, "answer")} kept here, to be sent again.`);
    } else if (!late && this.desk.lasting) this.desk.trouble("");
    if (this.waiting && performance.now() - Math.max(this.waiting, this.nudged ?? 0) > LOST_MS) this.nudge();
    if (!document.hidden && performance.now() - this.lastSent > this.patience) this.flush();
  }

  get patience() {
    if (this.outbox.events.length || this.asks.length) return RESEND_MS;
    if (this.desk.data.facts.round) return WATCH_MS;
    return this.desk.stage.card ? RENEW_MS : ASK_MS;
  }

  nudge() {
    this.nudged = performance.now();
    document.dispatchEvent(new Event("penumbra:rerun")); // heard by rerun.js, which stands outside the fragment
  }

  woke() {
    if (this.outbox) this.desk.wake();
  }
}
