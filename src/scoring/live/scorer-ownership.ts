import { joinCell } from '../../ownership/division.ts';
import { createOwnership, type Ownership } from '../../ownership/ownership.ts';
import type { MemberStore } from '../../store/contracts/stores.ts';
import type { Rule } from '../select/rule.ts';

/**
 * Creates the ownership of a scorer process: it shares the scorers of its rules with the processes that have them too.
 * @param options member: name of this process
 */
export function createScorerOwnership(
  members: MemberStore | undefined,
  rules: readonly Rule[],
  options: {
    readonly member: string;
    readonly monotonicMs: () => number;
  },
): Ownership {
  return createOwnership(members, {
    ...options,
    cells: rules.flatMap((rule) => rule.scorers.map(({ name }) => joinCell(rule.name, name))),
  });
}
