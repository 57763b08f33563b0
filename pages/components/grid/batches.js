/* The desk's outbox, with pages of answers in it. All keys of a batch share its session; batches sort by their time,
   so that what an earlier page left is sent in the order in which it was done. */
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
