/* The person's keys: the list on `help`, and the dialog that changes them. The server says what cannot be, in words. */
const ACTS = {
  later: "later: set this image aside; it comes back to you at the end, and others may answer it",
  unusable: "unusable: nobody is asked for this image again",
  flag: "flag: leave a note on this image",
  undo: "undo: the last image comes back",
  why: "why this image? The model's guesses, what an answer would sharpen, and what was answered like it",
  grid: "grid: many images of one guess at once, and back",
  help: "help: this list",
};

class Settings {
  constructor(host, desk) {
    this.desk = desk;
    this.list = host.querySelector(".help dl");
    this.root = host.querySelector(".settings");
    this.said = this.root.querySelector(".said");
    this.letters = this.root.querySelector(".typing input");
    this.letters.addEventListener("change", () => {
      this.letters.blur(); // keys are the dialog's again
      this.change({ do: "typing", on: this.letters.checked });
    });
    onPress(host.querySelector(".help .change"), () => this.open());
    onPress(this.root.querySelector(".usual"), () => this.change({ do: "usual" }));
    onPress(this.root.querySelector(".close"), () => this.desk.show(null));
  }

  /* ---- the list of keys ---- */

  draw() {
    const { keys, offered } = this.desk;
    const rows = [[this.classKeys(), "the class with that key on its button; the image is answered and the next one comes"]];
    const find = keys.typing ? [element("kbd", "a"), " … ", element("kbd", "z"), " ", element("kbd", "/")] : [element("kbd", "/")];
    rows.push([find, "find a class by name: two letters and Enter; ↑ ↓ choose another, Esc leaves"]);
    for (const act of offered) rows.push([[element("kbd", printed(keys.acts[act]))], ACTS[act]]);
    rows.push([["wheel, drag"], "zoom and move the image, at its full resolution; double click goes there and back"]);
    this.list.replaceChildren(...rows.flatMap(([shown, words]) => {
      const term = element("dt");
      term.append(...shown);
      return [term, element("dd", words)];
    }));
    if (!this.root.hidden) this.drawRows();
  }

  classKeys() {
    const given = [...this.desk.keys.classes.values()];
    const ends = given.length > 2 ? [given[0], " … ", given.at(-1)] : given.slice(0, 2).flatMap((key) => [key, " "]);
    return ends.map((part) => (part.trim().length === 1 && part.trim() !== "…" ? element("kbd", printed(part)) : part));
  }

  /* ---- the dialog ---- */

  open() {
    this.waits = null;
    this.desk.show("settings");
    this.say("Press a key's button, then the key that it shall be.");
    this.drawRows();
  }

  drawRows() {
    const { keys, data, offered } = this.desk;
    this.letters.checked = keys.typing;
    const acts = offered.map((act) => this.row({ do: "act", act }, ACTS[act].split(/[:?]/)[0], keys.acts[act]));
    const own = data.classes.map((entry) => this.row({ do: "class", class: entry.id }, entry.name, keys.classes.get(entry.id)));
    this.root.querySelector(".acts").replaceChildren(...acts);
    this.root.querySelector(".own").replaceChildren(...own);
  }

  row(what, name, key) {
    const button = element("button");
    button.type = "button";
    const waits = this.waits && JSON.stringify(this.waits) === JSON.stringify(what);
    button.append(element("span", name), element("kbd", waits ? "press a key" : key ? printed(key) : "–"));
    button.title = name;
    onPress(button, () => {
      this.waits = what;
      this.drawRows();
    });
    return button;
  }

  /* Every key while the dialog is open comes here; the desk does nothing with it. */
  key(event) {
    if (event.key === "Escape") return this.waits ? this.wait(null) : this.desk.show(null);
    if (!this.waits || ["Shift", "CapsLock", "Tab", "Dead"].includes(event.key)) return undefined;
    event.preventDefault();
    const what = this.waits;
    this.waits = null;
    return this.change({ ...what, key: keyOf(event) });
  }

  wait(what) {
    this.waits = what;
    this.drawRows();
  }

  change(what) {
    this.desk.link.ask(what, (words) => {
      this.say(words || "Changed.", Boolean(words));
      this.drawRows();
    });
    this.drawRows();
  }

  say(words, bad = false) {
    this.said.textContent = words;
    this.said.classList.toggle("bad", bad);
  }
}
