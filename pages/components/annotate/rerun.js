/* A restarted server knows no fragment of this page, and reports of the desk go to a fragment: run the whole page. */
export default function ({ parentElement, setStateValue }) {
  parentElement.rerun ??= () => parentElement.send("at", Date.now());
  parentElement.send = setStateValue;
  document.addEventListener("penumbra:rerun", parentElement.rerun);
  return () => document.removeEventListener("penumbra:rerun", parentElement.rerun);
}
