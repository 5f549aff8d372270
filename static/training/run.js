/* One run, watched live: the server says how it stands over a websocket; where that is away, the page asks. */
import { get } from "../site/api.js";
import { say } from "../site/words.js";
import { curve } from "./curve.js";

const place = document.getElementById("run");
const part = (id) => document.getElementById(id);
const AGAIN = 3000;

let over = false;
let socket = null;
let asking = 0;
let drawn = "";

function show(run) {
  const was = over;
  over = run.over;
  part("state").textContent = run.state_name;
  part("state").className = `tag ${run.state === "failed" ? "bad" : run.over ? (run.state === "done" ? "good" : "") : "warm"}`;
  if (part("stage").textContent !== run.stage_name) part("stage").textContent = run.over ? "" : run.stage_name;
  part("progress").value = run.progress;
  part("progress").hidden = run.over && run.state !== "done";
  part("error").hidden = !run.error;
  if (part("error").lastElementChild.textContent !== run.error) part("error").lastElementChild.textContent = run.error;
  part("silent").hidden = !run.silent;
  if (run.over && part("cancelling")) part("cancelling").hidden = true;
  draw(run.curves);
  if (over && !was && place.dataset.was === "open") window.location.reload(); // the report comes from the server
}

function draw(curves) {
  const told = JSON.stringify(curves);
  if (told === drawn) return;
  drawn = told;
  part("curves-card").hidden = told === "{}";
  part("curves").replaceChildren(...Object.entries(curves).map(([name, values]) => {
    const [kindOfCurve, kind] = name.split(".");
    return curve(kindOfCurve, kind, values);
  }));
}

function note(name) {
  const sentence = name ? say(name) : "";
  if (part("live").textContent !== sentence) part("live").textContent = sentence;
}

async function ask() {
  try {
    show(await get(place.dataset.state));
    if (!over) note("asking");
  } catch {
    note("away");
  }
}

/** While there is no socket the page asks every few seconds, and tries the socket again each time. */
function connect() {
  if (over) return;
  const address = new URL(place.dataset.socket, window.location.href);
  address.protocol = address.protocol.replace("http", "ws");
  socket = new WebSocket(address);
  let degraded = false;
  socket.addEventListener("message", (event) => {
    const frame = JSON.parse(event.data);
    if (frame.type === "degraded") { degraded = true; return; }
    show(frame.run);
    if (over) { note(""); socket.close(); } else note(degraded ? "asking" : "live");
  });
  asking = window.setInterval(() => { if (socket.readyState !== WebSocket.OPEN || degraded) ask(); else socket.send("{}"); }, AGAIN);
  socket.addEventListener("close", () => {
    window.clearInterval(asking);
    if (over) return;
    ask();
    window.setTimeout(connect, AGAIN);
  });
}

const first = JSON.parse(part("run-now").textContent);
place.dataset.was = first.over ? "over" : "open";
show(first);
connect();

const dialog = part("cancel-dialog");
part("cancel")?.addEventListener("click", () => dialog.showModal());
part("keep")?.addEventListener("click", () => dialog.close());
