/* The page of one conversation's memory: the figures draw themselves; this follows the conversation while a chat runs. */
import { refresh } from "../site/figures.js";
import { say } from "../site/words.js";

const AGAIN = 4000;
const OPEN = ["queued", "running"];
const place = document.getElementById("life");
const slider = document.getElementById("moment-at");
const shown = document.getElementById("moment-shown");

function tellMoment() { shown.textContent = slider.value; }

slider.addEventListener("input", tellMoment);
document.addEventListener("figure:shown", tellMoment);

/** One more turn: the ranges that controls may ask for grow, and a slider at the end stays at the end. */
function grow(turn) {
  const count = document.getElementById("turn-count");
  if (turn <= Number(count.dataset.turns)) return;
  const atEnd = slider.value === slider.max;
  count.dataset.turns = String(turn);
  count.textContent = say("life_turns", { n: turn });
  for (const id of ["from", "to", "moment-at", "moment-against"]) document.getElementById(id).max = String(turn);
  if (atEnd) slider.value = String(turn);
}

/** A turn that has ended was remembered before it is told: then the figures are asked for again. */
function follow() {
  const address = new URL(`/ws/conversations/${place.dataset.conversation}/`, window.location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  socket.addEventListener("message", async (event) => {
    const frame = JSON.parse(event.data);
    if (frame.type !== "turn" || OPEN.includes(frame.turn.state)) return;
    grow(frame.turn.ordinal);
    await refresh();
    document.getElementById("followed").textContent = say("life_followed", { n: frame.turn.ordinal });
  });
  socket.addEventListener("close", (event) => { if (event.code < 4400) window.setTimeout(() => { refresh(); follow(); }, AGAIN); });
}

if (place.dataset.conversation) follow();  // what an analyst reads is nobody's live conversation but its owner's
