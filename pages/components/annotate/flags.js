/* A note on the image on screen, kept and sent like an answer; the image stays to be answered. */
class Flagging {
  constructor(root, desk) {
    this.root = root;
    this.desk = desk;
    this.input = root.querySelector("input");
    this.input.addEventListener("keydown", (event) => this.key(event));
  }

  open() {
    this.card = this.desk.stage.card;
    if (!this.card) return;
    this.desk.show("flagging");
    this.input.value = "";
    this.input.focus();
  }

  key(event) {
    if (event.isComposing || event.repeat) return;
    if (event.key === "Escape") this.desk.show(null);
    if (event.key !== "Enter") return;
    const note = this.input.value.trim();
    if (note) this.desk.flag(this.card, note);
    this.desk.show(null);
  }
}
