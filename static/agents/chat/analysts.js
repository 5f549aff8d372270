/* Whether analysts may look at the bank behind a conversation: said in a line above the message field, closed there. */
import { ApiError, put } from "../../site/api.js";
import { toast } from "../../site/toast.js";
import { say } from "../../site/words.js";

const at = (id) => document.getElementById(id);

export class AnalystsNotice {
  /** `told(bank, open)` is called when the person has changed it. */
  constructor(told) {
    this.bank = "";
    this.told = told;
    at("analysts-close").addEventListener("click", () => this.wish(this.bank, false));
  }

  /** Show that this bank is open; "" where it is not, or where there is none yet. */
  show(bank, agent) {
    this.bank = bank;
    this.agent = agent ?? "";
    at("analysts-notice").hidden = !bank;
    at("analysts-text").textContent = bank ? say("analysts_may_look", { agent: this.agent }) : "";
  }

  async wish(bank, open) {
    try {
      await put(`/api/banks/${bank}/analysts/`, { open });
      this.told(bank, open);
      this.show(open ? bank : "", this.agent);
      if (!open) at("composer").focus();
      toast(say(open ? "analysts_opened" : "analysts_closed"), { label: say("undo"), run: () => this.wish(bank, !open) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      toast(error.message);
    }
  }
}
