/* The text of a reply while it streams. Deltas come many times a second; the page is redrawn at most every frame, and
   less often for long texts, so that typing and scrolling stay smooth. */
import { dress, safeFragment } from "./markdown.js";

const SHORTEST_PAUSE = 60;

export class LiveText {
  /** `body` is redrawn; `drawn()` is called after each time. */
  constructor(body, drawn) {
    this.body = body;
    this.drawn = drawn;
    this.text = "";
    this.lastSeq = "";
    this.seen = new Set();
    this.pause = SHORTEST_PAUSE;
    this.timer = 0;
  }

  /** Start anew: the next deltas are a replay from the beginning. */
  restart() {
    this.text = "";
    this.lastSeq = "";
    this.seen.clear();
  }

  add(seq, text) {
    if (this.seen.has(seq)) return;
    this.seen.add(seq);
    this.lastSeq = seq;
    this.text += text;
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
