/* The list beside the thread: conversations by day, search, rename, forget with undo; a drawer on narrow screens. */
import { get, patch, post } from "../../site/api.js";
import { el, iconButton } from "../../site/dom.js";
import { toast } from "../../site/toast.js";
import { daysAgo, monthOf } from "../../site/when.js";
import { say } from "../../site/words.js";

const narrow = window.matchMedia("(max-width: 56rem)");

function groupOf(instant) {
  const days = daysAgo(instant);
  if (days <= 0) return say("today");
  if (days === 1) return say("yesterday");
  return days <= 7 ? say("last_week") : monthOf(instant);
}

export class ConversationList {
  /** `on` has choose(id), gone(id) and titled(id, title): picked, forgotten while shown, given a title. */
  constructor(on) {
    this.on = on;
    this.list = document.getElementById("conversations");
    this.field = document.getElementById("search");
    this.sidebar = document.getElementById("sidebar");
    this.shade = document.getElementById("drawer-shade");
    this.switch = document.getElementById("drawer-switch");
    this.current = "";
    this.asked = 0;
    this.field.addEventListener("input", () => this.soon(180));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.field.value) {
        event.stopPropagation();
        this.field.value = "";
        this.soon(0);
      }
      if (event.key === "ArrowDown") this.list.querySelector("a")?.focus();
    });
    this.list.addEventListener("keydown", (event) => this.move(event));
    this.switch.addEventListener("click", () => this.drawer(!this.isDrawerOpen));
    this.shade.addEventListener("click", () => this.drawer(false));
  }

  get isDrawerOpen() {
    return this.sidebar.classList.contains("open");
  }

  /** Open or close the drawer; on wide screens the list always stands there. */
  drawer(open) {
    this.sidebar.classList.toggle("open", open);
    this.shade.hidden = !open;
    this.switch.setAttribute("aria-expanded", String(open));
    if (open) this.sidebar.querySelector("button").focus();
    else if (this.sidebar.contains(document.activeElement) && narrow.matches) this.switch.focus();
  }

  search() {
    if (narrow.matches) this.drawer(true);
    this.field.focus();
    this.field.select();
  }

  /** Read the list again after a moment; later calls replace earlier ones. */
  soon(milliseconds = 400) {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.load(), milliseconds);
  }

  async load() {
    const asked = ++this.asked;
    const query = this.field.value.trim();
    try {
      const { conversations } = await get(`/api/conversations/?q=${encodeURIComponent(query)}`);
      if (asked !== this.asked) return;
      this.show(conversations, query);
      const shown = conversations.find((conversation) => conversation.id === this.current);
      if (shown) this.on.titled(shown.id, shown.title);
    } catch (error) {
      if (asked !== this.asked) return;
      this.list.replaceChildren(el("p", { class: "list-note", role: "alert", text: `${say("conversations_failed")} ${error.message}` }),
        el("button", { type: "button", class: "button small", text: say("try_again"), on: { click: () => this.load() } }));
    }
  }

  show(conversations, query) {
    if (this.renaming) return;
    const focused = this.list.contains(document.activeElement) ? document.activeElement.closest("[data-conversation]")?.dataset.conversation : null;
    const groups = new Map();
    for (const conversation of conversations) {
      const name = groupOf(conversation.updated_at);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(conversation);
    }
    const sections = [...groups].map(([name, members]) => el("section", {}, el("h2", { class: "list-head", text: name }), el("ul", {}, ...members.map((member) => this.line(member)))));
    if (!sections.length) sections.push(el("p", { class: "list-note", role: "status", text: query ? say("no_match", { q: query }) : say("no_conversations") }));
    this.list.replaceChildren(...sections);
    if (focused) this.list.querySelector(`[data-conversation="${focused}"] a`)?.focus();
  }

  line(conversation) {
    const link = el("a", { href: `/chat/${conversation.id}/`, "aria-current": conversation.id === this.current ? "page" : null },
      el("span", { class: "line-title", dir: "auto", text: conversation.title || say("untitled") }),
      el("span", { class: "line-agent", text: conversation.agent?.name ?? "" }));
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
      event.preventDefault();
      this.drawer(false);
      this.on.choose(conversation.id);
    });
    const node = el("li", { class: "line", data: { conversation: conversation.id } }, link);
    node.append(el("div", { class: "line-tools" },
      iconButton("edit", `${say("rename")}: ${conversation.title}`, "rename", () => this.rename(conversation, node)),
      iconButton("forget", `${say("forget_conversation")}: ${conversation.title}`, "forget-conversation danger", () => this.forget(conversation))));
    return node;
  }

  select(id) {
    this.current = id;
    for (const link of this.list.querySelectorAll("a")) {
      if (link.closest("li").dataset.conversation === id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  move(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [...this.list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    const next = links[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) next.focus();
    else if (event.key === "ArrowUp") this.field.focus();
  }

  rename(conversation, node) {
    const field = el("input", { type: "text", class: "rename-field", maxlength: "200", dir: "auto", "aria-label": say("new_title") });
    field.value = conversation.title;
    this.renaming = true;
    const finish = async (save) => {
      if (!this.renaming) return;
      this.renaming = false;
      const title = field.value.trim();
      node.replaceWith(this.line({ ...conversation, title: save && title ? title : conversation.title }));
      if (!save || !title || title === conversation.title) return;
      try {
        await patch(`/api/conversations/${conversation.id}/`, { title });
        this.on.titled(conversation.id, title);
      } catch (error) {
        toast(error.message);
      }
      this.load();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") finish(true);
      if (event.key === "Escape") { event.stopPropagation(); finish(false); }
    });
    field.addEventListener("blur", () => finish(true));
    node.replaceChildren(field);
    field.focus();
    field.select();
  }

  forget(conversation) {
    const dialog = document.getElementById("forget-conversation");
    const keep = document.getElementById("keep-memories");
    document.getElementById("forget-name").textContent = `“${conversation.title || say("untitled")}”`;
    keep.checked = false;
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "forget") this.sendForget(conversation, keep.checked);
    }, { once: true });
    dialog.showModal();
  }

  async sendForget(conversation, keepMemories) {
    try {
      await post(`/api/conversations/${conversation.id}/forget/`, { keep_memories: keepMemories });
    } catch (error) {
      toast(error.message);
      return;
    }
    this.list.querySelector(`[data-conversation="${conversation.id}"]`)?.remove();
    if (conversation.id === this.current) this.on.gone(conversation.id);
    this.soon(0);
    toast(say("conversation_forgotten"), { label: say("undo"), run: () => this.unforget(conversation) });
  }

  async unforget(conversation) {
    try {
      await post(`/api/conversations/${conversation.id}/unforget/`);
      toast(say("conversation_back"));
      this.on.choose(conversation.id);
    } catch (error) {
      toast(error.message);
    }
    this.soon(0);
  }
}
