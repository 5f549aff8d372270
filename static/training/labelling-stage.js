/* How an item of the labelling queue looks, and what stands in its place when there is none. */
import { el, icon } from "../site/dom.js";
import { knows, say } from "../site/words.js";

const GRADES = [0, 1, 2, 3, 4];

/** The name of an answer to an item: a grade with its word, or a side. */
export function nameOf(item, value) {
  if (item.mode === "compare") return say(value ? "right_one" : "left_one");
  return `${value}, ${say(`grade_${value}`)}`;
}

/** Draw an item; `hand` has choose(value), accept(), answer(null) and undo(). */
export function drawItem(stage, item, hand) {
  const compared = item.mode === "compare";
  const sheets = item.memories.map((memory, place) => sheet(memory, compared ? place : null));
  stage.replaceChildren(
    el("h2", { id: "question", text: say(compared ? "compare_question" : "rate_question") }),
    el("div", { class: "sheets" }, ...sheets),
    ...(item.answers ? [el("p", { class: "others", text: say("others_said", { said: item.answers.map((value) => nameOf(item, value)).join(" · ") }) })] : []),
    el("div", { class: "verdict" }, answers(item, hand), hands(item, hand)),
  );
  stage.dataset.item = item.id;
  stage.setAttribute("aria-busy", "false");
}

function sheet(memory, place) {
  const name = place === null ? "to_judge" : ["to_judge_left", "to_judge_right"][place];
  const side = (said, judged) => el("div", { class: judged ? "said judged" : "said", tabindex: "-1", role: "group", "aria-label": judged ? `${say(name)}, ${roleOf(said)}` : roleOf(said) },
    el("span", { class: "who", text: judged ? `${say(name)} · ${roleOf(said)}` : roleOf(said) }),
    el("span", { class: "words", dir: "auto", text: said.text }));
  return el("div", { class: "sheet", data: place === null ? {} : { sheet: String(place) } },
    ...memory.before.map((said) => side(said, false)),
    side(memory, true),
    ...memory.after.map((said) => side(said, false)),
    el("div", { class: "fate" }, ...fate(memory).map((words) => el("span", { class: "tag", text: words }))));
}

function roleOf(said) {
  return say(`role_${said.role}`);
}

/** What became of the memory: where it is, why it left, how often it was recalled and told. */
function fate(memory) {
  const why = `fate_archived_${memory.reason}`;
  const where = memory.state === "held" ? "fate_held" : knows(why) ? why : "fate_archived";
  return [
    say(where),
    ...(memory.pinned ? [say("fate_pinned")] : []),
    memory.recalls ? say("recalls", { n: memory.recalls }) : say("recalls_never"),
    ...(memory.told > 1 ? [say("told", { n: memory.told })] : []),
  ];
}

function answers(item, hand) {
  const compared = item.mode === "compare";
  const button = (value, key, words) => el("button", { type: "button", class: "button grade", "aria-pressed": "false", data: { value: String(value) }, on: { click: () => hand.choose(value) } }, el("b", { text: key }), el("span", { text: words }));
  const buttons = compared ? [button(0, "←", say("left_one")), button(1, "→", say("right_one"))] : GRADES.map((grade) => button(grade, String(grade), say(`grade_${grade}`)));
  return el("div", { class: compared ? "answers" : "answers rating", role: "group", "aria-label": say("answers") }, ...buttons);
}

function hands(item, hand) {
  const tool = (name, key, run, kind = "") => el("button", { type: "button", class: `button ${kind}`, on: { click: run } }, say(name), " ", el("kbd", { text: key }));
  return el("div", { class: "hands" },
    tool("take", "Enter", () => hand.accept(), "primary"),
    ...(item.answers ? [] : [tool("skip", "S", () => hand.answer(null))]),
    tool("undo", "U", () => hand.undo(), "quiet"));
}

/** Draw what stands there when no item does: `kind` empty, empty_disputes, finished or unread. */
export function drawRest(stage, kind, { n, why, look, undo }) {
  const again = el("button", { type: "button", class: "button", text: say("look_again"), on: { click: look } });
  delete stage.dataset.item;
  stage.replaceChildren(el("div", { class: "card empty", data: { rest: kind } },
    icon(kind === "unread" ? "warning" : "check"),
    el("h2", { text: say(`${kind}_title`) }),
    el("p", { text: kind === "unread" ? why : say(`${kind}_text`, { n }) }),
    el("div", { class: "form-actions" }, again, undo ? el("button", { type: "button", class: "button quiet", on: { click: undo } }, say("undo"), " ", el("kbd", { text: "U" })) : null)));
  stage.setAttribute("aria-busy", "false");
}
