/* One run, watched live. Its curves draw themselves, and again whenever they have grown. */
import { refresh } from "../site/figures.js";
import { live } from "../site/live.js";
import { watch } from "../site/watching.js";
import { say } from "../site/words.js";

const PAUSE = 500; // between two drawings: a run tells many steps a second
const place = document.getElementById("run");
const part = (id) => document.getElementById(id);
const first = JSON.parse(part("run-now").textContent);

let drawn = JSON.stringify(first.curves);
let waiting = 0;

function show(run) {
  part("state").textContent = run.state_name;
  part("state").className = `tag ${run.state === "failed" ? "bad" : run.over ? (run.state === "done" ? "good" : "") : "warm"}`;
  const stage = run.over ? "" : run.stage_name;
  if (part("stage").textContent !== stage) part("stage").textContent = stage;
  part("progress").value = run.progress;
  part("progress").hidden = run.over && run.state !== "done";
  part("error").hidden = !run.error;
  if (part("error").lastElementChild.textContent !== run.error) part("error").lastElementChild.textContent = run.error;
  part("silent").hidden = !run.silent;
  if (run.over && part("cancelling")) part("cancelling").hidden = true;
  if (run.over && !first.over) window.location.reload(); // the report comes from the server
  else draw(JSON.stringify(run.curves));
}

function draw(curves) {
  if (curves === drawn) return;
  drawn = curves;
  waiting ||= window.setTimeout(() => { waiting = 0; refresh(); }, PAUSE);
}

function note(name) {
  const sentence = name ? say(name) : "";
  if (part("live").textContent !== sentence) part("live").textContent = sentence;
}

watch(place, first, show, note);

const dialog = part("cancel-dialog");
live(part("cancel"), () => dialog.showModal());
part("keep")?.addEventListener("click", () => dialog.close());
