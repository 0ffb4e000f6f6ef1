import { isId } from '../ids.ts';
import { memberNodes } from './run-fields.ts';
import type { RunPlan } from './run-plan.ts';

export interface Identity {
  session: string | null;
  user: string | null;
}

/**
 * Lists session and user of each run: from its root or the nearest span above with them, else from its own spans, else from its
 * sub-runs, else from the resource. A sub-run has those of its top run, because frameworks give sub-agents private sessions.
 */
export function listIdentities(plansChildrenFirst: readonly RunPlan[]): Map<RunPlan, Identity> {
  const own = new Map<RunPlan, Identity>();
  for (const plan of plansChildrenFirst) {
    own.set(plan, { session: find(plan, 'session', own), user: find(plan, 'user', own) });
  }
  const shared = new Map<RunPlan, Identity>();
  for (const plan of plansChildrenFirst.toReversed()) {
    const above = plan.parent === null ? undefined : shared.get(plan.parent);
    const mine = own.get(plan);
    shared.set(plan, {
      session: above?.session ?? mine?.session ?? null,
      user: above?.user ?? mine?.user ?? null,
    });
  }
  return shared;
}

function find(plan: RunPlan, key: keyof Identity, known: ReadonlyMap<RunPlan, Identity>): string | null {
  const above = plan.root.inherited[key];
  if (above !== undefined) {
    return above;
  }
  const member = memberNodes(plan).find((node) => node.inherited[key] !== undefined);
  const sub = plan.subs.map((one) => known.get(one)?.[key] ?? null).find((value) => value !== null);
  const resource = plan.root.span.resourceAttributes;
  const inResource = [`${key}.id`, ...(key === 'user' ? ['enduser.id'] : [])]
    .map((name) => resource.get(name) ?? '')
    .find(isId);
  return member?.inherited[key] ?? sub ?? inResource ?? null;
}
