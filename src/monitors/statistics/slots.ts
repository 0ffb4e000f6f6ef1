import { HOUR_MS } from '../../domain/durations.ts';

/** Hours from the weekday of the epoch (Thursday) to Sunday, on which weeks begin here. */
const EPOCH_WEEKDAY_HOURS = 96;

/** Cycles of a baseline: none, hour of the day, hour of the week. All in UTC, without clock changes. */
export const HOURS_OF_DAY = 24;
export const HOURS_OF_WEEK = 168;

/** Computes the slot of a time among `slots`: 1, 24 (hour of the day) or 168 (hour of the week, from Sunday 00:00 UTC). */
export function computeSlot(timeMs: number, slots: number): number {
  if (slots === 1) {
    return 0;
  }
  const hours = Math.floor(timeMs / HOUR_MS) + (slots === HOURS_OF_WEEK ? EPOCH_WEEKDAY_HOURS : 0);
  return ((hours % slots) + slots) % slots;
}
