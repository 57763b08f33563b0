/* Thumbnails in a grid. Names that people wrote go in through textContent only. */
function line(tag, words) {
  const part = document.createElement(tag);
  part.textContent = words;
  return part;
}

function tileOf(entry, open) {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.item = entry.id;
  button.dataset.tone = entry.tone;
  button.title = `${entry.text}\n${entry.note}`;
  const image = document.createElement("img");
  [image.loading, image.decoding, image.alt, image.src] = ["lazy", "async", `Open: ${entry.text}`, entry.src];
  button.append(image, line("b", entry.text), line("i", entry.note));
  button.addEventListener("click", () => open(entry.id));
  return button;
}

const shown = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const now = JSON.stringify(data.tiles);
  parentElement.querySelector(".grid").classList.toggle("compact", Boolean(data.compact));
  if (shown.get(parentElement) === now) return; // nothing flickers, the focus stays
  shown.set(parentElement, now);
  const open = (item) => setTriggerValue("open", item);
  parentElement.querySelector(".grid").replaceChildren(...data.tiles.map((entry) => tileOf(entry, open)));
}
