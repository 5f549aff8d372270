/* The link from a conversation to its memory over time. */
import { ahead } from "../../site/ahead.js";

const LONG = 1000; // turns whose past takes the server a second to count: it begins while the conversation is read
const link = document.getElementById("life-link");

/** Point it at this conversation ("" hides it). */
export function pointLifeLink(conversation) {
  link.hidden = !conversation;
  if (!conversation) return;
  const of = (address) => address.replace(/[0-9a-f-]{36}/, conversation);
  link.href = of(link.dataset.address);
  link.dataset.ahead = of(link.dataset.begins);
}

/** The conversation has so many turns. */
export function beginLife(turns) {
  if (turns >= LONG) ahead(link);
}
