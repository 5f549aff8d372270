/* The labelling queue, by keyboard alone: what is shown now, what comes next, and answers that are sent one by one. */
import { ApiError, get, post, remove } from "../site/api.js";
import { toast } from "../site/toast.js";
import { say } from "../site/words.js";
import { drawItem, drawRest, nameOf } from "./labelling-stage.js";

const at = (id) => document.getElementById(id);
const PAUSE = 5000; // between looks at an empty queue
const AHEAD = 3; // answers that may be on their way while the next item is shown

class Queue {
  constructor(root) {
    this.path = root.dataset.items;
    this.settling = Boolean(root.dataset.settling);
    this.now = null;
    this.next = [];
    this.given = []; // answers of this page that can be undone, the last at the end
    this.value = null;
    this.progress = { answered: 0, left: 0, disputed: 0 };
    this.sending = Promise.resolve();
    at("desk").addEventListener("keydown", (event) => this.key(event));
    at("help-open").addEventListener("click", () => at("help").showModal());
    window.setInterval(() => { if (this.idle && !document.hidden) this.look(false); }, PAUSE);
  }

  /** Nothing is shown, and nothing is on its way that could say what comes next. */
  get idle() {
    return !this.now && !this.unsaved.length;
  }

  /** Answers that are on their way. */
  get unsaved() {
    return this.given.filter((one) => !one.saved);
  }

  /** Ask what waits. While nothing is shown, what comes is shown at once. */
  async look(aloud = true) {
    try {
      this.take(await get(this.path));
      if (!this.now) this.advance(aloud);
    } catch (error) {
      if (aloud) this.rest("unread", error.message);
    }
  }

  /** Learn what the server says of the queue: only now it is known what is still in it. */
  take({ items, progress }) {
    const held = new Set([this.now?.id, ...this.given.map((one) => one.item.id)]);
    this.next = items.filter((item) => !held.has(item.id));
    this.progress = progress;
    this.showProgress();
  }

  advance(aloud = true) {
    this.now = this.next.shift() ?? null;
    this.value = null;
    if (this.now) this.draw();
    else if (aloud || !at("stage").querySelector(".empty")) this.rest(this.given.length ? "finished" : "empty");
  }

  draw() {
    if (at("stage").contains(document.activeElement)) at("desk").focus(); // what has the focus is about to go
    drawItem(at("stage"), this.now, this);
    this.focus(".judged");
    this.mark();
  }

  /** Whoever is at work here goes on here; whoever is elsewhere on the page stays there. */
  focus(part) {
    const here = document.activeElement;
    if (document.querySelector("dialog[open]") || (here !== document.body && !at("desk").contains(here))) return;
    const node = at("stage").querySelector(part);
    node.focus();
    node.scrollIntoView({ block: "nearest" });
  }

  rest(kind, why = "") {
    if (at("stage").contains(document.activeElement)) at("desk").focus();
    const n = this.given.filter((one) => one.value !== null).length;
    drawRest(at("stage"), this.settling && kind === "empty" ? "empty_disputes" : kind, { n, why, look: () => this.look(), undo: this.given.length ? () => this.undo() : null });
    this.focus("button");
  }

  showProgress() {
    const { answered, left, disputed } = this.progress;
    const total = this.settling ? this.given.length + disputed : answered + left;
    at("progress").max = Math.max(total, 1);
    at("progress").value = this.settling ? this.given.length : answered;
    at("progress-text").textContent = this.settling ? say("progress_disputes", { n: disputed }) : say("progress", { answered, left });
    const tag = at("disputed");
    if (tag) {
      tag.hidden = !disputed;
      tag.textContent = String(disputed);
    }
  }

