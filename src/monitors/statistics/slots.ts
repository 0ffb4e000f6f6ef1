const HOUR_MS = 3_600_000;
/** The epoch began on a Thursday: three days on, weeks begin on Sunday. */
const EPOCH_WEEKDAY_HOURS = 96;

/** Cycles of a baseline: none, hour of the day, hour of the week. All UTC: no clock changes. */
export const HOURS_OF_DAY = 24;
export const HOURS_OF_WEEK = 168;

/** The slot of a time among `slots`: 1, 24 (hour of the day) or 168 (hour of the week, from Sunday 00:00 UTC). */
export function computeSlot(timeMs: number, slots: number): number {
  if (slots === 1) {
    return 0;
  }
  const hours = Math.floor(timeMs / HOUR_MS) + (slots === HOURS_OF_WEEK ? EPOCH_WEEKDAY_HOURS : 0);
  return ((hours % slots) + slots) % slots;
}
