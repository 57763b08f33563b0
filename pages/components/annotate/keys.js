/* From a key to what it means. The server makes the table (core/keys.py); here a key press is only looked up in it. */
class Keys {
  constructor({ acts, classes, typing }) {
    this.acts = acts; // what is done -> key
    this.classes = new Map(classes); // class id -> key
    this.typing = typing;
    this.meaning = new Map([
      ...[...this.classes].map(([id, key]) => [key, { answers: id }]),
      ...Object.entries(acts).map(([act, key]) => [key, { act }]),
    ]);
  }

  /* {answers: class id}, {act: name}, {finds: text typed so far}, or undefined. */
  read(event) {
    const known = this.meaning.get(keyOf(event));
    if (known) return known;
    if (event.key === "/") return { finds: "" };
    return this.typing && /^[\p{L}\p{M}]$/u.test(event.key) ? { finds: event.key } : undefined;
  }
}

/* The character a key writes; a letter with Shift is its capital, whatever Caps Lock says. On a layout whose letters are
   not Latin, or whose digits need Shift, the place on the keyboard counts. */
function keyOf({ key, code, shiftKey }) {
  if (/^[0-9]$/.test(key)) return key;
  const digit = !shiftKey && /^Digit([0-9])$/.exec(code);
  if (digit) return digit[1];
  const place = /^\p{L}$/u.test(key) && /^Key([A-Z])$/.exec(code);
  const letter = /^[a-z]$/i.test(key) ? key : place ? place[1] : null;
  if (letter) return shiftKey ? letter.toUpperCase() : letter.toLowerCase();
  return key;
}

/* Not a key for the desk: a repeat, a composition, a combination, something typed into a field, or below a dialog. */
function isForeign(event) {
  if (event.repeat || event.isComposing || event.defaultPrevented) return true;
  return event.ctrlKey || event.metaKey || event.altKey || typing(event) || dialogIsOpen();
}

function typing(event) {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

const dialogIsOpen = () => document.querySelector('[role="dialog"], [data-testid="stPopoverBody"]') !== null;
const printed = (key) => (/^[A-Z]$/.test(key) ? `⇧${key}` : key);
