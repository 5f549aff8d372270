/* Whether labellers may read a conversation: said in a line above the message field, changed in a dialog. */
import { ApiError, put } from "../../site/api.js";
import { toast } from "../../site/toast.js";
import { say } from "../../site/words.js";

const OPEN = ["owner", "agent"];
const at = (id) => document.getElementById(id);

export class LabellingSwitch {
  constructor() {
    this.conversation = "";
    this.state = "";
    at("labelling-switch").addEventListener("click", () => this.ask());
    at("labelling-close").addEventListener("click", () => this.wish(false));
  }

  get isOpen() {
    return OPEN.includes(this.state);
  }

  /** Show how it stands: of a conversation its own state, before there is one what its agent's setting will make of it. */
  show(conversation, state, agent) {
    this.conversation = conversation;
    this.state = state;
    this.agent = agent?.name ?? "";
    at("labelling-switch").hidden = !conversation || this.isOpen;
    at("labelling-close").hidden = !conversation;
    at("labelling-notice").hidden = !this.isOpen;
    const sentence = !conversation ? "labelling_will_be" : this.state === "agent" ? "labelling_by_agent" : "labelling_by_owner";
    at("labelling-text").textContent = this.isOpen ? say(sentence, { agent: this.agent }) : "";
  }

  ask() {
    const dialog = at("open-labelling");
    dialog.returnValue = "";
    dialog.addEventListener("close", () => { if (dialog.returnValue === "open") this.wish(true); }, { once: true });
    dialog.showModal();
  }

  async wish(open) {
    const conversation = this.conversation;
    try {
      const { labelling } = await put(`/api/labelling/conversations/${conversation}/`, { open });
      if (conversation !== this.conversation) return;
      this.show(conversation, labelling, { name: this.agent });
      if (!open) at("labelling-switch").focus();
      toast(say(open ? "labelling_opened" : "labelling_closed"), { label: say("undo"), run: () => this.wish(!open) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      toast(error.message);
    }
  }
}
