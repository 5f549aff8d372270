/* The message field: grows with its text, keeps a draft per conversation, counts near the limit, sends on Enter. */
import { locale, say } from "../../site/words.js";

export const LIMIT = 65536;
const NEAR = 2000;
const number = new Intl.NumberFormat(locale);

/** Characters as Python counts them: code points, not UTF-16 units. */
function lengthOf(text) {
  let count = text.length;
  if (count > LIMIT - NEAR) count = [...text].length;
  return count;
}

export class Composer {
  /** `on` has send(text), stop() and editLast(). */
  constructor(on) {
    this.on = on;
    this.field = document.getElementById("composer");
    this.sendButton = document.getElementById("send");
    this.stopButton = document.getElementById("stop");
    this.hint = document.getElementById("composer-hint");
    this.count = document.getElementById("composer-count");
    this.key = "new";
    this.field.addEventListener("input", () => this.changed());
    this.field.addEventListener("keydown", (event) => this.pressed(event));
    this.stopButton.addEventListener("click", () => on.stop());
    document.getElementById("composer-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.measure();
  }

  pressed(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.submit();
    }
    if (event.key === "ArrowUp" && !this.field.value) {
      event.preventDefault();
      this.on.editLast();
    }
  }

  submit() {
    const text = this.field.value;
    if (!text.trim() || this.over > 0 || this.disabled) return;
    this.fill("");
    this.on.send(text);
  }

  changed() {
    this.measure();
    this.keepDraft();
  }

  measure() {
    const length = lengthOf(this.field.value);
    this.over = length - LIMIT;
    this.count.classList.toggle("over", this.over > 0);
    if (this.over > 0) this.count.textContent = say("too_long", { n: number.format(this.over) });
    else this.count.textContent = length > LIMIT - NEAR ? say("left", { n: number.format(-this.over) }) : "";
    this.hint.hidden = this.count.textContent !== "";
    this.field.setAttribute("aria-invalid", String(this.over > 0));
    this.sendButton.disabled = !this.field.value.trim() || this.over > 0 || Boolean(this.disabled);
    this.grow();
  }

  grow() {
    this.field.style.setProperty("height", "auto");
    this.field.style.setProperty("height", `${this.field.scrollHeight + 2}px`);
  }

  fill(text) {
    this.field.value = text;
    this.changed();
  }

  /** Show the draft of another conversation ("new" for one not yet begun). */
  show(key) {
    this.key = key;
    let draft = "";
    try {
      draft = window.sessionStorage.getItem(`agora-draft-${key}`) ?? "";
    } catch {
      // Storage is switched off: drafts then last for this page only.
    }
    this.fill(draft);
  }

  keepDraft() {
    try {
      if (this.field.value) window.sessionStorage.setItem(`agora-draft-${this.key}`, this.field.value);
      else window.sessionStorage.removeItem(`agora-draft-${this.key}`);
    } catch {
      // As above: nothing is lost but the draft of a reload.
    }
  }

  /** While a reply runs, an empty field offers Stop; a written one offers Send, which queues. */
  running(isRunning) {
    this.stopButton.hidden = !isRunning;
  }

  enable(enabled) {
    this.disabled = !enabled;
    this.field.disabled = !enabled;
    this.measure();
  }

  focus() {
    this.field.focus();
  }
}
