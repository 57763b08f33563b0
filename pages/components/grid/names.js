/* Type-ahead: names that begin with what is typed, then those that contain it; Enter takes the first. */
class Names {
  constructor(root, choose, keeps = false) {
    this.input = root.querySelector("input");
    this.list = root.querySelector(".matches");
    [this.choose, this.keeps, this.classes] = [choose, keeps, []];
    this.input.addEventListener("input", () => this.draw());
    this.input.addEventListener("blur", () => this.leave());
    this.input.addEventListener("keydown", (event) => this.key(event));
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  get matches() {
    const text = this.input.value.trim().toLocaleLowerCase();
    if (!text) return [];
    const place = (entry) => entry.name.toLocaleLowerCase().indexOf(text);
    return this.classes.filter((entry) => place(entry) >= 0).sort((a, b) => (place(a) > 0) - (place(b) > 0)).slice(0, 8);
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
    event.preventDefault(); // this Enter chose a class: it confirms nothing
    const [first] = this.matches;
    if (first) this.take(first);
  }

  take(entry) {
    this.input.blur();
    this.choose(entry);
  }

  /* A field that keeps its choice shows it; the other is for the next tile. */
  leave() {
    this.input.value = this.keeps ? this.chosen ?? "" : "";
    this.list.replaceChildren();
    this.list.hidden = true;
  }

  show(name) {
    this.chosen = name;
    if (!this.input.matches(":focus")) this.leave();
  }
}

function recall(name) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name));
    return kept !== null && typeof kept === "object" ? kept : {};
  } catch {
    return {};
  }
}

/* Streamlit calls this at every rerun; one grid per mounting place, ended when its place is gone. */
const grids = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  if (!grids.has(parentElement)) grids.set(parentElement, new Grid(parentElement));
  const grid = grids.get(parentElement);
  grid.leaving = () => setTriggerValue("leave", true);
  grid.update(data, (report) => setStateValue("report", report));
  return () => setTimeout(() => {
    const host = parentElement.host ?? parentElement;
    if (host.isConnected) return;
    grid.stop();
    grids.delete(parentElement);
  });
}