  // --- what a person does ---------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const act = this.action(event.key, event.target);
    if (!act) return;
    event.preventDefault();
    act();
  }

  action(key, target) {
    if (key === "?") return () => at("help").showModal();
    if (key === "u" || key === "U") return () => this.undo();
    if (!this.now) return null;
    const compared = this.now.mode === "compare";
    if (!compared && /^[0-4]$/.test(key)) return () => this.choose(Number(key));
    if (key === "ArrowLeft" || key === "ArrowRight") return () => this.step(key === "ArrowRight", compared);
    if (key === "ArrowUp" || key === "ArrowDown") return () => this.read(key === "ArrowDown" ? 1 : -1);
    if (key === "Enter") return this.leaves(target) ? null : () => this.accept();
    if ((key === "s" || key === "S") && !this.settling) return () => this.answer(null);
    return null;
  }

  /** Enter on a button is the button's, but for the answer that is chosen already. */
  leaves(target) {
    const button = target.closest("button, a");
    return button && !(button.dataset.value && Number(button.dataset.value) === this.value);
  }

  choose(value) {
    if (!this.now) return;
    this.value = value;
    this.mark();
    at("said").textContent = say("chosen", { answer: nameOf(this.now, value) });
  }

  step(up, compared) {
    if (compared) this.choose(up ? 1 : 0);
    else this.choose(this.value === null ? 2 : Math.max(0, Math.min(4, this.value + (up ? 1 : -1))));
  }

  /** Go through the sides, around what is judged and it too. */
  read(by) {
    const sides = [...at("stage").querySelectorAll(".said")];
    const here = sides.indexOf(document.activeElement.closest(".said"));
    const judged = sides.findIndex((side) => side.classList.contains("judged"));
    const next = sides[Math.max(0, Math.min(sides.length - 1, (here < 0 ? judged : here) + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  mark() {
    for (const button of at("stage").querySelectorAll("[data-value]")) button.setAttribute("aria-pressed", String(Number(button.dataset.value) === this.value));
    for (const sheet of at("stage").querySelectorAll("[data-sheet]")) sheet.classList.toggle("chosen", Number(sheet.dataset.sheet) === this.value);
  }

  accept() {
    if (!this.now) return;
    if (this.value === null) at("said").textContent = say("choose_first");
    if (this.value === null) toast(say("choose_first"));
    else this.answer(this.value);
  }

  /** The next item is there at once; the answer follows behind those before it. */
  answer(value) {
    if (!this.now) return;
    const one = { item: this.now, value, saved: false };
    this.given.push(one);
    this.trouble("");
    at("said").textContent = value === null ? say("skipped") : say("taken", { answer: nameOf(one.item, value) });
    if (this.next.length && this.unsaved.length < AHEAD) this.advance();
    else this.wait();
    this.sending = this.sending.then(() => this.send(one));
  }

  /** Nothing is at hand, or a slow server is behind: the next item comes with an answer that arrived. */
  wait() {
    this.now = null;
    at("stage").setAttribute("aria-busy", "true");
  }

  async send(one) {
    try {
      const but = [this.now, ...this.unsaved.map((other) => other.item)].filter((item) => item && item !== one.item);
      const found = await post(`${this.path}${one.item.id}/`, { value: one.value, but: but.map((item) => item.id) });
      one.saved = true;
      this.take(found);
      if (!this.now) this.advance();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.given = this.given.filter((other) => other !== one);
      if ([404, 409].includes(error.status)) this.left(error.message);
      else this.again(one, error.message);
    }
  }

  /** The item is not to be answered any more. */
  left(why) {
    toast(why);
    if (!this.now) this.look();
  }

  /** An answer that did not arrive is asked for again. */
  again(one, why) {
    if (this.now) this.next.unshift(this.now);
    this.now = one.item;
    this.value = one.value;
    this.draw();
    this.trouble(say("not_saved", { why }));
  }

  trouble(sentence) {
    at("trouble").hidden = !sentence;
    at("trouble-text").textContent = sentence;
  }

  undo() {
    const one = this.given.pop();
    if (!one) {
      toast(say("nothing_to_undo"));
      return;
    }
    this.sending = this.sending.then(() => this.takeBack(one));
  }

  async takeBack(one) {
    if (!one.saved) return; // it never arrived: it is being asked for again
    try {
      const { progress } = await remove(`${this.path}${one.item.id}/`);
      if (this.now) this.next.unshift(this.now);
      this.now = one.item;
      this.value = one.value;
      this.progress = progress;
      this.draw();
      this.showProgress();
      at("said").textContent = say("undone");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status !== 404) this.given.push(one);
      toast(error.message);
    }
  }
}

const queue = new Queue(at("labelling"));
await queue.look();
