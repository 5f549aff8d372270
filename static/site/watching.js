/* Watches a row of work: the server says over a websocket how it stands; where that is away, the page asks. */
import { get } from "./api.js";

const AGAIN = 3000;

/** Watch the row behind `place` (its data-socket and data-state), of which the page knows the state `first`. `show` gets
    each state, the first too; `note` hears how it is watched: "live", "asking", "away", and "" once it is over. */
export function watch(place, first, show, note = () => {}) {
  let over = first.over;

  function told(row) {
    over = row.over;
    show(row);
  }

  async function ask() {
    try {
      told(await get(place.dataset.state));
      note(over ? "" : "asking");
    } catch {
      note("away");
    }
  }

  /** While there is no socket the page asks every few seconds, and tries the socket again each time. */
  function connect() {
    if (over) return;
    const address = new URL(place.dataset.socket, window.location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    let degraded = false;
    const asking = window.setInterval(() => { if (socket.readyState !== WebSocket.OPEN || degraded) ask(); else socket.send("{}"); }, AGAIN);
    socket.addEventListener("message", (event) => {
      const frame = JSON.parse(event.data);
      if (frame.type === "degraded") { degraded = true; return; }
      told(frame[frame.type]);
      note(over ? "" : degraded ? "asking" : "live");
      if (over) socket.close();
    });
    socket.addEventListener("close", () => {
      window.clearInterval(asking);
      if (over) return;
      ask();
      window.setTimeout(connect, AGAIN);
    });
  }

  show(first);
  connect();
}
