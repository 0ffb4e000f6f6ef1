import type { Caller } from '../access/request-access.ts';
import type { AgentRun } from '../../domain/trace/agent-run.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { readAgreement, type FindPassLine } from '../../labels/read-agreement.ts';
import { readQueue, type QueueRequest } from '../../labels/read-queue.ts';
import { listTargets, MAX_MODEL_CALLS } from '../../scoring/select/targets.ts';
import type { LabelTarget } from '../../store/contracts/labels/label-store.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../../configuration.ts';
import { nameAuthor } from '../writes/posted-scores.ts';
import { readRowNames } from './row-names.ts';
import { readJoinedTraces, createTurnReader } from '../../scoring/setup/read-traces.ts';

/** Most content of a queue, characters of JSON: the queue ends with the item that exceeds it. */
const MAX_CONTENT = 8 * MIB;

const readTrace = createTurnReader();

/** Targets for a reviewer, each with its run. */
export type LabelQueueView = Awaited<ReturnType<ReturnType<typeof createLabelReads>['queue']>>;

/** Creates the queues for the reviewers of a tenant, or of all, and the agreement of scorers with them. */
export function createLabelReads(
  config: Config,
  store: Pick<Store, 'labels' | 'comparedScores' | 'scorerNames' | 'spans'>,
  { findPassLine, ...caller }: Caller & { readonly findPassLine: FindPassLine },
) {
  return {
    /** The reviewer is by default the name of the token. */
    queue: async ({
      reviewer = nameAuthor(caller),
      ...request
    }: Omit<QueueRequest, 'nowMs' | 'reviewer'> & { readonly reviewer?: string | undefined }) => {
      const nowMs = await store.spans.nowMs();
      const { targets, ...counts } = await readQueue(store.labels, caller.tenant, {
        ...request,
        reviewer,
        nowMs,
      });
      return { reviewer, ...counts, items: await readItems(store, targets) };
    },
    agreement: async ({
      scorer,
      ...range
    }: {
      readonly scorer: string;
      readonly sinceMs: number;
      readonly nowMs: number;
    }) => {
      const rows = await readRowNames(config, store, caller.tenant);
      return readAgreement(
        { ...store, findPassLine },
        { ...range, scorers: rows.of(scorer), tenant: caller.tenant },
      );
    },
  };
}

async function readItems(store: Pick<Store, 'spans'>, targets: readonly LabelTarget[]) {
  const items: { readonly target: LabelTarget; readonly run: AgentRun | null }[] = [];
  let content = 0;
  for (const target of targets) {
    const run = await readRun(store, target);
    content += JSON.stringify(run).length;
    items.push({ target, run });
    if (content > MAX_CONTENT) {
      break;
    }
  }
  return items;
}

/** Reads the run of a target; null for a session, and when its spans are gone. */
async function readRun(
  { spans }: Pick<Store, 'spans'>,
  { tenant, target, targetId, traceId }: LabelTarget,
): Promise<AgentRun | null> {
  const found = traceId === '' ? [] : await spans.findTrace(traceId);
  const [data] = await readJoinedTraces(
    spans,
    found.filter((each) => each.tenant === tenant),
  );
  if (data === undefined) {
    return null;
  }
  const reading = await readTrace(data, { modelCalls: target === 'model-call' ? MAX_MODEL_CALLS : 0 });
  return listTargets(reading, target).find((each) => each.targetId === targetId)?.run ?? null;
}
