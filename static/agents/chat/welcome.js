/* What stands in the thread while it is empty: who to talk to, what to say first, or why nothing is there. */
import { el } from "../../site/dom.js";
import { say } from "../../site/words.js";

const place = () => document.getElementById("welcome");

export function hideWelcome() {
  place().hidden = true;
}

function show(...parts) {
  place().replaceChildren(...parts);
  place().hidden = false;
}

function agentCard(agent, chosen, choose) {
  const id = `agent-${agent.id}`;
  const radio = el("input", { type: "radio", name: "agent", id, value: agent.id, checked: agent.id === chosen });
  radio.addEventListener("change", () => choose(agent));
  const backend = say(`backend_${agent.backend}`, { model: agent.model || say("language_model") });
  return el("label", { class: "agent-card", for: id }, radio, el("span", { class: "agent-name", text: agent.name }), el("span", { class: "agent-text", text: agent.description }), el("span", { class: "tag", text: backend }));
}

/** A new conversation: choose an agent, take an example. */
export function showStart(agents, chosen, { choose, tryText }) {
  const parts = [el("h1", { text: say("welcome_title") }), el("p", { class: "welcome-text", text: say("welcome_text") })];
  if (agents.length) {
    parts.push(el("fieldset", { class: "agent-choice" }, el("legend", { text: say("choose_agent") }), el("div", { class: "agent-cards" }, ...agents.map((agent) => agentCard(agent, chosen, choose)))));
    const examples = ["try_1", "try_2", "try_3"].map((name) => el("button", { type: "button", class: "example", text: say(name), on: { click: () => tryText(say(name)) } }));
    parts.push(el("div", { class: "examples" }, el("span", { class: "faint small", text: say("try_label") }), ...examples));
  } else {
    parts.push(el("p", { class: "welcome-text", role: "status", text: say("no_agents") }));
  }
  show(...parts);
}

/** A conversation that has begun but holds no turn. */
export function showEmpty(agentName) {
  show(el("h2", { text: say("empty_title") }), el("p", { class: "welcome-text", text: say("empty_text", { agent: agentName }) }));
}

/** A conversation that is not there, or could not be read. */
export function showGone(title, text, action) {
  show(el("h1", { text: title }), el("p", { class: "welcome-text", role: "alert", text }), el("button", { type: "button", class: "button primary", text: action.label, on: { click: action.run } }));
}
