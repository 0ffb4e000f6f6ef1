import type { Caller } from '../access/request-access.ts';
import { SeveralTenantsError } from '../../domain/errors.ts';
import type { LabelStore } from '../../store/contracts/labels/label-store.ts';
import { rejectFaults, type PathOf } from './posted-faults.ts';

/** Trace or session of a posted score; the other id is ''. */
interface PostedTarget {
  readonly traceId: string;
  readonly sessionId: string;
}

/**
 * Finds the tenants of posted scores: that of the caller, else the one that has the trace or the session; '' for an unknown one.
 * Throws an `InvalidInputError` when several tenants have one of them.
 */
export async function findTenants(
  labels: Pick<LabelStore, 'tenantsOf'>,
  { tenant }: Pick<Caller, 'tenant'>,
  targets: readonly PostedTarget[],
  pathOf: PathOf,
): Promise<readonly string[]> {
  if (tenant !== undefined) {
    return targets.map(() => tenant);
  }
  const ids = targets.map(readId);
  const listIds = (kind: 'trace' | 'session') => ids.flatMap((each) => (each.kind === kind ? [each.id] : []));
  const [trace, session] = await Promise.all([
    labels.tenantsOf('trace', listIds('trace')),
    labels.tenantsOf('session', listIds('session')),
  ]);
  const found = ids.map(({ kind, id }) => ({ trace, session })[kind].get(id) ?? []);
  rejectFaults(
    ids.flatMap((target, index) => {
      const tenants = found[index] ?? [];
      return tenants.length > 1
        ? [
            {
              path: pathOf(index, target.field),
              message: new SeveralTenantsError(`${target.kind} ${target.id}`, tenants).message,
            },
          ]
        : [];
    }),
  );
  return found.map(([only = '']) => only);
}

function readId({ traceId, sessionId }: PostedTarget) {
  return traceId === ''
    ? ({ kind: 'session', id: sessionId, field: 'sessionId' } as const)
    : ({ kind: 'trace', id: traceId, field: 'traceId' } as const);
}
