import type { TraceFacts } from '../../store/contracts/stores.ts';
import type { Where } from './rule.ts';

/** Lists the attribute keys that the conditions need. */
export function listAttributeKeys(where: Where | undefined): string[] {
  return Object.keys(where?.attributes ?? {});
}

/** Returns a sentence on the first condition that the trace does not meet; null when it meets all. */
export function findUnmetCondition(where: Where | undefined, facts: TraceFacts | undefined): string | null {
  for (const { name, wanted, seen } of listConditions(where ?? {}, facts)) {
    if (wanted !== undefined && wanted.length > 0 && !wanted.some((value) => seen?.includes(value))) {
      const got = seen === undefined || seen.length === 0 ? 'none' : seen.slice(0, 5).join(', ');
      return `${name} is ${got}, the rule wants ${wanted.join(' or ')}`;
    }
  }
  return null;
}

interface Condition {
  readonly name: string;
  readonly wanted: readonly string[] | undefined;
  readonly seen: readonly string[] | undefined;
}

function listConditions(where: Where, facts: TraceFacts | undefined): Condition[] {
  return [
    { name: 'service', wanted: where.service, seen: facts?.services },
    { name: 'environment', wanted: where.environment, seen: facts?.environments },
    { name: 'agent', wanted: where.agent, seen: facts?.agents },
    ...Object.entries(where.attributes ?? {}).map(([key, wanted]) => ({
      name: key,
      wanted,
      seen: facts?.attributes.get(key),
    })),
  ];
}
