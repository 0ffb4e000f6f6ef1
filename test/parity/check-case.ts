import { expect } from 'vitest';
import { DEVIATIONS } from './deviations.ts';

const listed = new Map(
  Object.entries(DEVIATIONS).flatMap(([why, ids]) => ids.map((id) => [id, why] as const)),
);
const seen = new Set<string>();

/** A case is equal to the recording or is on the list of deviations; one on the list that has become equal fails. */
export function checkCase(id: string, actual: unknown, expected: unknown): void {
  seen.add(id);
  const why = listed.get(id);
  if (why === undefined) {
    expect(actual).toEqual(expected);
  } else {
    expect(
      actual,
      `listed as deviation "${why}", but equal to the recording: take it off the list`,
    ).not.toEqual(expected);
  }
}

/** Ids that the list names for cases of these groups, but that no case bears. */
export function unknownDeviations(prefixes: readonly string[]): string[] {
  return [...listed.keys()].filter((id) => prefixes.some((prefix) => id.startsWith(prefix)) && !seen.has(id));
}
