import type { Caller } from '../access/request-access.ts';
import { directScore, isPassing } from '../../domain/agreement/directed-score.ts';
import { InvalidInputError, readErrorMessage } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import {
  type EstimatesQuery,
  type FindPassLine,
  readAgreement,
  readEstimates,
  readNewestEstimates,
} from '../../labels/read-agreement.ts';
import type { ListStore } from '../../store/lists/list-store.ts';
import {
  pathsOf,
  findTenants,
  nameAuthor,
  postScores,
  type PostDeps,
  type PostedScore,
} from './posted-scores.ts';
import { type RecordWrite, subjectOf } from './audit.ts';
import type { AgentRun } from '../../domain/trace/agent-run.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { readQueue, type QueueRequest } from '../../labels/read-queue.ts';
import { listTargets, MAX_MODEL_CALLS } from '../../scoring/select/targets.ts';
import type { LabelTarget } from '../../store/contracts/sums.ts';
import type { Store } from '../../store/store.ts';
import type { Config } from '../../configuration.ts';
import { readRowNames } from '../reads/configuration.ts';

/** Judgement of a reviewer on a target. */
export interface GivenLabel extends Pick<
  PostedScore,
  'traceId' | 'spanId' | 'sessionId' | 'scorer' | 'label'
> {
  /** True for a target that passes; or its score on the scale of the scorer. */
  readonly answer: boolean | number;
  readonly note: string;
  /** Default: the name of the token. */
  readonly reviewer?: string | undefined;
}

/** Most scores of a target that are read. */
const MAX_SCORES = 500;

export type LabelDeps = PostDeps & {
  readonly store: PostDeps['store'] & { readonly lists: ListStore };
  readonly findPassLine: FindPassLine;
};

/**
 * Stores a label as a score of a person, and returns the scores of the scorer on the same target, newest first. Throws an `InvalidInputError` for a
 * target that several tenants have, for an answer without a known scale, and for a score outside of its range.
 */
export async function storeLabel(deps: LabelDeps, caller: Caller, given: GivenLabel) {
  const { answer, note, reviewer = nameAuthor(caller), ...target } = given;
  const [tenant = ''] = await findTenants(deps.store.labels, caller, [given], pathsOf(given));
  const scores = await readScores(deps.store.lists, tenant, given);
  const [newest] = scores;
  const score = typeof answer === 'number' ? answer : findEnd(given.scorer, newest, answer);
  const row = { ...target, score, reason: note, source: 'human', scoredBy: reviewer } as const;
  const [scoreId = ''] = await postScores(deps, { ...caller, tenant }, { ...row, scale: newest });
  const passLine = await deps.findPassLine(given.scorer);
  await deps.store.labels.recordPassLine(given.scorer, passLine);
  const agrees = newest === undefined ? null : isAgreed(score, newest, passLine);
  return { scoreId, reviewer, score, agrees, scores };
}

/** Reads the scores of the scorer on a target, the last scored first. */
async function readScores(
  lists: ListStore,
  tenant: string,
  { traceId, spanId, sessionId, scorer }: GivenLabel,
): Promise<Score[]> {
  const isOfSession = traceId === '';
  const { items } = await lists.scores(
    {
      tenant,
      scorer: [scorer],
      source: ['live', 'backfill'],
      ...(isOfSession ? { sessionId: [sessionId] } : { traceId: [traceId] }),
    },
    { limit: MAX_SCORES },
  );
  const targetId = isOfSession
    ? buildSessionTargetId(sessionId)
    : spanId === ''
      ? traceId
      : `${traceId}/${spanId}`;
  return items
    .filter((each) => each.targetId === targetId && (each.target === 'session') === isOfSession)
    .toSorted((a, b) => b.scoredAt - a.scoredAt);
}

/** Returns the best or the worst value of the scale of a score. */
function findEnd(scorer: string, score: Score | undefined, passes: boolean): number {
  const { scoreMin = null, scoreMax = null, higherIsBetter = null } = score ?? {};
  if (scoreMin === null || scoreMax === null || higherIsBetter === null) {
    const reason =
      score === undefined
        ? `${scorer} has no score on this target, so its range is not known`
        : `${scorer} has no range or no direction`;
    throw new InvalidInputError(`passes: ${reason}; send score instead`);
  }
  return passes === higherIsBetter ? scoreMax : scoreMin;
}

function isAgreed(label: number, score: Score, passLine: number): boolean {
  const [byPerson, byScorer] = [label, score.score].map((each) =>
    isPassing(directScore(each, score), passLine),
  );
  return byPerson === byScorer;
}

/** Label to store, with its place in a file. */
export interface ImportedLabel {
  readonly line: number;
  readonly tenant: string;
  readonly label: GivenLabel;
}

/** Line that was not stored. */
export interface LineFault {
  readonly line: number;
  readonly fault: string;
}

/** Most labels of one insert. */
const BATCH = 1_000;

/** Stores that an import needs: each batch leaves an audit row, as a write through the API does. */
export type ImportDeps = LabelDeps & { readonly recordWrite: RecordWrite };

/** Name of the author in the audit rows of an import: the command has no token. */
const AUDITED_AS = 'spanscore labels import';

/**
 * Stores labels. Returns the lines that cannot be stored; the others are stored all the same. The audit row of a batch goes before its
 * labels.
 */
