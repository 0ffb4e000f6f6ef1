import type { WatchedTraces } from '../../purge/purged-traces.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Asked, Config } from '../../configuration.ts';
import type { ScorerKit } from '../../scoring/setup/scorer-kit.ts';
import type { Caller } from '../access/request-access.ts';
import { ConfigError, InvalidInputError, NotFoundError } from '../../domain/errors.ts';
import { describeUnknownScorer, listConfiguredScorers, findRule } from '../../scoring/setup/scorer-names.ts';
import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { Score } from '../../domain/score.ts';
import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';

export interface ScoringOnDemandDeps {
  readonly config: Config;
  readonly store: Store;
  readonly purged: WatchedTraces;
  /** Scorers of live scoring; undefined: they are loaded with the first request. */
  readonly kit: ScorerKit | undefined;
  readonly log: Log;
}

/** Scorers, and the scoring with them. */
export interface LoadedScoring {
  readonly kit: ScorerKit;
  readonly scoring: Scoring;
}

/** Scoring that requests of the API ask for. */
export interface ScoringOnDemand {
  /** Loads it with the first request, and again after a failure. Throws a `ConfigError` for scorers that cannot be used. */
  load(): Promise<LoadedScoring>;
  /** True in a process that scores live traffic, too. */
  readonly isBesideLive: boolean;
  /** Ends previews and dry runs, in place of the time limits of requests. */
  readonly until?: AbortSignal;
  /** Gives the leased money back. */
  stop(): Promise<void>;
}

/** Creates the scoring on demand. It costs nothing before the first request: no code of the scoring is loaded. */
export function createScoringOnDemand({
  config,
  store,
  purged,
  kit: shared,
  log,
}: ScoringOnDemandDeps): ScoringOnDemand {
  let loading: Promise<LoadedScoring> | undefined;
  const load = async (): Promise<LoadedScoring> => {
    const [{ createConfiguredScoring }, { readInTurns }, { loadScorerKit }] = await Promise.all([
      import('../../scoring/setup/configured-scoring.ts'),
      import('../../scoring/setup/read-traces.ts'),
      import('../../scoring/setup/scorer-kit.ts'),
    ]);
    const kit = shared ?? (await loadScorerKit(config, { log }));
    return {
      kit,
      scoring: createConfiguredScoring({ config, kit, stores: store, purged, readTrace: readInTurns, log }),
    };
  };
  return {
    isBesideLive: shared !== undefined,
    load: () => {
      loading ??= load().catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      return loading;
    },
    async stop() {
      const loaded = await loading?.catch(() => undefined);
      await loaded?.scoring.budget.giveBack();
      if (shared === undefined) {
        await loaded?.kit.ownScorers.stop();
      }
    },
  };
}

/** Parts of a process that scores on demand. */
export interface OnDemandParts {
  readonly config: Config;
  readonly store: Store;
  readonly onDemand: ScoringOnDemand;
}

/** Scoring that somebody asks for. */
export interface ScoreRequest {
  readonly traceId: string;
  readonly scorers?: readonly string[] | undefined;
  /** Question to a judge, beside the scorers. */
  readonly ask?: Asked | undefined;
  /** Score whose verdicts a chat judge explains, in place of scorers. */
  readonly why?: { readonly scoreId: string; readonly judge?: string | undefined } | undefined;
  /** True: the results are stored. */
  readonly write: boolean;
}

/** Scores a trace that a caller names, until the signal stops it. Throws an `InvalidInputError` for scorers that cannot run, and a `NotFoundError` for an unknown trace. */
export async function scoreNow(
  { config, store, onDemand }: OnDemandParts,
  { tenant }: Caller,
  { traceId, scorers, ask, why, write }: ScoreRequest,
  signal: AbortSignal,
) {
  const known = listConfiguredScorers(config);
  const unknown = scorers?.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new InvalidInputError(`scorers: ${describeUnknownScorer(unknown, known)}`);
  }
  const keys = (await store.spans.findTrace(traceId)).filter(
    (found) => tenant === undefined || found.tenant === tenant,
  );
  if (keys.length === 0) {
    throw new NotFoundError(`trace ${traceId} is not in the store`);
  }
  try {
    const { kit, scoring } = await onDemand.load();
    const stopped = { ...scoring, signal };
    const [{ scoreTraces }, { apiMode }, { listRulesNow }] = await Promise.all([
      import('../../scoring/score-traces.ts'),
      import('../../scoring/scoring-mode.ts'),
      import('../../scoring/setup/scorer-kit.ts'),
    ]);
    const outcomes =
      why === undefined
        ? await scoreTraces(stopped, keys, apiMode(await listRulesNow(kit, scorers, false, ask), { write }))
        : [await explainScore(stopped, config, keys, why)];
    const broken = outcomes.find(({ error }) => error !== null);
    if (broken?.error) {
      throw broken.error;
    }
    return {
      scores: outcomes.flatMap(({ scores }) => scores),
      decisions: outcomes.flatMap(({ decisions }) => decisions),
    };
  } catch (error) {
    throw error instanceof ConfigError
      ? new InvalidInputError(`${ask === undefined ? 'scorers' : 'ask'}: ${error.message}`, {}, error)
      : error;
  }
}

