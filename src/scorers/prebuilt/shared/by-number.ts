/** Things under their numbers, from 1 unless told otherwise: shorter than a list of entries that each tell theirs. */
export function byNumber<T>(things: readonly T[], first: 0 | 1 = 1): Record<string, T> {
  return Object.fromEntries(things.map((thing, index) => [index + first, thing]));
}
