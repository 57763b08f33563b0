/* Sixty images that look alike, confirmed at once. What is confirmed goes to the outbox, then to the server, and counts
   as saved only when the server says so. The server says which images are held for this person; they stay where they
   are until the page is confirmed or left. */
const SOURCE = "grid";
const LOOK_MS = 400; // between the last tile painted and the first Enter that counts: nobody confirms an unseen page
const UNDOS = 20;

class Grid {
  constructor(host) {
    this.host = host;
    this.pick = (selector) => host.querySelector(selector);
    this.link = new PageLink(this);
    this.tiles = []; // as the server gave them
    this.marks = new Map(); // item -> another class's id, or null: left open
    this.loaded = new Set();
    this.failed = new Set();
    this.seen = new Set();
    this.ahead = []; // addresses of images that may come next
    this.at = 0;
    this.since = 0; // the turn from which the server knows this screen
    this.overlay = null; // what lies over the tiles: "help", "closer" or nothing
    this.listen();
  }

  /* ---- from the server ---- */

  update(data, send) {
    this.data = data;
    this.keys = new Keys(data.keys);
    if (this.scope !== data.scope) this.enter(data);
    this.link.heard(data, (report) => send({ ...report, ...this.wish(report.turn) }));
    if (data.refused.length) this.trouble(`Not saved, ${count(data.refused.length, "answer")}: ${data.refused[0].reason}`, 8000);
    if (this.wants) this.take(data);
    else if (data.turn >= this.since) this.keepHeld(data);
    this.drawAll();
    this.link.proceed();
  }

  enter(data) {
    this.scope = data.scope;
    this.outbox = new Batches(data.scope);
    const kept = recall(this.memory);
    const same = kept.pile === data.pile;
    this.passed = kept.passed ?? {};
    this.batches = kept.batches ?? [];
    this.pile = data.pile;
    this.as = (same && kept.as) || null;
    this.since = data.turn;
    [this.round, this.ahead] = [data.round, data.ahead];
    this.lay(this.news(data), new Map(same ? kept.marks : []));
  }

  get memory() {
    return `penumbra:grid:${this.scope}`;
  }

  /* What the person looks at, with every report; `asked` is the first that wants another page. */
  wish(turn) {
    if (this.wants) this.asked ||= turn;
    const screen = this.wants ? [] : this.tiles.map((tile) => tile.item);
    return { events: this.outbox.events.slice(0, MOST_SENT), pile: this.pile, passed: this.left, screen };
  }

  /* The tiles of a reply that the person did not leave out before. */
  news(data) {
    return data.tiles.filter((tile) => !this.left.includes(tile.item));
  }

  /* Items of this pile that the person left open on earlier pages. */
  get left() {
    return this.passed[this.pile] ?? [];
  }

  /* The page that was asked for; a reply to an older question is not it. */
  take(data) {
    if (!this.asked || data.turn < this.asked || !data.fresh) return;
    [this.wants, this.since, this.pile] = [false, data.turn, data.pile];
    [this.round, this.ahead] = [data.round, data.ahead];
    this.lay(data.tiles, new Map());
  }

  /* What was answered elsewhere, or taken over after a sleep, leaves the screen; where nothing was, something comes. */
  keepHeld(data) {
    if (!this.tiles.length) {
      [this.round, this.ahead] = [data.round, data.ahead];
      if (data.tiles.length) this.lay(this.news(data), new Map());
      return;
    }
    const held = new Set(data.tiles.map((tile) => tile.item));
    const gone = this.tiles.filter((tile) => !held.has(tile.item)).length;
    if (!gone) return;
    this.trouble(`${count(gone, "image")} of this page answered elsewhere, or with others by now`, 8000);
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

  /* After sleep the leases may be over: the reply says which tiles are still this person's. */
  wake() {
    this.link.flush();
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
    if (rest && this.confirms === null) return void this.naming.open("");
    const unseen = this.tiles.find((tile) => !this.seen.has(tile.item));
    if (unseen) return void this.tileOf(unseen.item).scrollIntoView({ block: "start" });
    const answered = this.tiles.filter((tile) => this.classOf(tile) !== null);
    const lead = Math.round((performance.now() - this.begun) / Math.max(1, answered.length));
    const keys = this.outbox.addAll(answered.map((tile) => (
      { item: tile.item, kind: "answer", class: this.classOf(tile), ...this.context(tile), lead_ms: lead }
    )));
    const said = this.sentence(answered);
    const open = this.tiles.filter((tile) => this.classOf(tile) === null).map((tile) => tile.item);
    const page = { pile: this.pile, as: this.as, round: this.round, tiles: this.tiles, marks: [...this.marks] };
    this.batches.push({ ...page, keys, said, open });
    this.passed[this.pile] = [...this.left, ...open];
    this.turnPage();
  }

  context(tile) {
    return { seen: true, round: this.round, source: SOURCE, guess: tile.guess, guess_probability: tile.p };
  }

  /* The last page as it was when it was confirmed; its answers are withdrawn. */
  undo() {
    const last = this.batches.pop();
    if (!last) return;
    const given = new Set(last.open);
    const back = last.tiles.filter((tile) => !given.has(tile.item));
    this.round = last.round;
    this.outbox.addAll(back.map((tile) => ({ item: tile.item, kind: "undo", class: null, ...this.context(tile), lead_ms: null })));
    this.passed[last.pile] = (this.passed[last.pile] ?? []).filter((item) => !given.has(item));
    [this.pile, this.as, this.wants, this.asked] = [last.pile, last.as, false, 0];
    this.since = this.link.next; // what comes before knows nothing of this page
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
    this.tiles.forEach((tile) => this.drawTile(tile));
    this.drawAll();
    this.link.flush();
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
