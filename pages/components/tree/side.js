/* What is said of an image: a tip under the pointer, and a panel at the side. All names go in through textContent. */
class Side {
  constructor(root, choose, toggle) {
    this.tip = root.querySelector(".tip");
    this.panel = root.querySelector(".side");
    this.choose = choose;
    this.shown = -1;
    this.panel.querySelector(".close").addEventListener("click", () => choose(-1));
    this.panel.querySelector(".toggle").addEventListener("click", () => toggle(this.shown));
  }

  reset(data, layout) {
    [this.data, this.layout] = [data, layout];
    const order = data.uncertainty.map((_, i) => i).sort((a, b) => data.uncertainty[b] - data.uncertainty[a]);
    this.rank = new Int32Array(order.length);
    order.forEach((i, place) => { this.rank[i] = place + 1; });
    this.hover(-1);
    this.show(-1);
  }

  hover(i, x, y, view) {
    this.tip.hidden = i < 0;
    if (i < 0) return;
    if (this.tip.dataset.image !== String(i)) {
      this.tip.dataset.image = i;
      this.tip.querySelector("img").src = this.data.thumb[i];
      this.tip.querySelector(".name").textContent = this.data.name[i];
      this.tip.querySelector(".figures").textContent = `Σσ² ${figure(this.data.uncertainty[i])}`;
    }
    const left = x + 16 + this.tip.offsetWidth > view.width ? x - 16 - this.tip.offsetWidth : x + 16;
    const top = Math.max(4, Math.min(y + 12, view.height - this.tip.offsetHeight - 4));
    this.tip.style.transform = `translate(${Math.max(4, left)}px, ${top}px)`;
  }

  show(i) {
    this.shown = i;
    this.panel.hidden = i < 0;
    if (i < 0) return;
    const { data, layout } = this;
    const img = this.panel.querySelector(":scope > img");
    if (img.getAttribute("src") !== data.large[i]) img.src = data.large[i];
    img.alt = data.name[i];
    this.panel.dataset.image = i;
    this.panel.querySelector("h4").textContent = data.name[i];
    this.panel.querySelector("dl").replaceChildren(...this.facts(i).flatMap(([name, value]) => [
      made("dt", name), made("dd", value),
    ]));
    const toggle = this.panel.querySelector(".toggle");
    toggle.hidden = !layout.children[i].length;
    toggle.textContent = layout.isOpen(i) ? "Collapse what it includes" : "Expand what it includes";
    this.drawWay(i);
  }

  facts(i) {
    const { data, layout } = this;
    const up = layout.parent[i];
    const rows = [["Σσ²", `${figure(data.uncertainty[i])}, place ${this.rank[i].toLocaleString("en-US")} of `
      + `${data.name.length.toLocaleString("en-US")} from the most uncertain`]];
    if (up < 0) rows.push(["Included by", "none: it stands at the top"]);
    else {
      rows.push(["Included by", data.name[up]]);
      rows.push(["H", `${figure(data.strength[i])} nats`], ["Cosine", figure(data.similarity[i])]);
    }
    const direct = layout.children[i].length;
    const [near, all] = [direct, layout.below[i]].map((number) => number.toLocaleString("en-US"));
    rows.push(["Includes", direct ? `${near} directly, ${all} in all` : "none"]);
    return rows;
  }

  drawWay(i) {
    const way = [];
    for (let up = this.layout.parent[i]; up >= 0 && way.length < 24; up = this.layout.parent[up]) way.push(up);
    this.panel.querySelector(".way-title").hidden = !way.length;
    this.panel.querySelector(".way").replaceChildren(...way.map((up) => {
      const button = made("button");
      const img = made("img");
      img.src = this.data.thumb[up];
      img.alt = this.data.name[up];
      button.type = "button";
      button.title = this.data.name[up];
      button.append(img);
      button.addEventListener("click", () => this.choose(up));
      return button;
    }));
  }
}

function made(name, text) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  return element;
}

const figure = (value) => (value === null ? "–" : Number(value.toPrecision(4)).toString());
