/* Streamlit calls this at every rerun; one desk per mounting place, ended when its place is gone. */
const desks = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  if (!desks.has(parentElement)) desks.set(parentElement, new Desk(parentElement));
  keepBright(parentElement);
  const desk = desks.get(parentElement);
  desk.update(data, (report) => setStateValue("report", report));
  return () => setTimeout(() => {
    const host = parentElement.host ?? parentElement;
    if (host.isConnected) return;
    desk.stop();
    desks.delete(parentElement);
  });
}

/* Streamlit fades what waits for a slow server; the desk goes on meanwhile, and has to be seen. */
function keepBright(place) {
  const box = (place.host ?? place.getRootNode().host)?.closest('[data-testid="stElementContainer"]');
  box?.style.setProperty("opacity", "1", "important");
}
