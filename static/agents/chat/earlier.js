/* A long conversation opens at its end. Where turns are left out a button says how many and brings some of them; a link
   to one of them brings those around it. */
import { ApiError, get } from "../../site/api.js";
import { el } from "../../site/dom.js";
import { toast } from "../../site/toast.js";
import { say } from "../../site/words.js";

export class Earlier {
  /** `conversation()` is the one shown, `announce(sentence)` is read out once. */
  constructor(thread, follower, conversation, announce) {
    Object.assign(this, { thread, follower, conversation, announce });
    this.none = new Set(); // ordinals before which there are no more, whatever is missing in their count
  }

  /** Another conversation is shown. */
  clear() {
    this.none.clear();
  }

  /** A button wherever turns are left out between two that are shown, or before the first. */
  mark() {
    for (const node of this.thread.place.querySelectorAll(".turn-gap")) node.remove();
    let before = 0;
    for (const view of this.thread.inOrder) {
      const n = view.turn.ordinal - before - 1;
      if (n > 0 && !this.none.has(view.turn.ordinal)) view.node.before(this.button(n, view));
      before = view.turn.ordinal;
    }
  }

  button(n, view) {
    const text = say("earlier", { n });
    const button = el("button", { type: "button", class: "button small", text, on: { click: () => this.show(view, button) } });
    return el("div", { class: "turn-gap" }, button);
  }

  /** Bring the turns before `view`, which stays where the reader has it. */
  async show(view, button) {
    button.disabled = true;
    button.textContent = say("earlier_coming");
    const brought = await this.bring({ before: view.turn.ordinal }, () => view.node);
    if (brought?.length === 0) this.none.add(view.turn.ordinal);
    if (!brought?.length) this.mark(); // the button is as it was, or gone
    if (!brought) return;
    this.thread.views.get(brought[0]?.id)?.node.focus({ preventScroll: true });
    this.announce(say("earlier_shown", { n: brought.length }));
  }

  /** Bring the turn with this id and those around it, where it is not shown. */
  async find(turn) {
    if (!this.thread.views.has(turn)) await this.bring({ around: turn }, () => null);
  }

  /** The turns that came, or undefined where none could be had; the node that `held()` names does not move. */
  async bring(query, held) {
    const id = this.conversation();
    try {
      const { turns } = await get(`/api/conversations/${id}/?${new URLSearchParams(query)}`);
      if (id !== this.conversation()) return undefined;
      const node = held();
      const top = node?.getBoundingClientRect().top;
      this.follower.following = false;
      this.thread.add(turns);
      this.mark();
      if (node) this.follower.thread.scrollTop += node.getBoundingClientRect().top - top;
      return turns;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status !== 404) toast(error.message);
      return undefined;
    }
  }
}
