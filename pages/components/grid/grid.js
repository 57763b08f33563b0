/* Sixty images that look alike, confirmed at once. What is confirmed goes to the outbox, then to the server, and counts
   as saved only when the server says so. The server says which images are held for this person; they stay where they
   are until the page is confirmed or left. */
const SOURCE = "grid";
const RESEND_MS = 1500;
const ASK_MS = 4000; // with nothing to show: is there something now?
const LOST_MS = 5000; // without a reply for so long, the server may have forgotten this page: ask for all of it anew
const RENEW_MS = 45000; // keeps the leases of someone who looks for long
const LOOK_MS = 400; // between the last tile painted and the first Enter that counts: nobody confirms an unseen page
const UNDOS = 20;

class Grid {
  constructor(host) {
    this.host = host;
    this.pick = (selector) => host.querySelector(selector);
    this.tiles = []; // as the server gave them
    this.marks = new Map(); // item -> another class's id, or null: left open
    this.loaded = new Set();
    this.failed = new Set();
    this.seen = new Set();
    this.ahead = []; // addresses of images that may come next
    this.at = 0;
    this.turn = 0;
    this.since = 0; // the turn from which the server knows this screen
    this.waiting = 0; // since when the server owes a reply; 0: nothing under way
    this.lastSent = 0;
    this.listen();
  }

  /* ---- from the server ---- */

  update(data, send) {
    this.data = data;
    this.send = send;
    if (this.scope !== data.scope) this.enter(data);
    if (data.turn >= this.oldest) this.waiting = 0;
    if (!this.waiting && this.lasting) this.trouble("");
    this.outbox.drop([...data.saved, ...data.refused.map((entry) => entry.key)]);
    if (data.refused.length) this.trouble(`Not saved, ${count(data.refused.length, "answer")}: ${data.refused[0].reason}`, 8000);
    if (this.wants) this.take(data);
    else if (data.turn >= this.since) this.keepHeld(data);
    this.drawPiles();
    this.drawFacts();
    this.drawSaved();
    this.drawEnd();
    this.drawButton();
    if (this.outbox.events.length || (this.wants && !this.asked)) this.flush();
  }

  enter(data) {
    this.scope = data.scope;
    this.outbox = new Batches(data.scope);
    const kept = recall(this.memory);
    this.passed = kept.passed ?? {};
    this.batches = kept.batches ?? [];
    this.pile = data.pile;
    this.as = kept.pile === data.pile ? kept.as ?? null : null;
    this.ahead = data.ahead;
    this.lay(data.tiles.filter((tile) => !this.left.includes(tile.item)), new Map(kept.pile === data.pile ? kept.marks : []));
    this.since = data.turn;
    this.drawKeyed();
  }

  get memory() {
    return `penumbra:grid:${this.scope}`;
  }

  /* Items of this pile that the person left open on earlier pages. */
  get left() {
    return this.passed[this.pile] ?? [];
  }

  /* The page that was asked for; a reply to an older question is not it. */
  take(data) {
    if (!this.asked || data.turn < this.asked || !data.fresh) return;
    this.wants = false;
    this.since = data.turn;
    this.pile = data.pile;
    this.ahead = data.ahead;
    this.lay(data.tiles, new Map());
  }

  /* What was answered elsewhere, or taken over after a sleep, leaves the screen. */
  keepHeld(data) {
    const held = new Set(data.tiles.map((tile) => tile.item));
    const gone = this.tiles.filter((tile) => !held.has(tile.item));
    if (!gone.length && (this.tiles.length || !data.tiles.length)) return;
    if (!this.tiles.length) return void this.lay(data.tiles.filter((tile) => !this.left.includes(tile.item)), new Map());
    this.trouble(`${count(gone.length, "image")} of this page answered elsewhere, or with others by now`, 8000);
    this.lay(this.tiles.filter((tile) => held.has(tile.item)), this.marks);
    if (!this.tiles.length) this.turnPage();
  }

  lay(tiles, marks) {
    const items = new Set(tiles.map((tile) => tile.item));
    this.tiles = tiles;
    this.marks = new Map([...marks].filter(([item]) => items.has(item)));
    for (const set of [this.loaded, this.failed, this.seen]) for (const item of set) if (!items.has(item)) set.delete(item);
    this.at = Math.max(0, Math.min(this.at, tiles.length - 1));
    this.begun = performance.now();
    this.drawTiles();
    this.settle();
  }

  /* ---- to the server: one report under way at a time, all that is unacknowledged in it ---- */

  flush() {
    const now = performance.now();
    if (this.waiting && now - this.lastSent < RESEND_MS) return;
    this.turn = Math.max(this.turn + 1, Date.now());
    if (!this.waiting) [this.waiting, this.oldest] = [now, this.turn];
    if (this.wants) this.asked ||= this.turn;
    this.lastSent = now;
    const screen = this.wants ? [] : this.tiles.map((tile) => tile.item);
    const events = this.outbox.events.slice(0, 600);
    this.send({ turn: this.turn, events, pile: this.pile, passed: this.left, screen });
  }

