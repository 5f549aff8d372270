/* One turn on the page: what the person said, what the agent answered, what happened to both. */
import { el, icon, iconButton } from "../../site/dom.js";
import { locale, say } from "../../site/words.js";
import { fullTime, shortTime } from "../../site/when.js";
import { LiveText } from "./live-text.js";
import { clean, copy, dress, safeFragment } from "./markdown.js";
import { memoryStrip } from "./memory-strip.js";
import { thumbs } from "./thumbs.js";

const seconds = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
export const isLive = (turn) => turn.state === "queued" || turn.state === "running";

export class TurnView {
  /** `page` offers agentName, conversation, retry(turn), stop(turn), edit(turn, text) and drawn(). */
  constructor(turn, page) {
    this.page = page;
    this.open = new Set();
    this.node = el("article", { class: "turn", tabindex: "-1" });
    this.observation = el("section", { class: "side observation" });
    this.action = el("section", { class: "side action" });
    this.node.append(this.observation, this.action);
    this.update(turn);
  }

  /** Show `turn` as it now is; what has streamed so far stays while it runs. */
  update(turn) {
    this.turn = turn;
    this.node.id = `turn-${turn.id}`;
    this.node.dataset.turn = turn.id;
    this.node.dataset.state = turn.state;
    this.node.setAttribute("aria-label", turn.observation.speaker || say("you"));
    if (!this.editing) this.showObservation();
    if (turn.state === "running") this.showRunning();
    else this.showEnded();
  }

  showObservation() {
    const { observation, state, branches } = this.turn;
    const body = this.bodyOf(observation);
    const facts = el("div", { class: "side-facts" });
    if (state === "sending") facts.append(el("span", { class: "state-line", text: say("sending") }));
    if (state === "queued") {
      facts.append(el("span", { class: "state-line queued", text: say("queued") }),
        el("button", { type: "button", class: "link-button", text: say("do_not_send"), on: { click: () => this.page.stop(this.turn) } }));
    }
    if (branches?.length) facts.append(el("span", { text: say("edited", { n: branches.length }) }));
    if (observation.at && state !== "sending") facts.append(this.timeOf(observation.at));
    const tools = el("div", { class: "side-tools" }, this.copyButton(observation.text));
    if (!isLive(this.turn) && state !== "sending") tools.append(iconButton("edit", say("edit"), "edit", () => this.startEdit()));
    this.observation.replaceChildren(el("h2", { class: "seen-by-readers", text: observation.speaker || say("you") }), body, el("div", { class: "side-foot" }, facts, tools));
  }

  showRunning() {
    if (this.live) return;
    const body = el("div", { class: "markdown", dir: "auto" });
    this.live = new LiveText(body, () => this.page.drawn());
    this.stageLine = el("p", { class: "stage" }, el("span", { class: "pulse", "aria-hidden": "true" }), el("span", { text: say("stage_waiting") }));
    const partial = this.turn.action?.text;
    if (partial) {
      body.append(safeFragment(partial));
      dress(body);
    }
    this.action.replaceChildren(this.actionHead(), body, this.stageLine);
  }

  /** A stage of the running turn; once text streams, only the remembering is worth a line. */
  stage(name) {
    if (!this.live || !this.stageLine) return;
    this.stageLine.lastElementChild.textContent = say(`stage_${name}`);
    this.stageLine.hidden = name === "answering" && this.live.text !== "";
  }

  delta(seq, text) {
    if (!this.live) return;
    this.stageLine.hidden = true;
    this.live.add(seq, text);
  }

  showEnded() {
    this.live?.end();
    this.live = null;
    const { action, state } = this.turn;
    if (state === "queued" || state === "sending") {
      this.action.replaceChildren();
      return;
    }
    const parts = [this.actionHead()];
    if (action?.text) parts.push(this.bodyOf(action));
    const notice = this.noticeOf();
    if (notice) parts.push(notice);
    const strip = memoryStrip(this.turn, this.page.conversation, this.open);
    if (strip) parts.push(strip);
    if (action?.text) parts.push(this.actionFoot());
    this.action.replaceChildren(...parts);
  }

  actionHead() {
    const speaker = this.turn.action?.speaker || this.page.agentName;
    return el("h2", { class: "speaker", text: speaker });
  }

  actionFoot() {
    const { action, timings_ms: timings } = this.turn;
    const facts = el("div", { class: "side-facts" }, action.at ? this.timeOf(action.at) : "");
    const total = Object.values(timings ?? {}).reduce((sum, value) => sum + (value || 0), 0);
    if (total > 0) {
      const stages = Object.entries(timings).map(([stage, value]) => `${say(`timing_${stage}`)} ${Math.round(value)} ms`).join(", ");
      facts.append(el("span", { class: "figure", title: say("took_title", { stages }), text: say("took", { seconds: seconds.format(total / 1000) }) }));
    }
    return el("div", { class: "side-foot" }, facts, el("div", { class: "side-tools" }, thumbs(this.turn.id), this.copyButton(action.text)));
  }

  /** What went wrong, in words, with the way on. */
  noticeOf() {
    const { state, error } = this.turn;
    if (state === "done" && !error) return null;
    const words = state === "stopped" ? say("stopped") : error?.sentence || say(state === "interrupted" ? "interrupted" : "failed_turn");
    const severe = state === "failed";
    const notice = el("div", { class: `turn-notice ${severe ? "severe" : ""}` }, icon(severe ? "warning" : "info"), el("span", { text: words }));
    const mayRetry = state === "stopped" || state === "interrupted" || error?.retry || (severe && !error);
    if (mayRetry) notice.append(el("button", { type: "button", class: "button small try-again", text: say("try_again"), on: { click: () => this.page.retry(this.turn) } }));
    return notice;
  }

  startEdit() {
    if (this.editing) return;
    this.editing = true;
    const field = el("textarea", { class: "edit-field", dir: "auto", "aria-label": say("edit_label"), rows: "3", maxlength: "65536" });
    field.value = this.turn.observation.text;
    const finish = (focus = true) => {
      this.editing = false;
      this.showObservation();
      if (focus) document.getElementById("composer").focus();
    };
    const send = () => {
      const text = field.value;
      if (!text.trim()) return;
      finish();
      this.page.edit(this.turn, text);
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.stopPropagation(); finish(); }
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
    });
    const buttons = el("div", { class: "edit-actions" },
      el("button", { type: "button", class: "button small", text: say("cancel"), on: { click: () => finish() } }),
      el("button", { type: "button", class: "button small primary", text: say("edit_send"), on: { click: send } }));
    this.observation.replaceChildren(field, buttons);
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }

  bodyOf(side) {
    const body = el("div", { class: "markdown", dir: "auto" });
    body.append(side.html ? clean(side.html) : safeFragment(side.text));
    dress(body);
    return body;
  }

  timeOf(at) {
    return el("time", { datetime: at, title: fullTime(at), text: shortTime(at) });
  }

  copyButton(text) {
    const button = iconButton("copy", say("copy"), "copy", () => copy(text, button));
    return button;
  }
}
