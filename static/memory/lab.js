/* One replay of the policy lab, watched live: the server says how it stands over a websocket; where that is away, the
   page asks. The figures draw themselves, and again whenever there are more results. */
import { get } from "../site/api.js";
import { refresh } from "../site/figures.js";

const AGAIN = 3000;
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

async function ask() {
  try { show(await get(place.dataset.state)); } catch { /* the next look may be luckier */ }
}

/** While there is no socket the page asks every few seconds, and tries the socket again each time. */
function connect() {
  if (now.over) return;
  const address = new URL(place.dataset.socket, window.location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  let degraded = false;
  const asking = window.setInterval(() => { if (socket.readyState !== WebSocket.OPEN || degraded) ask(); else socket.send("{}"); }, AGAIN);
  socket.addEventListener("message", (event) => {
    const frame = JSON.parse(event.data);
    if (frame.type === "degraded") { degraded = true; return; }
    show(frame.replay);
    if (now.over) socket.close();
  });
  socket.addEventListener("close", () => {
    window.clearInterval(asking);
    if (!now.over) window.setTimeout(connect, AGAIN);
  });
}

connect();

const dialog = part("delete-dialog");
part("delete").addEventListener("click", () => dialog.showModal());
part("keep").addEventListener("click", () => dialog.close());