  tick() {
    if (!this.outbox) return;
    const late = this.waiting && performance.now() - this.waiting > 2 * RESEND_MS;
    if (late && this.outbox.events.length) {
      this.trouble(`The server does not answer. ${count(this.outbox.events.length, "answer")} kept here, to be sent again.`);
    } else if (late && this.wants) this.trouble("The server does not answer. It is asked again.");
    else if (!late && this.lasting) this.trouble("");
    if (this.waiting && performance.now() - Math.max(this.waiting, this.nudged ?? 0) > LOST_MS) this.nudge();
    const owed = this.outbox.events.length || this.wants || this.waiting;
    const patience = owed ? RESEND_MS : this.tiles.length ? RENEW_MS : ASK_MS;
    if (!document.hidden && performance.now() - this.lastSent > patience) this.flush();
  }

  nudge() {
    this.nudged = performance.now();
    document.dispatchEvent(new Event("penumbra:rerun")); // heard by rerun.js, which stands outside the fragment
  }

  /* ---- what a person does ---- */

  /* The class that Enter confirms: the pile's, or the one chosen for a cluster; null: none yet. */
  get confirms() {
    const pile = this.data.piles.find((each) => each.key === this.pile);
    return pile?.class ?? this.as;
  }

  classOf(tile) {
    return this.marks.has(tile.item) ? this.marks.get(tile.item) : this.failed.has(tile.item) ? null : this.confirms;
  }

  /* Every image is painted and was in sight, long enough to be looked at. */
  get ready() {
    return !this.wants && this.tiles.length > 0 && this.settled;
  }

  confirm() {
    if (!this.ready) return;
    const rest = this.tiles.some((tile) => !this.marks.has(tile.item) && !this.failed.has(tile.item));
    if (rest && this.confirms === null) return void this.names.cluster.focus();
    const unseen = this.tiles.find((tile) => !this.seen.has(tile.item));
    if (unseen) return void this.tileOf(unseen.item).scrollIntoView({ block: "start" });
    const answered = this.tiles.filter((tile) => this.classOf(tile) !== null);
    const lead = Math.round((performance.now() - this.begun) / Math.max(1, answered.length));
    const keys = this.outbox.addAll(answered.map((tile) => (
      { item: tile.item, kind: "answer", class: this.classOf(tile), ...this.context(tile), lead_ms: lead }
    )));
    const said = this.sentence(answered);
    const open = this.tiles.filter((tile) => this.classOf(tile) === null).map((tile) => tile.item);
    this.batches.push({ pile: this.pile, as: this.as, keys, said, open, tiles: this.tiles, marks: [...this.marks] });
    this.passed[this.pile] = [...this.left, ...open];
    this.turnPage();
  }

  context(tile) {
    return { seen: true, round: this.data.round, source: SOURCE, guess: tile.guess, guess_probability: tile.p };
  }

  /* The last page as it was when it was confirmed; its answers are withdrawn. */
  undo() {
    const last = this.batches.pop();
    if (!last) return;
    const given = new Set(last.open);
    const back = last.tiles.filter((tile) => !given.has(tile.item));
    this.outbox.addAll(back.map((tile) => ({ item: tile.item, kind: "undo", class: null, ...this.context(tile), lead_ms: null })));
    this.passed[last.pile] = (this.passed[last.pile] ?? []).filter((item) => !given.has(item));
    [this.pile, this.as, this.wants, this.asked] = [last.pile, last.as, false, 0];
    this.since = Math.max(this.turn + 1, Date.now()); // what comes before knows nothing of this page
    this.turn = this.since - 1;
    this.lay(last.tiles, new Map(last.marks));
    this.changed();
  }

  turnPage() {
    [this.wants, this.asked, this.at] = [true, 0, 0];
    this.lay([], new Map());
    this.changed();
  }

  choosePile(key) {
    if (key === this.pile && !this.data.end) return;
    [this.pile, this.as] = [key, null];
    this.turnPage();
  }

  lookAgain() {
    delete this.passed[this.pile];
    this.turnPage();
  }

  mark(tile, to) {
    if (!tile || this.failed.has(tile.item)) return;
    if (to === undefined || to === this.confirms) this.marks.delete(tile.item);
    else this.marks.set(tile.item, to);
    this.drawTile(tile);
    this.drawButton();
    this.remember();
  }

  toggle(tile) {
    if (tile) this.mark(tile, this.marks.has(tile.item) ? undefined : null);
  }

  setClass(entry) {
    this.as = entry.id;
    this.changed();
  }

  changed() {
    this.remember();
    this.drawPiles();
    this.drawSaved();
    this.drawEnd();
    this.drawButton();
    this.tiles.forEach((tile) => this.drawTile(tile));
    this.flush();
  }

  remember() {
    this.batches = this.batches.slice(-UNDOS);
    const { passed, batches, pile, as } = this;
    try {
      sessionStorage.setItem(this.memory, JSON.stringify({ passed, batches, pile, as, marks: [...this.marks] }));
    } catch {
      /* undo then reaches back to this page's load only */
    }
  }
}
