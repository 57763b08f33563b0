/* Events wait here until the server has them in its database: in memory, and in localStorage, so that neither a
   reload nor a crash of browser or server loses one. The server stores each key once, so sending twice is safe. */
class Outbox {
  constructor(scope) {
    this.prefix = `penumbra:outbox:${scope}:`;
    this.session = Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36)).join("");
    this.seq = 0;
    this.events = this.orphans();
  }

  /* What earlier pages of this browser left unacknowledged; every event keeps its own key. */
  orphans() {
    const slots = Object.keys(localStorage).filter((name) => name.startsWith(this.prefix)).sort();
    return slots.flatMap((name) => read(name));
  }

  add(event) {
    this.seq += 1;
    const entry = { key: `${this.session}:${this.seq}`, seq: this.seq, ...event };
    this.events.push(entry);
    this.store();
    return entry;
  }

  /* Forget what the server has (or refuses), here and in the slots it was kept in. */
  drop(keys) {
    const known = new Set(keys);
    if (!this.events.some((event) => known.has(event.key))) return;
    const sessions = new Set(keys.map((key) => key.split(":")[0]));
    this.events = this.events.filter((event) => !known.has(event.key));
    for (const session of sessions) {
      const name = this.prefix + session;
      write(name, read(name).filter((event) => !known.has(event.key)));
    }
  }

  /* Whether an answer on this image is on its way. */
  holds(item) {
    return this.events.some((event) => event.item === item && event.kind !== "flag");
  }

  waits(key) {
    return this.events.some((event) => event.key === key);
  }

  /* Items that another tab of this person has just answered, as its slot tells. */
  answeredElsewhere({ key, newValue }) {
    if (!key?.startsWith(this.prefix) || key === this.prefix + this.session || !newValue) return [];
    const last = new Map(read(key).filter((event) => event.kind !== "flag").map((event) => [event.item, event.kind]));
    return [...last.keys()].filter((item) => last.get(item) !== "undo" && !this.holds(item));
  }

  store() {
    write(this.prefix + this.session, this.events.filter((event) => event.key.startsWith(`${this.session}:`)));
  }
}

function read(name) {
  try {
    const events = JSON.parse(localStorage.getItem(name));
    return Array.isArray(events) ? events.filter((event) => typeof event?.key === "string") : [];
  } catch {
    return [];
  }
}

function write(name, events) {
  try {
    if (events.length) localStorage.setItem(name, JSON.stringify(events));
    else localStorage.removeItem(name);
  } catch {
    /* storage is full or forbidden: memory still holds them, and they are being sent */
  }
}
