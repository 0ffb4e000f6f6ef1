import type { TraceFacts } from '../../store/contracts/stores.ts';
import type { VersionStates } from './select-rules.ts';

/** Merges the facts of several traces: a fact of one is a fact of all. Returns undefined without any. */
export function mergeFacts(facts: Iterable<TraceFacts>): TraceFacts | undefined {
  const [first, ...others] = facts;
  return first && others.reduce(mergeTwo, first);
}

/** Returns the places of one trace of several, `first` for a rule when any of the traces is. */
export function mergeVersionStates(
  own: VersionStates | undefined,
  all: readonly VersionStates[],
): VersionStates {
  return new Map(
    [...(own ?? [])].map(([rule, { ask, state }]) => {
      const isFirst = all.some((states) => states.get(rule)?.state === 'first');
      return [rule, { ask, state: isFirst ? 'first' : state }] as const;
    }),
  );
}

function mergeTwo(a: TraceFacts, b: TraceFacts): TraceFacts {
  const attributes = new Map(a.attributes);
  for (const [key, values] of b.attributes) {
    attributes.set(key, union(attributes.get(key) ?? [], values));
  }
  return {
    ...a,
    services: union(a.services, b.services),
    environments: union(a.environments, b.environments),
    agents: union(a.agents, b.agents),
    sessions: union(a.sessions, b.sessions),
    users: union(a.users, b.users),
    models: union(a.models, b.models),
    modelNames: union(a.modelNames, b.modelNames),
    serviceVersions: union(a.serviceVersions, b.serviceVersions),
    versions: [...a.versions, ...b.versions],
    hasError: a.hasError || b.hasError,
    hasToolError: a.hasToolError || b.hasToolError,
    hasNegativeFeedback: a.hasNegativeFeedback || b.hasNegativeFeedback,
    attributes,
  };
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}
