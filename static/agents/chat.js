/* The chat page: ties the list, the thread, the composer and the socket together. */
import { ApiError, get, post } from "../site/api.js";
import { toast } from "../site/toast.js";
import { say } from "../site/words.js";
import { AnalystsNotice } from "./chat/analysts.js";
import { Composer } from "./chat/composer.js";
import { ConversationList } from "./chat/conversations.js";
import { Earlier } from "./chat/earlier.js";
import { startKeys } from "./chat/keys.js";
import { LabellingSwitch } from "./chat/labelling.js";
import { beginLife, pointLifeLink } from "./chat/life_link.js";
import { Follower } from "./chat/scroll.js";
import { TurnSocket } from "./chat/socket.js";
import { Thread } from "./chat/thread.js";
import { TurnLinks } from "./chat/turn-links.js";
import { hideWelcome, showEmpty, showGone, showStart } from "./chat/welcome.js";

const at = (id) => document.getElementById(id);
const fromPath = () => window.location.pathname.match(/\/chat\/([0-9a-f-]{36})\//i)?.[1] ?? "";

/** A random UUID, on plain http too, where crypto.randomUUID is missing. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

class ChatPage {
  constructor() {
    this.conversation = "";
    this.agentName = "";
    this.agents = [];
    this.socket = null;
    const announce = (sentence) => { at("announcer").textContent = sentence; };
    this.thread = new Thread(this, announce);
    this.labelling = new LabellingSwitch();
    this.analysts = new AnalystsNotice((bank, open) => this.bankOpened(bank, open));
    this.follower = new Follower(at("thread"), at("jump"));
    this.earlier = new Earlier(this.thread, this.follower, () => this.conversation, announce);
    this.links = new TurnLinks(this.earlier, this.follower, () => this.open(fromPath()));
    this.composer = new Composer({ send: (text) => this.send(text), stop: () => this.stop(), editLast: () => this.thread.last?.startEdit() });
    this.list = new ConversationList({
      choose: (id) => this.go(id),
      gone: () => this.go(""),
      titled: (id, title) => { if (id === this.conversation) this.title(title); },
    });
    at("new-conversation").addEventListener("click", () => this.go(""));
    at("connection-now").addEventListener("click", () => this.socket?.tryNow());
    window.addEventListener("popstate", () => this.open(fromPath()));
    startKeys({
      search: () => this.list.search(),
      create: () => this.go(""),
      compose: () => this.composer.focus(),
      stop: () => this.stop(),
      closeDrawer: () => this.list.isDrawerOpen && (this.list.drawer(false), true),
    });
  }

  async start() {
    this.list.load();
    try {
      this.agents = (await get("/api/agents/")).agents;
    } catch (error) {
      toast(error.message);
    }
    await this.open(at("chat").dataset.conversation || fromPath());
  }

  /** Show another conversation ("" for a new one) and put it in the address. */
  go(id) {
    this.list.drawer(false);
    window.history.pushState({}, "", id ? `/chat/${id}/` : "/chat/");
    this.open(id);
  }

  async open(id) {
    this.socket?.end();
    this.socket = null;
    this.connection("");
    this.labelling.show("", "", null);
    this.analysts.show("");
    this.thread.clear();
    this.earlier.clear();
    this.conversation = id;
    this.readOf = null;
    this.list.select(id);
    this.composer.show(id || "new");
    this.composer.enable(true);
    this.refresh();
    hideWelcome();
    if (!id) this.openNew();
    else this.connect();
  }

  openNew() {
    this.agent = this.agents.find((agent) => agent.id === this.agent?.id) ?? this.agents[0];
    const choose = (agent) => { this.agent = agent; this.head("", agent, "", agent?.labelling ? "agent" : ""); this.analysts.show(agent?.analysts, agent?.name); at("thread-head").hidden = true; };
    choose(this.agent);
    const tryText = (text) => { this.composer.fill(text); this.composer.focus(); };
    showStart(this.agents, this.agent?.id, { choose, tryText });
    this.composer.enable(this.agents.length > 0);
    if (window.matchMedia("(min-width: 56rem)").matches) this.composer.focus();
  }

  /** What the list of agents says of a bank follows what its person said here. */
  bankOpened(bank, open) {
    const agent = this.agents.find((one) => one.analysts === bank || one.id === this.agent?.id);
    if (agent) agent.analysts = open ? bank : "";
  }

  /** Read the conversation and show it. */
  async read() {
    const id = this.conversation;
    const first = this.readOf !== id;
    const mark = this.thread.clock;
    try {
      const { conversation, turns } = await get(`/api/conversations/${id}/`);
      if (id !== this.conversation) return;
      this.readOf = id;
      this.agent = conversation.agent;
      this.head(conversation.title, conversation.agent, id, conversation.labelling);
      this.analysts.show(conversation.analysts, conversation.agent?.name);
      this.thread.showEnd(turns, mark);
      this.earlier.mark();
      beginLife(turns.at(-1)?.ordinal ?? 0);
      this.refresh();
      if (this.thread.isEmpty) showEmpty(this.agentName);
      else hideWelcome();
      if (first) this.links.begin(); // not waited for: what streams is followed meanwhile
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // A thread that stands already stays; the next connection reads it again.
      if (id === this.conversation && (first || error.status === 404)) this.unreadable(error);
    }
  }

  unreadable(error) {
    this.composer.enable(false);
    this.labelling.show("", "", null);
    this.analysts.show("");
    at("thread-head").hidden = true;
    if (error.status === 404) showGone(say("not_found_title"), say("not_found_text"), { label: say("untitled"), run: () => this.go("") });
    else showGone(say("failed"), error.message, { label: say("try_again"), run: () => this.open(this.conversation) });
  }

  head(title, agent, conversation, labelling) {
    this.labelling.show(conversation, labelling, agent);
    this.agentName = agent?.name ?? "";
    at("thread-agent").textContent = this.agentName;
    at("agent-notice").textContent = agent?.notice ?? "";
    at("agent-notice").hidden = !agent?.notice;
    at("thread-head").hidden = false;
    pointLifeLink(conversation);
    this.title(title);
  }

  title(title) {
    at("thread-title").textContent = title || say("untitled");
    document.title = `${title || say("untitled")} · AGORA`;
  }

  connect() {
    const id = this.conversation;
    this.socket = new TurnSocket(id, {
      open: async () => {
        this.connection("");
        // Reading comes after opening, so that no turn falls between the two; then unfinished turns are followed.
        await this.read();
        if (id !== this.conversation) return;
        this.follow();
        for (const client of this.thread.pending.keys()) this.deliver(client);
      },
      lost: () => {
        this.connection("reconnecting");
        if (this.readOf !== id) this.read();
        this.thread.unfollow();
      },
      refused: (reason) => this.refused(reason),
      frame: (frame) => this.receive(frame),
    });
  }

  follow() {
    for (const frame of this.thread.follow()) this.socket?.send(frame);
  }

  refused(reason) {
    if (reason === "signed_out") {
      this.connection("signed_out");
      at("connection-sign-in").search = `?next=${encodeURIComponent(window.location.pathname)}`;
    } else {
      this.thread.clear();
      this.unreadable(new ApiError(404, reason, ""));
    }
  }

  connection(name) {
    at("connection").hidden = !name;
    at("connection-now").hidden = name !== "reconnecting";
    at("connection-sign-in").hidden = name !== "signed_out";
    at("connection-text").textContent = name ? say(name) : "";
  }

  receive(frame) {
    if (frame.type === "turn") this.turnChanged(frame);
    else if (frame.type === "delta") this.thread.delta(frame);
    else if (frame.type === "stage") this.thread.stage(frame);
    else if (frame.type === "error") this.refusedFrame(frame);
    if (frame.type !== "delta") this.refresh();
    if (frame.type !== "error") this.drawn();
  }

  turnChanged({ turn, client }) {
    if (client) this.thread.settle(client);
    const before = this.thread.views.get(turn.id)?.turn.state;
    this.thread.show(turn);
    hideWelcome();
    if (before !== turn.state) this.list.soon();
    this.follow();
  }

  refusedFrame(frame) {
    const text = frame.client ? this.thread.settle(frame.client) : undefined;
    if (text !== undefined && !this.composer.field.value) this.composer.fill(text);
    toast(frame.sentence);
    if (this.thread.isEmpty && this.conversation) showEmpty(this.agentName);
  }

  async send(text) {
    const client = uuid();
    hideWelcome();
    this.thread.addPending(client, text);
    this.follower.toEnd();
    if (!this.conversation && !(await this.create(client))) return;
    if (!this.deliver(client)) this.socket?.tryNow();
  }

  /** Send a pending message once per connection; the server knows a repeated one by its client id. */
  deliver(client) {
    const waiting = this.thread.pending.get(client);
    if (!waiting || waiting.sent) return true;
    waiting.sent = Boolean(this.socket?.send({ type: "send", text: waiting.text, client }));
    return waiting.sent;
  }

  /** Begin the conversation that the first message of a new one belongs to. */
  async create(client) {
    this.composer.enable(false);
    try {
      const conversation = await post("/api/conversations/", { agent: this.agent.id });
      this.conversation = conversation.id;
      this.composer.key = conversation.id;
      window.history.replaceState({}, "", `/chat/${conversation.id}/`);
      this.head(conversation.title, this.agent, conversation.id, conversation.labelling);
      this.analysts.show(conversation.analysts, this.agent.name);
      this.list.select(conversation.id);
      this.readOf = conversation.id;
      this.connect();
      return true;
    } catch (error) {
      const text = this.thread.settle(client);
      toast(error.message);
      this.openNew();
      this.composer.fill(text);
      return false;
    } finally {
      this.composer.enable(true);
      this.composer.focus();
    }
  }

  /** Stop a turn: the running one, where none is named. */
  stop(turn = this.thread.running?.turn) {
    if (turn) this.socket?.send({ type: "stop", turn: turn.id });
  }

  retry(turn) {
    if (!this.socket?.send({ type: "retry", turn: turn.id })) toast(say("reconnecting"));
  }

  edit(turn, text) {
    if (!this.socket?.send({ type: "edit", turn: turn.id, text })) {
      this.composer.fill(text);
      toast(say("reconnecting"));
    }
  }

  drawn() {
    this.follower.follow();
  }

  refresh() {
    this.composer.running(Boolean(this.thread.running));
  }
}

new ChatPage().start();
