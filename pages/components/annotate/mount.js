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
