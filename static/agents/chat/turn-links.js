/* Addresses that end in #turn-…: the page goes to that turn, wherever it is in the conversation. */

const TURN = /^#turn-([0-9a-f-]{36})$/i;

export class TurnLinks {
  /** `open()` shows the conversation that the address names now. */
  constructor(earlier, follower, open) {
    Object.assign(this, { earlier, follower, open });
    window.addEventListener("hashchange", () => this.point());
    document.addEventListener("click", (event) => this.follow(event));
  }

  /** A link to a turn of the conversation shown, or of another one, opens without loading the page anew. */
  follow(event) {
    const link = event.target.closest?.("a.memory-source");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const target = new URL(link.href);
    const same = target.pathname === window.location.pathname;
    window.history.pushState({}, "", target.pathname + target.hash);
    if (same) this.point();
    else this.open();
  }

  /** Where reading begins: at the turn that the address names, else at the end. */
  async begin() {
    const conversation = this.earlier.conversation();
    if (!(await this.point()) && conversation === this.earlier.conversation()) this.follower.toEnd();
  }

  /** Go to the turn that the address names; false where it names none that is there. */
  async point() {
    const turn = window.location.hash.match(TURN)?.[1];
    if (!turn) return false;
    await this.earlier.find(turn);
    const node = document.getElementById(`turn-${turn}`);
    if (node) this.follower.toTurn(node);
    return Boolean(node);
  }
}
