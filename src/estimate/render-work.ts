import PQueue from 'p-queue';
import { WHOLE_RULE } from '../domain/decision.ts';
import { hashValue } from '../domain/identity.ts';
import { readReasonCode } from '../scoring/attempt/attempt-failure.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import { apiMode, type ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import { scoreSession, type SessionSettings } from '../scoring/sessions/score-session.ts';
import { SESSIONS_AT_ONCE } from '../scoring/sessions/select-sessions.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { CallSize } from '../store/contracts/judge-use.ts';
import type { SessionKey } from '../store/contracts/sessions.ts';
import { joinTraceKey, type TraceKey } from '../store/contracts/stores.ts';
import { createRenderScoring } from './look-scoring.ts';
import type { SampledCell } from './planned-work.ts';
import { renderRules, type RenderedRun } from './render-calls.ts';

/** Rendered runs by the name of the target. */
export type RenderedRuns = ReadonlyMap<string, readonly RenderedRun[]>;

/**
 * Renders the first questions of the scorers on sampled traces. They go through the path of live scoring, up to the call; nothing is
 * stored. A run that came as several traces counts for the trace that owns it. Throws what the store throws.
 */
export async function renderTraces(
  scoring: Scoring,
  cells: readonly SampledCell<TraceKey>[],
  mode: ScoringMode,
): Promise<RenderedRuns> {
  const keys = joinSamples(cells);
  const names = new Map([...keys].map(([name, { traceId }]) => [traceId, name]));
  const runs = new Map<string, RenderedRun[]>();
  const onRun = (run: RenderedRun) => {
    const name = names.get(run.traceId);
    if (name !== undefined) {
      runs.set(name, [...(runs.get(name) ?? []), run]);
    }
  };
  const rules = renderRules(mode.rules, onRun);
  const looking = createRenderScoring(scoring);
  const outcomes = await scoreTraces(looking, [...keys.values()], {
    ...mode,
    rules,
    sessionRules: [],
    write: false,
  });
  throwFaults(outcomes);
  outcomes.forEach((outcome) => listUnscored(outcome, rules).forEach(onRun));
  return runs;
}

/** Most traces with stored calls that are rendered again for each scorer. */
const MOST_STORED = 60;

/**
 * Renders runs again of which calls are stored, so that their sizes are known. Returns them by the id of the score. A run that would not give
 * the same score any more, because the scorer has changed, has another id.
 */
export async function renderStored(
  scoring: Scoring,
  sizes: readonly CallSize[],
  rules: readonly PreparedRule[],
): Promise<Map<string, RenderedRun>> {
  const keys = new Map(
    [...Map.groupBy(sizes, ({ scorer }) => scorer).values()].flatMap((ofScorer) => chooseTraces(ofScorer)),
  );
  const runs = new Map<string, RenderedRun>();
  const rendered = renderRules(rules, (run) => runs.set(run.scoreId, run));
  const mode = apiMode(rendered, { write: false });
  throwFaults(await scoreTraces(createRenderScoring(scoring), [...keys.values()], mode));
  return runs;
}

/** Chooses traces by their hashes, so that scorers share them. A session has no trace. */
function chooseTraces(sizes: readonly CallSize[]): [string, TraceKey][] {
  const keys = new Map(
    sizes.flatMap(({ tenant, traceId }) =>
      traceId === '' ? [] : [[joinTraceKey({ tenant, traceId }), { tenant, traceId }] as const],
    ),
  );
  return [...keys]
    .map(([name, key]) => ({ name, key, hash: hashValue(['estimate', name]) }))
    .toSorted((a, b) => (a.hash < b.hash ? -1 : 1))
    .slice(0, MOST_STORED)
    .map(({ name, key }) => [name, key]);
}

/** Renders the first questions of the scorers on sampled sessions, in the same way. */
export async function renderSessions(
  scoring: Scoring,
  cells: readonly SampledCell<SessionKey>[],
  mode: ScoringMode,
  settings: SessionSettings,
): Promise<RenderedRuns> {
  const looking = createRenderScoring(scoring);
  const runs = new Map<string, RenderedRun[]>();
  const queue = new PQueue({ concurrency: SESSIONS_AT_ONCE });
  const outcomes = await queue.addAll(
    [...joinSamples(cells)].map(([name, key]) => async () => {
      const ofSession: RenderedRun[] = [];
      runs.set(name, ofSession);
      const sessionRules = renderRules(mode.sessionRules, (run) => ofSession.push(run));
      const outcome = await scoreSession(looking, key, { ...mode, sessionRules, write: false }, settings);
      ofSession.push(...listUnscored(outcome, sessionRules));
      return outcome;
    }),
  );
  throwFaults(outcomes);
  return runs;
}

function joinSamples<Key>(cells: readonly SampledCell<Key>[]): Map<string, Key> {
  return new Map(cells.flatMap(({ sample }) => [...sample]));
}

/** Lists the runs that a rule leaves without a score before a scorer begins. */
function listUnscored({ decisions }: TraceOutcome, rules: readonly PreparedRule[]): RenderedRun[] {
  return decisions.flatMap(({ rule: name, scorer, status, reason, traceId }) => {
    const names = rules.find((rule) => rule.name === name)?.scorers.map((each) => each.name) ?? [];
    return status === 'scored'
      ? []
      : names
          .filter((each) => scorer === WHOLE_RULE || scorer === each)
          .map((each) => ({
            rule: name,
            scorer: each,
            traceId,
            scoreId: '',
            runBytes: 0,
            calls: [],
            reason: readReasonCode(reason) || status,
          }));
  });
}

/** Throws the error of an outcome that the store broke off: the rendered runs would be too few. */
function throwFaults(outcomes: readonly TraceOutcome[]): void {
  const broken = outcomes.find(({ error }) => error?.stage === 'store');
  if (broken?.error) {
    throw broken.error;
  }
}