async function explainScore(
  scoring: Scoring,
  { judges }: Config,
  keys: readonly TraceKey[],
  { scoreId, judge = judges.default }: NonNullable<ScoreRequest['why']>,
) {
  const score = (await scoring.stores.scores.byIds([scoreId])).get(scoreId);
  if (score === undefined || !keys.some((key) => joinTraceKey(key) === joinTraceKey(score))) {
    throw new NotFoundError(`score ${scoreId} is no score of the trace`);
  }
  const { findWhy } = await import('../../scoring/setup/why.ts');
  return findWhy(scoring, score, { judge, choices: judges });
}

/** Time limits of a preview, shorter than the limit of its request, milliseconds: of the list of traces, and of the list with the verdicts. */
const [LISTING_LIMIT_MS, JUDGING_LIMIT_MS] = [8_000, 22_000];

/** Preview of a rule that a caller asks for. */
export interface AskedPreview {
  /** Name of a rule, or a rule as the configuration has it. */
  readonly rule: unknown;
  /** Length of the range up to now, milliseconds. */
  readonly lastMs: number;
  /** Traces that are really judged. */
  readonly sample: number;
}

/** Previews a rule within the tenant of a caller. Throws an `InvalidInputError` for a rule that cannot be previewed. */
export async function previewRule(
  { config, store, onDemand }: OnDemandParts,
  { tenant = '' }: Pick<Caller, 'tenant'>,
  { rule: asked, lastMs, sample }: AskedPreview,
) {
  const { prepareWrittenRule, previewConfigured } = await import('../../jobs/configured-preview.ts');
  const { until } = onDemand;
  const listing = until ?? AbortSignal.timeout(LISTING_LIMIT_MS);
  const judging = until ?? AbortSignal.timeout(JUDGING_LIMIT_MS);
  try {
    const { kit, scoring } = await onDemand.load();
    const rule =
      typeof asked === 'string' ? findRule(kit.rules, asked) : await prepareWrittenRule(kit, config, asked);
    return await previewConfigured(
      { config, kit, scoring, store },
      { rule, lastMs, sample, tenant, listing, judging },
    );
  } catch (error) {
    throw error instanceof ConfigError ? new InvalidInputError(error.message, {}, error) : error;
  }
}

type ScoredStores = Pick<Store, 'scores' | 'decisions' | 'sessions' | 'spans'>;

const DELETED = 'deleted: the score was deleted through the API';

/**
 * Deletes a score. The decision on it is written first: it stands for this evidence, so that no later read brings the score back.
 * Throws a `NotFoundError` for an unknown id, and for one of another tenant.
 */
export async function deleteScore(stores: ScoredStores, { tenant }: Caller, scoreId: string): Promise<void> {
  const score = (await stores.scores.byIds([scoreId])).get(scoreId);
  if (score === undefined || (tenant !== undefined && score.tenant !== tenant)) {
    throw new NotFoundError(`there is no score ${scoreId}`);
  }
  const nowMs = await stores.spans.nowMs();
  const scored = (await readDecisions(stores, score)).filter(
    ({ target, targetId, status, scorer }) =>
      target === score.target && targetId === score.targetId && status === 'scored' && scorer !== WHOLE_RULE,
  );
  const owner = findRowScorer(
    score.scorer,
    scored.map(({ scorer }) => scorer),
  );
  const own = scored.filter(({ scorer }) => scorer === owner);
  await stores.decisions.write(
    own.map((row) => ({
      ...row,
      status: 'not_applicable',
      reason: DELETED,
      attempts: row.attempts + 1,
      nextAttemptAt: null,
      decidedAt: nowMs,
    })),
  );
  await stores.scores.write([{ ...score, isDeleted: true }]);
}

async function readDecisions({ decisions, sessions }: ScoredStores, score: Score): Promise<Decision[]> {
  return score.traceId === ''
    ? sessions.decisions(score.tenant, [score.targetId])
    : ((await decisions.ofTraces([score])).get(joinTraceKey(score)) ?? []);
}
