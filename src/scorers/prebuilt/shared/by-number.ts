/** Puts items under their numbers, from 1 by default. This is shorter than a list of entries with a number each. */
export function byNumber<T>(things: readonly T[], first: 0 | 1 = 1): Record<string, T> {
  return Object.fromEntries(things.map((thing, index) => [index + first, thing]));
}
