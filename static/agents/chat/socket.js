/* The websocket of one conversation: reconnects with backoff, tells when it is open, lost or refused for good. */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const REFUSED = { 4401: "signed_out", 4404: "not_found" };

export class TurnSocket {
  /**
   * `on` has frame(frame), open(), lost() and refused(reason); reason is "signed_out" or "not_found", after which
   * nothing more is tried.
   */
  constructor(conversation, on) {
    this.conversation = conversation;
    this.on = on;
    this.wait = FIRST_WAIT;
    this.ended = false;
    this.tryNow = this.tryNow.bind(this);
    window.addEventListener("online", this.tryNow);
    this.connect();
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  connect() {
    window.clearTimeout(this.timer);
    const scheme = window.location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${window.location.host}/ws/conversations/${this.conversation}/`);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.on.open();
    });
    socket.addEventListener("message", (message) => this.receive(message));
    socket.addEventListener("close", (event) => {
      if (socket === this.socket) this.closed(event.code);
    });
  }

  receive(message) {
    let frame;
    try {
      frame = JSON.parse(message.data);
    } catch {
      return; // not of our protocol: nothing to show
    }
    this.on.frame(frame);
  }

  closed(code) {
    if (this.ended) return;
    if (REFUSED[code]) {
      this.end();
      this.on.refused(REFUSED[code]);
      return;
    }
    this.on.lost();
    const jitter = 0.75 + Math.random() / 2;
    this.timer = window.setTimeout(() => this.connect(), this.wait * jitter);
    this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
  }

  /** Reconnect without waiting, where the connection is lost. */
  tryNow() {
    if (this.ended || this.isOpen || this.socket?.readyState === WebSocket.CONNECTING) return;
    this.wait = FIRST_WAIT;
    this.connect();
  }

  /** Send a frame; false when there is no connection to send it on. */
  send(frame) {
    if (!this.isOpen) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  end() {
    this.ended = true;
    window.clearTimeout(this.timer);
    window.removeEventListener("online", this.tryNow);
    this.socket?.close();
  }
}
