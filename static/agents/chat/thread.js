/* The turns of the conversation being shown, kept in step with the server's frames. */
import { say } from "../../site/words.js";
import { isLive, TurnView } from "./turn-view.js";

export class Thread {
  /** `page` is handed to each TurnView; `announce(sentence)` is read out once. */
  constructor(page, announce) {
    this.page = page;
    this.announce = announce;
    this.place = document.getElementById("turns");
    this.views = new Map();
    this.pending = new Map();
    this.followed = new Set();
    this.clock = 0; // counts frames: what was read before a frame came must not undo it
  }

  clear() {
    this.followed.clear();
    for (const view of this.views.values()) view.live?.end();
    this.views.clear();
    this.pending.clear();
    this.place.replaceChildren();
  }

  get isEmpty() {
    return this.views.size === 0 && this.pending.size === 0;
  }

  /** The turns shown, the oldest first. */
  get inOrder() {
    return [...this.views.values()].sort((one, other) => one.turn.ordinal - other.turn.ordinal);
  }

  get last() {
    let last;
    for (const view of this.views.values()) if (!last || view.turn.ordinal > last.turn.ordinal) last = view;
    return last;
  }

  get running() {
    return [...this.views.values()].find((view) => view.turn.state === "running");
  }

  /**
   * The frames that ask for the streams of all turns still on their way, from the last delta seen of each. Deltas of
   * a turn count only from here on: one that came earlier would leave a gap before it.
   */
  follow() {
    const waiting = [...this.views.values()].filter((view) => isLive(view.turn) && !this.followed.has(view.turn.id));
    return waiting.map((view) => {
      this.followed.add(view.turn.id);
      return { type: "follow", turn: view.turn.id, last_seq: view.live?.lastSeq ?? "" };
    });
  }

  /** The connection is lost: each stream has to be asked for again. */
  unfollow() {
    this.followed.clear();
    for (const waiting of this.pending.values()) waiting.sent = false;
  }

  /**
   * Show the end of a conversation; turns that are no longer in it leave. `mark` is the clock when it was asked for: a
   * turn that a frame has changed since then stays as it is.
   */
  showEnd(turns, mark) {
    const present = new Set(turns.map((turn) => turn.id));
    const first = turns[0]?.ordinal ?? 0;
    const isNewer = (id) => (this.views.get(id)?.touched ?? 0) > mark;
    for (const [id, view] of [...this.views]) {
      if (view.turn.ordinal >= first && !present.has(id) && !isNewer(id)) this.remove(id);
    }
    for (const turn of turns) if (!isNewer(turn.id)) this.show(turn, false);
  }

  /** Show turns that were left out so far. */
  add(turns) {
    for (const turn of turns) if (!this.views.has(turn.id)) this.show(turn, false);
  }

  /** Show a turn that is new or has changed; those it replaces leave. */
  show(turn, tell = true) {
    for (const replaced of turn.branches ?? []) if (replaced !== turn.id) this.remove(replaced);
    const view = this.views.get(turn.id);
    const before = view?.turn.state;
    if (view) view.update(turn);
    else this.insert(new TurnView(turn, this.page));
    if (tell) this.views.get(turn.id).touched = ++this.clock;
    if (!isLive(turn)) this.followed.delete(turn.id);
    if (tell && before !== turn.state) this.tell(turn, before);
    this.markLast();
  }

  insert(view) {
    this.views.set(view.turn.id, view);
    let after;
    for (const other of this.views.values()) {
      if (other.turn.ordinal > view.turn.ordinal && (!after || other.turn.ordinal < after.turn.ordinal)) after = other;
    }
    const firstPending = this.pending.values().next().value;
    this.place.insertBefore(view.node, after?.node ?? firstPending?.view.node ?? null);
  }

  remove(id) {
    const view = this.views.get(id);
    if (!view) return;
    view.live?.end();
    view.node.remove();
    this.views.delete(id);
  }

  /** The last turn alone can be edited. */
  markLast() {
    const last = this.last;
    for (const view of this.views.values()) view.node.classList.toggle("last", view === last);
  }

  delta(frame) {
    const view = this.views.get(frame.turn);
    if (!view || !this.followed.has(frame.turn)) return;
    if (view.turn.state === "queued") view.update({ ...view.turn, state: "running" });
    view.delta(frame.seq, frame.text);
  }

  stage(frame) {
    const view = this.views.get(frame.turn);
    if (!view) return;
    if (view.turn.state === "queued" && frame.stage !== "waiting") view.update({ ...view.turn, state: "running" });
    view.stage(frame.stage);
  }

  /** A message of this page that the server has not yet confirmed. */
  addPending(client, text) {
    const turn = { id: `pending-${client}`, ordinal: Infinity, state: "sending", observation: { text, html: "", speaker: say("you") }, action: null, branches: [] };
    const view = new TurnView(turn, this.page);
    this.pending.set(client, { text, view });
    this.place.append(view.node);
  }

  /** Take a pending message away, confirmed or refused; the answer is its text, or undefined. */
  settle(client) {
    const waiting = this.pending.get(client);
    if (!waiting) return undefined;
    this.pending.delete(client);
    waiting.view.node.remove();
    return waiting.text;
  }

  /** Streams are told once when they begin and once when they end, never token by token. */
  tell(turn, before) {
    const agent = turn.action?.speaker || this.page.agentName;
    if (turn.state === "running") this.announce(say("answering_now", { agent }));
    if (!before || !isLive({ state: before })) return;
    if (turn.state === "done") this.announce(say("answer_is", { agent, text: (turn.action?.text ?? "").slice(0, 1500) }));
    if (turn.state === "stopped") this.announce(say("stopped_now"));
    if (turn.state === "failed" || turn.state === "interrupted") this.announce(turn.error?.sentence || say("failed_turn"));
  }
}
