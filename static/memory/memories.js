/* The page "What does this agent know about me": one bank, searched and paged, with what a person may do to each. */
import { get } from "../site/api.js";
import { el, icon } from "../site/dom.js";
import { toast } from "../site/toast.js";
import { locale, say } from "../site/words.js";
import { memoryRow, reasonOf } from "./rows.js";
import { erase } from "./store.js";

const at = (id) => document.getElementById(id);
const number = new Intl.NumberFormat(locale);
const tabs = [...document.querySelectorAll('[role="tab"]')];

/** What is shown is kept in the address, so that a reload and a link show the same. */
const address = new URL(window.location.href).searchParams;
const shown = { agent: address.get("agent") ?? "", state: address.get("state") === "archived" ? "archived" : "held", q: address.get("q") ?? "" };
let agents = [];
let rows = null;
let next = null;
let asked = 0;

function keepAddress() {
  const query = new URLSearchParams(Object.entries(shown).filter(([name, value]) => value && !(name === "state" && value === "held")));
  window.history.replaceState({}, "", query.size ? `?${query}` : window.location.pathname);
}

const agentName = () => agents.find((agent) => agent.id === shown.agent)?.name ?? "";

function gauge(name, used, budget) {
  at(`gauge-${name}`).textContent = say(`gauge_${name}`, { used: number.format(used), budget: number.format(budget) });
  const share = budget ? Math.min(1, used / budget) : 0;
  at(`track-${name}`).style.setProperty("--share", String(share));
  at(`track-${name}`).classList.toggle("full", share >= 0.95);
}

/** `bank` is null as long as the person never talked with this agent. */
function showBank(bank) {
  at("bank").hidden = !bank;
  if (!bank) return;
  gauge("memories", bank.held, bank.budget_memories);
  gauge("tokens", bank.tokens, bank.budget_tokens);
  at("policy").textContent = say(bank.policy === "fifo" || bank.policy === "importance" ? `policy_${bank.policy}` : "policy_other", { policy: bank.policy });
  const settings = at("bank-settings");
  settings.href = settings.dataset.address.replace(/[0-9-]{36}/, bank.id);
  at("tab-held").textContent = say("held_n", { n: number.format(bank.held) });
  at("tab-archived").textContent = say("archived_n", { n: number.format(bank.archived) });
}

function noteOf(memory) {
  if (shown.state !== "archived") return say("tokens", { n: memory.tokens });
  return memory.archive_reason ? say("archived_because", { reason: reasonOf(memory.archive_reason) }) : say("archived_plain");
}

async function eraseAsked(memory) {
  if (!window.confirm(say("erase_question"))) return;
  if (await erase(memory.id)) toast(say("erased_now"));
}

function actionsOf(memory) {
  if (memory.state === "forgotten") return [el("button", { type: "button", class: "button small quiet erase", text: say("erase"), on: { click: () => eraseAsked(memory) } })];
  return [];
}

function emptyState() {
  const name = shown.q ? "no_match" : shown.state === "archived" ? "no_archived" : "no_memories";
  const values = { q: shown.q, agent: agentName() };
  const empty = el("div", { class: "empty" }, icon(shown.state === "archived" ? "archive" : "memory"), el("h2", { text: say(`${name}_title`, values) }), el("p", { text: say(`${name}_text`, values) }));
  if (name === "no_memories") empty.append(el("a", { class: "button primary", href: "/chat/", text: say("start_chat") }));
  return empty;
}

function show(answer, more) {
  showBank(answer.bank);
  const made = answer.memories.map((memory) => memoryRow(memory, { note: noteOf(memory), actions: actionsOf }));
  if (more && rows) rows.append(...made);
  else {
    rows = el("ul", { class: "memory-rows" }, ...made);
    at("list").replaceChildren(made.length ? rows : emptyState());
  }
  next = answer.next;
  at("more").hidden = !next;
  at("shown").textContent = say("shown", { n: rows.children.length });
  if (more) made[0]?.querySelector("button")?.focus();
}

async function load(page = "") {
  const turn = ++asked;
  at("list").setAttribute("aria-busy", "true");
  keepAddress();
  try {
    const query = new URLSearchParams({ ...shown, page: String(page) });
    const answer = await get(`/api/memories/?${query}`);
    if (turn === asked) show(answer, Boolean(page));
  } catch (error) {
    if (turn !== asked) return;
    at("list").replaceChildren(el("div", { class: "empty", role: "alert" }, icon("warning"), el("p", { text: error.message })));
  } finally {
    if (turn === asked) at("list").removeAttribute("aria-busy");
  }
}

function chooseState(state) {
  shown.state = state;
  for (const tab of tabs) {
    const chosen = tab.dataset.state === state;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen) at("list").setAttribute("aria-labelledby", tab.id);
  }
}

function showHeading() {
  const heading = at("heading");
  heading.textContent = heading.dataset.sentence.replace("{agent}", agentName());
}

function listen() {
  let timer = 0;
  at("query").addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => { shown.q = at("query").value.trim(); load(); }, 200);
  });
  at("agent").addEventListener("change", () => { shown.agent = at("agent").value; showHeading(); load(); });
  at("more").addEventListener("click", () => load(next));
  for (const tab of tabs) {
    tab.addEventListener("click", () => { chooseState(tab.dataset.state); load(); });
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const other = tabs[(tabs.indexOf(tab) + 1) % tabs.length];
      other.focus();
      other.click();
    });
  }
}

async function start() {
  at("query").value = shown.q;
  chooseState(shown.state);
  try {
    agents = (await get("/api/agents/")).agents;
  } catch (error) {
    at("list").replaceChildren(el("div", { class: "empty", role: "alert" }, icon("warning"), el("p", { text: error.message })));
    return;
  }
  if (!agents.length) {
    at("list").replaceChildren(el("div", { class: "empty" }, icon("agent"), el("h2", { text: say("no_agents_title") }), el("p", { text: say("no_agents_text") })));
    return;
  }
  if (!agents.some((agent) => agent.id === shown.agent)) shown.agent = agents[0].id;
  at("agent").replaceChildren(...agents.map((agent) => el("option", { value: agent.id, text: agent.name, selected: agent.id === shown.agent })));
  showHeading();
  listen();
  load();
}

start();
