/* Type-ahead over all classes: nothing is answered but by Enter or a press, and only on the image it was opened for. */
const MATCHES = 8;

class Finder {
  constructor(root, desk) {
    this.input = root.querySelector("input");
    this.list = root.querySelector(".matches");
    this.desk = desk;
    this.names = [];
    this.chosen = 0; // which of the matches Enter takes
    this.input.addEventListener("focus", () => { this.item = this.desk.item; });
    this.input.addEventListener("input", () => this.look());
    this.input.addEventListener("blur", () => this.leave());
    this.input.addEventListener("keydown", (event) => this.key(event));
  }

  set classes(classes) {
    this.names = classes.map((entry) => ({ entry, name: plain(entry.name) }));
  }

  open(text) {
    this.input.value = text;
    this.input.focus();
    this.look();
  }

  /* The name itself, then names that begin with what is typed, then words that do, then the rest; else as they come. */
  get matches() {
    const text = plain(this.input.value);
    if (!text) return [];
    const rank = (name) =>
      name === text ? 0 : name.startsWith(text) ? 1 : name.includes(` ${text}`) ? 2 : name.includes(text) ? 3 : 4;
    const ranked = this.names.map(({ entry, name }) => ({ entry, rank: rank(name) })).filter((each) => each.rank < 4);
    return ranked.sort((a, b) => a.rank - b.rank).slice(0, MATCHES).map((each) => each.entry);
  }

  look() {
    this.chosen = 0;
    this.draw();
  }

  draw() {
    const { matches } = this;
    const options = matches.map((entry, place) => this.option(entry, place));
    if (!matches.length && plain(this.input.value)) options.push(element("span", "no class of this name"));
    this.list.replaceChildren(...options);
    this.list.hidden = options.length === 0;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
  }

  option(entry, place) {
    const option = element("button", entry.name);
    option.type = "button";
    option.tabIndex = -1;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", String(place === this.chosen));
    if (place === this.chosen) option.append(element("kbd", "Enter"));
    onPress(option, () => this.take(entry));
    return option;
  }

  key(event) {
    if (event.isComposing) return;
    const { matches } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.input.blur();
    else if (step && matches.length) {
      event.preventDefault();
      this.chosen = (this.chosen + step + matches.length) % matches.length;
      this.draw();
    } else if (event.key === "Enter" && !event.repeat && matches.length) this.take(matches[this.chosen]);
  }

  take(entry) {
    const { item } = this;
    this.input.blur();
    if (item === this.desk.item) this.desk.answer(entry);
    else this.desk.trouble("Another image came meanwhile: nothing was answered.", 6000);
  }

  leave() {
    this.input.value = "";
    this.look();
  }
}

/* As people type it: no accents, no case, one space for what separates words. */
function plain(name) {
  const bare = name.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase();
  return bare.replace(/[\s_-]+/g, " ").trim();
}
