import type { Caller } from '../access/request-access.ts';
import { ConfigError, InvalidInputError, NotFoundError } from '../../domain/errors.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../../configuration.ts';
import { scoreTraces } from '../../scoring/score-traces.ts';
import { apiMode } from '../../scoring/scoring-mode.ts';
import { listRulesNow } from '../../scoring/setup/scorer-kit.ts';
import { describeUnknownScorer, listConfiguredScorers } from '../../scoring/setup/scorer-names.ts';
import type { ScoringOnDemand } from './scoring-on-demand.ts';

/** Scoring that somebody asks for. */
export interface ScoreRequest {
  readonly traceId: string;
  readonly scorers: readonly string[];
  /** True: the results are stored. */
  readonly write: boolean;
}

/** Scores a trace that a caller names, until the signal stops it. Throws an `InvalidInputError` for scorers that cannot run, and a `NotFoundError` for an unknown trace. */
export async function scoreNow(
  {
    config,
    store,
    onDemand,
    signal,
  }: {
    readonly config: Config;
    readonly store: Store;
    readonly onDemand: ScoringOnDemand;
    readonly signal: AbortSignal;
  },
  { tenant }: Caller,
  { traceId, scorers, write }: ScoreRequest,
) {
  const known = listConfiguredScorers(config);
  const unknown = scorers.find((name) => !known.has(name));
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
    const rules = await listRulesNow(kit, scorers, false);
    const outcomes = await scoreTraces({ ...scoring, signal }, keys, apiMode(rules, { write }));
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
      ? new InvalidInputError(`scorers: ${error.message}`, {}, error)
      : error;
  }
}
