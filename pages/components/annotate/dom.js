/* What the desk and the grid draw with. Text goes in as text, never as markup. */
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

const number = (value) => value.toLocaleString("en-US");
const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
