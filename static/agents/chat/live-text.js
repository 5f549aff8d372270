/* The text of a reply while it streams. Deltas come many times a second; the page is redrawn at most every frame, and
   less often for long texts, so that typing and scrolling stay smooth. */
import { dress, safeFragment } from "./markdown.js";

const SHORTEST_PAUSE = 60;

/** Whether the stream id `one` ("milliseconds-number") comes after `other`. */
function isAfter(one, other) {
  const [time, number] = one.split("-").map(Number);
  const [otherTime, otherNumber] = other.split("-").map(Number);
  return time === otherTime ? number > otherNumber : time > otherTime;
}

export class LiveText {
  /** `body` is redrawn; `drawn()` is called after each time. */
  constructor(body, drawn) {
    this.body = body;
    this.drawn = drawn;
    this.text = "";
    this.deltas = []; // {seq, text}, in order of seq
    this.seen = new Set();
    this.pause = SHORTEST_PAUSE;
    this.timer = 0;
  }

  get lastSeq() {
    return this.deltas.at(-1)?.seq ?? "";
  }

  /** Add a delta once. A live one can overtake the replay of those before it, so that order is by seq. */
  add(seq, text) {
    if (this.seen.has(seq)) return;
    this.seen.add(seq);
    let place = this.deltas.length;
    while (place > 0 && isAfter(this.deltas[place - 1].seq, seq)) place -= 1;
    const isLast = place === this.deltas.length;
    this.deltas.splice(place, 0, { seq, text });
    this.text = isLast ? this.text + text : this.deltas.map((delta) => delta.text).join("");
    if (!this.timer) this.timer = window.setTimeout(() => window.requestAnimationFrame(() => this.draw()), this.pause);
  }

  draw() {
    this.timer = 0;
    if (this.ended) return;
    const started = performance.now();
    const fragment = safeFragment(this.text);
    this.body.replaceChildren(fragment);
    dress(this.body);
    this.drawn();
    this.pause = Math.max(SHORTEST_PAUSE, 4 * (performance.now() - started));
  }

  end() {
    this.ended = true;
    window.clearTimeout(this.timer);
  }
}
