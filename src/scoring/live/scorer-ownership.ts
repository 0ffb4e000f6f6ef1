import { joinCell } from '../../ownership/division.ts';
import { createOwnership, type Ownership } from '../../ownership/ownership.ts';
import type { MemberStore } from '../../store/contracts/stores.ts';
import type { Rule } from '../select/rule.ts';

/** Duty to end the deferred decisions of rules and scorers that no process has any more. */
export const REMOVAL_DUTY = 'removed-rules';

/**
 * Creates the ownership of a scorer process: it shares the scorers of its rules with the processes that have them too.
 * @param options member: name of this process; duties: work beside scoring
 */
export function createScorerOwnership(
  members: MemberStore | undefined,
  rules: readonly Rule[],
  options: {
    readonly member: string;
    readonly duties?: readonly string[];
    readonly monotonicMs: () => number;
  },
): Ownership {
  return createOwnership(members, {
    ...options,
    cells: rules.flatMap((rule) => rule.scorers.map(({ name }) => joinCell(rule.name, name))),
    duties: [REMOVAL_DUTY, ...(options.duties ?? [])],
  });
}
