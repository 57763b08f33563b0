/* The desk's outbox and line to the server, with pages of answers in them. */
const MOST_SENT = 600; // events in a report: ten pages, never a part of one

/* All keys of a batch share its session; batches sort by their time, so that what an earlier page of this browser left
   is sent in the order in which it was done. */
class Batches extends Outbox {
  constructor(scope) {
    super(scope);
    this.events = this.events.filter((event) => event.source === SOURCE); // the rest is the desk's to send
  }

  /* All of a batch is stored at once. */
  addAll(entries) {
    const chance = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(36)).join("");
    this.session = Date.now().toString(36) + chance;
    const made = entries.map((entry, i) => ({ key: `${this.session}:${i + 1}`, seq: i + 1, ...entry }));
    this.events.push(...made);
    this.store();
    return made.map((event) => event.key);
  }

  waitsForAny(keys) {
    const waiting = new Set(this.events.map((event) => event.key));
    return keys.some((key) => waiting.has(key));
  }
}

class PageLink extends Link {
  proceed() {
    const { wants, asked } = this.desk;
    if (wants && !asked) this.flush();
    else super.proceed();
  }

  get patience() {
    if (this.outbox.events.length || this.asks.length || this.waiting || this.desk.wants) return RESEND_MS;
    if (this.desk.data.facts.round) return WATCH_MS;
    return this.desk.tiles.length ? RENEW_MS : ASK_MS;
  }
}
