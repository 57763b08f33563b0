/* What the desk shows. Names that people wrote go in through textContent only. */
Object.assign(Desk.prototype, {
  drawFacts() {
    const { done, total, model, newer, left } = this.data.facts;
    const measuring = left === null || left === undefined ? "" : ` · ${count(left, "image")} to measure with left`;
    this.pick(".count").textContent = `${number(done)} of ${number(total)} answered${measuring}`;
    this.pick(".model").textContent = model + (newer ? ` · ${count(newer, "newer answer")}` : "");
    const meter = this.pick(".meter");
    meter.setAttribute("aria-valuemax", total);
    meter.setAttribute("aria-valuenow", done);
    meter.firstElementChild.style.width = `${total ? (100 * done) / total : 0}%`;
  },

  drawClasses() {
    const { classes } = this.data;
    this.search.classes = classes;
    const buttons = classes.slice(0, BUTTONS).map((entry, place) => this.classButton(entry, place));
    this.pick(".classes").replaceChildren(...buttons);
  },

  classButton(entry, place) {
    const button = element("button");
    button.type = "button";
    button.dataset.class = entry.id;
    if (place < DIGITS.length) button.append(element("kbd", DIGITS[place]));
    button.append(element("span", entry.name));
    button.title = entry.name;
    onPress(button, () => this.answer(entry));
    return button;
  },

  drawSaved() {
    const last = this.answered.at(-1);
    const chip = this.pick(".saved");
    chip.hidden = !last;
    if (!last) return;
    const waits = this.outbox.waits(last.key);
    chip.dataset.state = waits ? "waits" : "saved";
    chip.dataset.item = last.card.item;
    chip.querySelector(".word").textContent = waits ? "saving" : "saved";
    chip.querySelector(".name").textContent = last.name;
    const img = chip.querySelector("img");
    if (img.getAttribute("src") !== last.card.view) img.src = last.card.view;
  },

  drawEnd() {
    const over = !this.stage.card && this.data.end;
    const end = this.pick(".end");
    end.hidden = !over;
    this.pick(".stage").classList.toggle("over", Boolean(over));
    if (!over) return;
    end.querySelector("h3").textContent = this.data.end.title;
    end.querySelector("p").textContent = this.data.end.text;
  },

  drawWhy() {
    const card = this.stage.card;
    if (this.pick(".why").hidden || !card) return;
    this.pick(".meaning").textContent = card.meaning ?? "";
    this.pick(".meaning").title = card.unit ? `in ${card.unit}` : "";
    this.pick(".guesses").replaceChildren(...card.guesses.map(guessRow));
    const share = this.pick(".share");
    share.hidden = card.unknown === null;
    if (card.unknown === null) return;
    const unknown = Math.round(100 * card.unknown);
    share.textContent = `${unknown} % not known yet · ${100 - unknown} % ambiguous`;
    share.title = "Of its doubt (the predictive entropy), what more answers would take away (the mutual information with "
      + "the image head), and what would stay.";
  },

  /* A line for what went wrong; `ms` says how long, without it until the cause is gone. */
  trouble(text, ms) {
    const line = this.pick(".trouble");
    line.textContent = text;
    line.hidden = !text;
    this.lasting = Boolean(text) && !ms;
    clearTimeout(this.fading);
    if (ms) this.fading = setTimeout(() => this.trouble(""), ms);
  },
});

function guessRow(guess) {
  const row = element("div");
  row.className = "guess";
  const track = element("span");
  track.className = "track";
  const bar = element("span");
  bar.className = "bar";
  bar.style.width = percent(guess.p);
  const range = element("span");
  range.className = "range";
  range.style.left = percent(guess.low);
  range.style.width = percent(guess.high - guess.low);
  track.append(bar, range);
  const figures = element("span", `${guess.p.toFixed(2)}  [${guess.low.toFixed(2)} – ${guess.high.toFixed(2)}]`);
  figures.className = "figures";
  const name = element("span", guess.name);
  name.title = guess.name;
  row.append(name, track, figures);
  return row;
}

/* Type-ahead: names that begin with what is typed, then those that contain it; Enter takes the first. */
class Search {
  constructor(root, choose) {
    this.input = root.querySelector("input");
    this.list = root.querySelector(".matches");
    this.choose = choose;
    this.classes = [];
    this.input.addEventListener("input", () => this.draw());
    this.input.addEventListener("blur", () => this.leave());
    this.input.addEventListener("keydown", (event) => this.key(event));
  }

  focus() {
    this.input.focus();
  }

  get matches() {
    const text = this.input.value.trim().toLocaleLowerCase();
    if (!text) return [];
    const place = (entry) => entry.name.toLocaleLowerCase().indexOf(text);
    const found = this.classes.filter((entry) => place(entry) >= 0);
    return found.sort((a, b) => (place(a) > 0) - (place(b) > 0)).slice(0, 8);
  }

  draw() {
    const options = this.matches.map((entry) => {
      const option = element("button", entry.name);
      option.type = "button";
      option.setAttribute("role", "option");
      onPress(option, () => this.take(entry));
      return option;
    });
    this.list.replaceChildren(...options);
    this.list.hidden = options.length === 0;
  }

  key(event) {
    if (event.key === "Escape") this.input.blur();
    if (event.key !== "Enter" || event.repeat || event.isComposing) return;
    const [first] = this.matches;
    if (first) this.take(first);
  }

  take(entry) {
    this.leave();
    this.input.blur();
    this.choose(entry);
  }

  leave() {
    this.input.value = "";
    this.draw();
  }
}

function recall(name) {
  try {
    const entries = JSON.parse(sessionStorage.getItem(name));
    return Array.isArray(entries) ? entries : [];
  } catch {
    return [];
  }
}

function element(tag, text) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return made;
}

/* A press that neither takes the focus from the keys nor repeats while Enter is held. */
function onPress(button, act) {
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("keydown", (event) => {
    if (event.repeat && ["Enter", " "].includes(event.key)) event.preventDefault();
  });
  button.addEventListener("click", act);
}

function digitOf(event) {
  if (/^[0-9]$/.test(event.key)) return event.key;
  const code = event.shiftKey ? null : /^Digit([0-9])$/.exec(event.code);
  return code ? code[1] : "none"; // keyboards whose digits need Shift
}

function typing(event) {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

const dialogIsOpen = () => document.querySelector('[role="dialog"]') !== null;
const percent = (share) => `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`;
const number = (value) => value.toLocaleString("en-US");
const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

/* Streamlit calls this at every rerun; one desk per mounting place, ended when its place is gone. */
const desks = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  if (!desks.has(parentElement)) desks.set(parentElement, new Desk(parentElement));
  const desk = desks.get(parentElement);
  desk.update(data, (report) => setStateValue("report", report));
  return () => setTimeout(() => {
    const host = parentElement.host ?? parentElement;
    if (host.isConnected) return;
    desk.stop();
    desks.delete(parentElement);
  });
}
