/* What the desk shows. Names that people wrote go in through textContent only. */
Object.assign(Desk.prototype, {
  drawAll() {
    this.drawFacts();
    this.drawKeys();
    this.drawSaved();
    this.drawFlagged();
    this.drawEnd();
  },

  drawFacts() {
    const { done, total, model, newer, left, aside, round, every, failed } = this.data.facts;
    const measuring = left === null ? "" : ` · ${count(left, "image")} to measure with left`;
    this.pick(".count").textContent = `${number(done)} of ${number(total)} answered${measuring}`;
    this.pick(".model").textContent = `${model}${aside}${newer ? ` · ${count(newer, "label")} newer than ${model}` : ""}`;
    this.pick(".every").textContent = failed || (every ? `by itself every ${count(every, "label")}` : "");
    this.pick(".every").classList.toggle("bad", Boolean(failed));
    this.pick(".retrain").hidden = Boolean(round);
    this.pick(".round").hidden = !round;
    if (round) {
      this.pick(".round .said").textContent = round.said;
      this.pick(".round .bar").firstElementChild.style.width = percent(round.share);
    }
    const meter = this.pick(".meter");
    meter.setAttribute("aria-valuemax", total);
    meter.setAttribute("aria-valuenow", done);
    meter.firstElementChild.style.width = `${total ? (100 * done) / total : 0}%`;
  },

  /* Only what changed since: most turns change no key. */
  drawKeys() {
    const { classes, keys, without } = this.data;
    const drawn = JSON.stringify([classes, keys, without]);
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    this.finder.classes = classes;
    const buttons = classes.slice(0, BUTTONS).map((entry) => this.classButton(entry));
    const more = element("span", `and ${number(classes.length - BUTTONS)} more by name`);
    more.className = "more";
    this.pick(".classes").replaceChildren(...buttons, ...(classes.length > BUTTONS ? [more] : []));
    this.host.querySelectorAll(".tools [data-act]").forEach((button) => {
      button.hidden = !this.offered.includes(button.dataset.act);
      button.querySelector("kbd").textContent = printed(this.keys.acts[button.dataset.act]);
    });
    this.pick(".finder input").placeholder = this.keys.typing ? "type a class …" : "/ find a class";
    this.settings.draw();
  },

  classButton(entry) {
    const button = element("button");
    button.type = "button";
    button.dataset.class = entry.id;
    const key = this.keys.classes.get(entry.id);
    if (key) button.append(element("kbd", printed(key)));
    button.append(element("span", entry.name));
    button.title = entry.name;
    onPress(button, () => this.answer(entry));
    return button;
  },

  /* The image before, so that a slip is seen. */
  drawSaved() {
    const last = this.answered.at(-1);
    const chip = this.pick(".saved");
    chip.hidden = !last;
    if (!last) return;
    const waits = this.outbox.waits(last.key);
    chip.dataset.state = waits ? "waits" : "saved";
    chip.dataset.item = last.card.item;
    chip.querySelector(".word").textContent = waits ? "Saving" : "Saved";
    chip.querySelector(".name").textContent = last.name;
    chip.querySelector(".name").title = last.name;
    const img = chip.querySelector("img");
    if (img.getAttribute("src") !== last.card.view) img.src = last.card.view;
  },

  drawFlagged() {
    const flag = this.flagged;
    const line = this.pick(".flagged");
    const waits = flag !== undefined && this.outbox.waits(flag.key);
    line.dataset.state = flag === undefined ? "none" : waits ? "waits" : "saved";
    line.textContent = flag === undefined ? "" : waits ? "saving your note" : "✓ note saved";
    if (flag === undefined || waits) return;
    this.flagged = undefined;
    clearTimeout(this.unflag);
    this.unflag = setTimeout(() => this.drawFlagged(), 6000);
  },

  drawEnd() {
    const over = !this.stage.card && this.data.end;
    const end = this.pick(".end");
    end.hidden = !over;
    this.pick(".stage").classList.toggle("over", Boolean(over));
    this.pick(".hint").textContent = this.stage.card ? this.data.hint : "";
    if (!over) return;
    this.pick(".wait").hidden = true;
    const until = over.until && new Date(over.until).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    end.querySelector("h3").textContent = over.title;
    end.querySelector("p").textContent = over.text.replace("{until}", until);
  },

  drawCard() {
    const votes = this.stage.card?.votes ?? [];
    this.pick(".votes").hidden = votes.length === 0;
    this.pick(".votes ul").replaceChildren(...votes.map((vote) => {
      const line = element("li");
      line.append(element("span", vote.person), element("strong", vote.name));
      return line;
    }));
    this.drawWhy();
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

function recall(name) {
  try {
    const entries = JSON.parse(sessionStorage.getItem(name));
    return Array.isArray(entries) ? entries : [];
  } catch {
    return [];
  }
}

const percent = (share) => `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`;
