/* Both replies to a past turn, side by side, over a websocket of their own: the server keeps nothing of it. */
import { live } from "../site/live.js";
import { say } from "../site/words.js";

const place = document.getElementById("replies");
const button = document.getElementById("ask-replies");
const status = document.getElementById("replies-status");

function show(frame) {
  const reply = place.querySelector(`[data-reply="${frame.which}"]`);
  reply.hidden = false;
  reply.querySelector("p").textContent = frame.text || (frame.done ? say("replies_empty") : "…");
}

function ask() {
  const address = new URL(`/ws/recalls/${place.dataset.recall}/replies/`, window.location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  let ended = false;
  let refused = false;
  button.disabled = true;
  status.textContent = say("replies_asked");
  for (const reply of place.querySelectorAll("[data-reply]")) reply.hidden = true;
  socket.addEventListener("open", () => socket.send(JSON.stringify({ without: place.dataset.without || null, with: place.dataset.with || null })));
  socket.addEventListener("message", (event) => {
    const frame = JSON.parse(event.data);
    if (frame.type === "reply") show(frame);
    if (frame.type === "error") { refused = true; status.textContent = frame.sentence; }
    if (frame.type === "end" || frame.type === "error") { ended = true; socket.close(); }
    if (frame.type === "end" && !refused) status.textContent = say("replies_done");
  });
  socket.addEventListener("close", () => {
    button.disabled = false;
    if (!ended) status.textContent = say("replies_lost");
  });
}

live(button, ask);
