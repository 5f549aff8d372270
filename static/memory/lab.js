/* One replay of the policy lab, watched live. The figures draw themselves, and again whenever there are more results. */
import { refresh } from "../site/figures.js";
import { live } from "../site/live.js";
import { watch } from "../site/watching.js";

const place = document.getElementById("replay");
const part = (id) => document.getElementById(id);
let now = JSON.parse(part("replay-now").textContent);

function show(replay) {
  const news = replay.results !== now.results || replay.over !== now.over;
  now = replay;
  if (part("state").textContent !== replay.state_name) part("state").textContent = replay.state_name;
  part("state").className = `tag ${replay.state === "failed" ? "bad" : replay.over ? (replay.state === "done" ? "good" : "") : "warm"}`;
  part("progress").value = replay.progress;
  part("progress").hidden = replay.over;
  part("error").hidden = !replay.error;
  if (part("error").lastElementChild.textContent !== replay.error) part("error").lastElementChild.textContent = replay.error;
  if (part("cancelling")) part("cancelling").hidden = replay.over;
  if (news) refresh();
}

watch(place, now, show);

const dialog = part("delete-dialog");
live(part("delete"), () => dialog.showModal());
part("keep").addEventListener("click", () => dialog.close());
