/* Instants (ISO 8601, UTC) in the person's zone and language. */
import { locale } from "./words.js";

function knownZone(name) {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return name;
  } catch {
    return undefined; // an unknown zone: the browser's own is the honest second choice
  }
}

const timeZone = document.body.dataset.timeZone ? knownZone(document.body.dataset.timeZone) : undefined;
const full = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "short", timeZone });
const clock = new Intl.DateTimeFormat(locale, { timeStyle: "short", timeZone });
const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric", timeZone });
const shortDay = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone });
const monthAndYear = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric", timeZone });
const numericDay = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit", timeZone });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const STEPS = [[MINUTE, 1, "second"], [HOUR, MINUTE, "minute"], [DAY, HOUR, "hour"], [30 * DAY, DAY, "day"], [365 * DAY, 30 * DAY, "month"], [Infinity, 365 * DAY, "year"]];

/** "3 hours ago", "yesterday", "2 years ago". */
export function age(instant, now = Date.now()) {
  const seconds = (new Date(instant).getTime() - now) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (Math.abs(seconds) < 45) return relative.format(0, "second");
  const [, unit, name] = STEPS.find(([limit]) => Math.abs(seconds) < limit);
  return relative.format(name === "day" ? -daysAgo(instant, now) : Math.round(seconds / unit), name);
}

/** Whole calendar days between the instant and now in the person's zone: 0 today, 1 yesterday. */
export function daysAgo(instant, now = Date.now()) {
  const start = Date.parse(numericDay.format(new Date(instant)));
  return Math.round((Date.parse(numericDay.format(new Date(now))) - start) / (DAY * 1000));
}

export const fullTime = (instant) => full.format(new Date(instant));
export const monthOf = (instant) => monthAndYear.format(new Date(instant));
export const dayOf = (instant) => day.format(new Date(instant));

/** The time of day today, else the day. */
export function shortTime(instant) {
  const days = daysAgo(instant);
  if (days === 0) return clock.format(new Date(instant));
  return days < 300 ? shortDay.format(new Date(instant)) : dayOf(instant);
}
