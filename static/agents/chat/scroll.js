/* Scrolling that follows a stream until the reader scrolls up, and comes back when asked. */

const NEAR = 64;

export class Follower {
  constructor(thread, jump) {
    this.thread = thread;
    this.jump = jump;
    this.following = true;
    this.lastTop = 0;
    thread.addEventListener("scroll", () => this.scrolled(), { passive: true });
    jump.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.follow()).observe(thread);
  }

  get isAtEnd() {
    return this.thread.scrollHeight - this.thread.scrollTop - this.thread.clientHeight < NEAR;
  }

  /** Only the reader scrolls up; growth of the text does not, so that it never stops the following. */
  scrolled() {
    const top = this.thread.scrollTop;
    const gap = this.thread.scrollHeight - top - this.thread.clientHeight;
    if (top < this.lastTop - 2 && gap > 2) this.following = false;
    else if (top > this.lastTop && this.isAtEnd) this.following = true;
    this.lastTop = top;
    this.jump.hidden = this.following || this.isAtEnd;
  }

  follow() {
    if (this.following) this.thread.scrollTop = this.thread.scrollHeight;
    this.jump.hidden = this.following || this.isAtEnd;
  }

  toEnd() {
    this.following = true;
    this.follow();
  }

  /** Show one turn, as a link from a memory asks. */
  toTurn(node) {
    this.following = false;
    const go = () => {
      node.scrollIntoView({ block: "center" });
      this.lastTop = this.thread.scrollTop;
    };
    go();
    // where turns came in above, the browser may still move what is shown by their height
    window.requestAnimationFrame(go);
    node.focus({ preventScroll: true });
    node.classList.add("pointed-at");
    window.setTimeout(() => node.classList.remove("pointed-at"), 2500);
  }
}