export async function importLabels(
  deps: ImportDeps,
  labels: readonly ImportedLabel[],
): Promise<readonly LineFault[]> {
  for (const rows of listBatches(labels)) {
    const { tenant } = rows[0] ?? { tenant: '' };
    const subjects = rows.map(({ label }) => subjectOf(label));
    await deps.recordWrite({ name: AUDITED_AS, tenant }, { action: 'label.import', subjects });
  }
  for (const scorer of new Set(labels.map(({ label }) => label.scorer))) {
    await deps.store.labels.recordPassLine(scorer, await deps.findPassLine(scorer));
  }
  const hasScore = ({ label }: ImportedLabel) => typeof label.answer === 'number';
  const faults: LineFault[] = [];
  for (const rows of listBatches(labels.filter(hasScore))) {
    faults.push(...((await isStored(deps, rows)) ? [] : await storeEach(deps, rows)));
  }
  const judged = labels.filter((label) => !hasScore(label));
  return [...faults, ...(await storeEach(deps, judged))].toSorted((a, b) => a.line - b.line);
}

/** Splits labels into batches, each of one tenant. */
function listBatches(labels: readonly ImportedLabel[]): ImportedLabel[][] {
  const batches = Map.groupBy(labels.entries(), ([index, { tenant }]) =>
    JSON.stringify([tenant, Math.trunc(index / BATCH)]),
  );
  return [...batches.values()].map((batch) => batch.map(([, label]) => label));
}

/** Stores labels with scores in one insert. Returns false when one of them is refused. */
async function isStored(deps: LabelDeps, labels: readonly ImportedLabel[]): Promise<boolean> {
  const { tenant } = labels[0] ?? { tenant: '' };
  const scores = labels.map(({ label: { answer, note, reviewer, ...target } }) => ({
    ...target,
    score: Number(answer),
    reason: note,
    source: 'human' as const,
    scoredBy: reviewer,
  }));
  return (await findFault(() => postScores(deps, { name: '', tenant }, scores))) === undefined;
}

async function storeEach(deps: LabelDeps, labels: readonly ImportedLabel[]): Promise<LineFault[]> {
  const faults: LineFault[] = [];
  for (const { line, tenant, label } of labels) {
    const fault = await findFault(() => storeLabel(deps, { name: '', tenant }, label));
    faults.push(...(fault === undefined ? [] : [{ line, fault: readErrorMessage(fault) }]));
  }
  return faults;
}

/** Does a write. Returns the fault of its input; undefined for none. */
async function findFault(write: () => Promise<unknown>): Promise<InvalidInputError | undefined> {
  try {
    await write();
    return undefined;
  } catch (error) {
    if (error instanceof InvalidInputError) {
      return error;
    }
    throw error;
  }
}

/** Most content of a queue, characters of JSON: the queue ends with the item that exceeds it. */
const MAX_CONTENT = 8 * MIB;

/** Targets for a reviewer, each with its run. */
export type LabelQueueView = Awaited<ReturnType<ReturnType<typeof createLabelReads>['queue']>>;

/** Scorer and range of a request; times are Unix milliseconds. */
export interface ScorerRequest {
  readonly scorer: string;
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** Creates the queues for the reviewers of a tenant, or of all, the agreement of scorers with them, and pass rates. */
export function createLabelReads(
  config: Config,
  store: Pick<Store, 'labels' | 'comparedScores' | 'scorerNames' | 'spans' | 'alerts'>,
  { findPassLine, ...caller }: Caller & { readonly findPassLine: FindPassLine },
) {
  const { tenant } = caller;
  const stores = { ...store, findPassLine, required: config.judges.certificate };
  const nameRows = async <R extends ScorerRequest>({ scorer, ...range }: R) => {
    const rows = await readRowNames(config, store, tenant);
    return { ...range, scorers: rows.of(scorer), tenant };
  };
  return {
    /** The reviewer is by default the name of the token. */
    queue: async ({
      reviewer = nameAuthor(caller),
      ...request
    }: Omit<QueueRequest, 'nowMs' | 'reviewer'> & { readonly reviewer?: string | undefined }) => {
      const nowMs = await store.spans.nowMs();
      const { targets, ...counts } = await readQueue(stores, tenant, { ...request, reviewer, nowMs });
      return { reviewer, ...counts, items: await readItems(store, targets) };
    },
    agreement: async (request: ScorerRequest) => readAgreement(stores, await nameRows(request)),
    estimates: async (request: ScorerRequest & Pick<EstimatesQuery, 'by'>) =>
      readEstimates(stores, await nameRows(request)),
    newestEstimates: async (query: Omit<EstimatesQuery, 'tenant' | 'nowMs'>) =>
      readNewestEstimates(stores, { ...query, tenant, nowMs: await store.spans.nowMs() }),
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
  const { readInTurns, readJoinedTraces } = await import('../../scoring/setup/read-traces.ts');
  const found = traceId === '' ? [] : await spans.findTrace(traceId);
  const [data] = await readJoinedTraces(
    spans,
    found.filter((each) => each.tenant === tenant),
  );
  if (data === undefined) {
    return null;
  }
  const reading = await readInTurns(data, { modelCalls: target === 'model-call' ? MAX_MODEL_CALLS : 0 });
  return listTargets(reading, target).find((each) => each.targetId === targetId)?.run ?? null;
}
