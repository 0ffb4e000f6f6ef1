import {
  buildPairs,
  computeEvidenceHash,
  type RulePass,
  type Pair,
  type PairResult,
  type PairResults,
} from './attempt/pair.ts';
import type { TraceReading, AgentRun, NotScorableReason } from '../domain/trace/agent-run.ts';
import type { Decision } from '../domain/decision.ts';
import { listFeedback } from '../domain/trace/feedback.ts';
import { AppError, toAppError, readErrorMessage } from '../domain/errors.ts';
import { allSettled } from '../domain/waits.ts';
import type { Score } from '../domain/score.ts';
import { findSlots, runPair, type PairRun } from './attempt/run-pair.ts';
import type { WaitingRuns, RunSlots, QueueEnd } from './live/queue.ts';
import {
  buildGoneRow,
  buildPlannedRow,
  buildVerdictRows,
  buildWithdrawnRow,
  type Unscored,
  type VerdictFacts,
} from './record/decision-rows.ts';
import { recordFailures } from './record/record-failures.ts';
import { showFailure, startInterimRows } from './record/record-attempt.ts';
import { recordRuns } from './record/record-runs.ts';
import { selectRepairs, buildReweighedRows, findStaleScores } from './record/score-rows.ts';
import { chooseByContent } from './select/select-rules.ts';
import type { Scoring } from './scoring.ts';
import type { ScoringMode } from './scoring-mode.ts';
import {
  buildOutcome,
  isTraceData,
  type TraceOutcome,
  type TraceTask,
  type SelectedRule,
} from './trace-task.ts';
import { checkReadiness, type ReadinessSettings } from '../readiness/readiness.ts';
import type { NewVersions } from './select/new-versions.ts';
import { findUnmetContent, isReadByShape } from './select/where.ts';
import { formatReason } from './attempt/attempt-failure.ts';
import {
  MAX_MODEL_CALLS,
  describeLeftOut,
  explainNoTarget,
  listTargets,
  type ScoringTarget,
} from './select/targets.ts';
import type { BoundScorer } from './select/rule.ts';

/** Scores one trace. An error becomes its outcome, so that one bad trace never stops the others. */
export async function scoreTask(context: Scoring, task: TraceTask, mode: ScoringMode): Promise<TraceOutcome> {
  try {
    return await applyRules(context, task, mode);
  } catch (error) {
    return buildOutcome(task.key, { activity: task.activity, error: traceError(error) });
  }
}

/** Returns the error of a trace that could not be scored. */
export function traceError(error: unknown): AppError {
  return toAppError(error, { failed: 'scoring a trace failed', stage: 'judge', retryable: true });
}

/**
 * Scores one trace by all its rules. Writes the scores as they come, then the tombstones, then the decisions of all rules in
 * one write: after a crash a rule is either decided or found again. Throws what the store throws.
 */
async function applyRules(context: Scoring, whole: TraceTask, mode: ScoringMode): Promise<TraceOutcome> {
  const reading = await readContent(context, whole);
  const task = await choose(context, whole, reading, mode);
  const passes = task.rules.map((selected) => buildPass(task, selected, reading, mode));
  const nowMs = task.clock.nowMs();
  const completeness = computeCompleteness(task, context.readiness, nowMs);
  const { source, takesOver, redo } = mode;
  const terms = { source, takesOver, redoes: redo !== null, completeness };
  const feedback = isTraceData(whole.read) ? listFeedback(whole.read) : [];
  const running = settleBoth(
    runPairs(task, passes, { context, mode, terms }),
    mode.write
      ? recordRuns(context, whole, reading, { completeness, marks: mode.sessionRules.length > 0 })
      : undefined,
  );
  whole.onRead?.();
  const [{ results, waiting }] = await running;
  const isUnread = whole.rules.length > 0 && 'status' in reading && reading.status === 'failed';
  const decisions = [
    ...task.declined.flatMap((each) => each.rows),
    ...passes.flatMap((pass) => listFinalRows(pass, results)),
  ];
  const changes =
    redo === null
      ? { rows: decisions, tombstones: mode.reuses && !isUnread ? findStaleScores(task, results, nowMs) : [] }
      : selectRepairs(task, decisions, { results, redo, isUnread, nowMs });
  const reweighed = passes.flatMap(({ pairs }) => pairs).flatMap((pair) => buildReweighedRows(pair, terms));
  const done = passes.flatMap(({ pairs }) => pairs).flatMap((pair) => results.get(pair) ?? []);
  if (mode.write) {
    const scores = done.flatMap((result) => result.scores);
    const said = { scores, tombstones: changes.tombstones, feedback };
    await recordFailures(context, task, reading, said);
    await write(context, task, [...changes.tombstones, ...reweighed], changes.rows);
  }
  return buildOutcome(task.key, {
    activity: task.activity,
    decisions,
    scores: done.flatMap((result) => result.scores),
    tombstones: changes.tombstones,
    waiting,
    error: done.some((result) => result.abandoned) ? interruptedError() : null,
  });
}

/** Decides what the rules left to the content. Without content all stays as it is. */
async function choose(
  { prices, unpriced, newVersions }: Scoring,
  task: TraceTask,
  reading: TraceReading | Unscored,
  mode: ScoringMode,
): Promise<TraceTask> {
  if ('status' in reading) {
    return task;
  }
  const placed = await takeVersionPlaces(newVersions, task, reading);
  const choice = chooseByContent(placed, reading, { mode, prices });
  unpriced.count += choice.isUnpriced ? 1 : 0;
  return choice.task;
}

/**
 * Runs the pairs that have to run, beginning with quick ones. Returns the result of every pair, and the runs that got no slots, by
 * slots. Throws what the store throws, after all runs have ended.
 */
async function runPairs(
  task: TraceTask,
  passes: readonly RulePass[],
  terms: Omit<PairRun, 'ends'> & { readonly context: Scoring },
): Promise<{ results: Map<Pair, PairResult>; waiting: readonly WaitingRuns[] }> {
  const allPairs = passes.flatMap((pass) => pass.pairs);
  const results = new Map<Pair, PairResult>();
  for (const pair of allPairs.filter(({ plan }) => plan.action !== 'run')) {
    results.set(pair, { row: buildPlannedRow(pair), scores: [], abandoned: false });
  }
  const ends = new Map<RunSlots, QueueEnd>();
  const run: PairRun = { ...terms, ends };
  const runAll = (chosen: readonly Pair[], onDone?: (pair: Pair) => Promise<void>) =>
    allSettled(
      chosen.map(async (pair) => {
        results.set(pair, await runPair(pair, run));
        await onDone?.(pair);
      }),
    );
  const toRun = allPairs.filter((pair) => !results.has(pair));
  const bySlots = Map.groupBy(toRun, ({ bound }) => findSlots(bound, run.context));
  // A judge is asked at once: the rows of quick scorers may wait for a common write.
  const quick = runAll(bySlots.get(null) ?? []);
  const slow: Pair[] = [];
  const waiting: WaitingRuns[] = [];
  for (const [slots, pairs] of bySlots) {
    if (slots === null) {
      continue;
    }
    const end = findEnd(task, slots, { runs: pairs.length, mode: run.mode });
    if (end === null) {
      const result = { row: null, scores: [], abandoned: false, waiting: true } as const;
      pairs.forEach((pair) => results.set(pair, result));
      waiting.push({ slots, runs: pairs.length });
    } else {
      ends.set(slots, end);
      slow.push(...pairs);
    }
  }
  const [first] = ends.keys();
  if (first !== undefined && run.mode.admission !== null && isTraceData(task.read)) {
    terms.context.contentMemory.moveToSlow(task.read, first);
  }
  // A repair leaves the former rows until it has better ones.
  if (!run.mode.write || run.mode.redo !== null) {
    await allSettled([quick, runAll(slow)]);
    return { results, waiting };
  }
  const trace = { task, passes, results };
  const interim = startInterimRows(run.context, trace);
  try {
    await allSettled([quick, runAll(slow, (pair) => showFailure(run.context, trace, pair))]);
  } finally {
    await interim.stop();
  }
  return { results, waiting };
}

/** Returns the slots that the runs of a trace may use; null when no slots are free. The runs take them at once. */
function findEnd(
  task: TraceTask,
  slots: RunSlots,
  { runs, mode: { admission } }: { readonly runs: number; readonly mode: ScoringMode },
): QueueEnd | null {
  if (admission === null) {
    return 'oldest';
  }
  const reservation = task.reservation?.slots === slots ? task.reservation : admission.admit(slots, runs);
  reservation?.release();
  return reservation?.end ?? null;
}

async function write(
  context: Scoring,
  task: TraceTask,
  scores: readonly Score[],
  decisions: readonly Decision[],
): Promise<void> {
  if (scores.length + decisions.length > 0) {
    await task.claim.check();
  }
  await context.scoreWriter.write(scores);
  await context.decisionWriter.write(decisions);
}

/** Waits for both. Then throws the first failure, or returns both values. */
async function settleBoth<A, B>(
  first: Promise<A>,
  second: Promise<B> | undefined,
): Promise<[A, B | undefined]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

function interruptedError(): AppError {
  return new AppError('scoring was broken off before it came to a result', {
    code: 'cancelled',
    stage: 'judge',
    retryable: true,
  });
}

/**
 * Returns `partial` for a trace whose spans may still come (it is scored at the maximum wait, or by a command), and for a trace
 * or a session that was too large to be read whole.
 */
function computeCompleteness(
  task: Pick<TraceTask, 'read' | 'activity'>,
  settings: ReadinessSettings,
  nowMs: number,
): 'partial' | 'complete' {
  const { read, activity } = task;
  if (read !== null && 'session' in read) {
    return read.isPartial ? 'partial' : 'complete';
  }
  const spans = read !== null && 'spans' in read ? read.spans : [];
  const ids = new Set(spans.map((span) => span.spanId));
  if (read !== null && 'omittedSpans' in read) {
    return 'partial';
  }
  const reason = checkReadiness(
    {
      rootSeen: spans.some((span) => span.parentSpanId === ''),
      parentMissing: spans.some((span) => span.parentSpanId !== '' && !ids.has(span.parentSpanId)),
      quietMs: nowMs - activity.lastArrivalMs,
      ageMs: nowMs - activity.firstArrivalMs,
    },
    settings,
  );
  return reason === 'ended' || reason === 'quiet' ? 'complete' : 'partial';
}

/**
 * Takes places among the first traces of new versions, for the rules whose conditions the trace meets. A trace without a run gets
 * none. Throws what the store throws.
 */
async function takeVersionPlaces(
  newVersions: NewVersions,
  task: TraceTask,
  reading: TraceReading,
): Promise<TraceTask> {
  const take = async (selected: SelectedRule): Promise<SelectedRule> => {
    const { rule, pending } = selected;
    const request = pending?.versionRequest ?? null;
    if (
      pending === null ||
      request === null ||
      reading.runs.length === 0 ||
      findUnmetContent(rule.where, reading.runs, pending.facts) !== null
    ) {
      return selected;
    }
    const isFirstOfVersion = await newVersions.take(request);
    return {
      ...selected,
      pending: { ...pending, versionRequest: null, priority: { ...pending.priority, isFirstOfVersion } },
    };
  };
  return { ...task, rules: await Promise.all(task.rules.map(take)) };
}

/**
 * Reads the agent runs of a trace. A reader that throws is a defect of spanscore: the trace gets the decision `failed` all the
 * same. Throws the error of the store when the same read may succeed later.
 */
async function readContent({ readTrace, log }: Scoring, task: TraceTask): Promise<TraceReading | Unscored> {
  const { read } = task;
  if (read instanceof AppError) {
    if (read.retryable) {
      throw read;
    }
    return { status: 'failed', reason: formatReason(read.code, read.message) };
  }
  if (read !== null && 'partOf' in read) {
    const detail = `this trace is a piece of the run that is scored as trace ${read.partOf}`;
    return { status: 'not_applicable', reason: formatReason('part_of_run', detail) };
  }
  if (read !== null && 'session' in read) {
    return {
      traceId: '',
      spanCount: 0,
      logCount: 0,
      runs: [read.session],
      notScorable: null,
      notUnderstood: [],
    };
  }
  if (read === null || (read.spans.length === 0 && read.logs.length === 0)) {
    return { status: 'failed', reason: formatReason('evidence_gone', 'the spans are no longer stored') };
  }
  try {
    const needsCalls = task.rules.some(({ rule }) => rule.target === 'model-call');
    return await readTrace(read, needsCalls ? { modelCalls: MAX_MODEL_CALLS } : {});
  } catch (error) {
    log.error('trace could not be read', {
      traceId: task.key.traceId,
      error: readErrorMessage(error),
    });
    return { status: 'failed', reason: formatReason('reading_failed', readErrorMessage(error)) };
  }
}

/** Plans one rule on a trace. `reading` is the content of the trace, or the reason why there is none. */
export function buildPass(
  task: TraceTask,
  selected: SelectedRule,
  reading: TraceReading | Unscored,
  mode: ScoringMode,
): RulePass {
  if ('status' in reading) {
    return { pairs: [], verdicts: buildTraceRows(task, selected, reading) };
  }
  const targets = listTargets(reading, selected.rule.target);
  if (targets.length === 0) {
    const verdict = notApplicable(explainNoTarget(reading, selected.rule.target));
    return { pairs: [], verdicts: buildTraceRows(task, selected, verdict) };
  }
  const leftOut = buildLeftOutRows(task, selected, reading);
  const { true: scored = [], false: others = [] } = Object.groupBy(targets, ({ run }) =>
    run.scorable || selected.scorers.some((scorer) => measures(scorer, run)) ? 'true' : 'false',
  );
  return {
    pairs: scored.flatMap((target) =>
      buildPairs(task, selected, target, mode).map((pair) =>
        target.run.scorable || measures(pair.bound, target.run) ? pair : refusePair(pair),
      ),
    ),
    verdicts: [
      ...others.flatMap(({ targetId, run }) =>
        buildTraceRows(task, selected, notApplicable(run.notScorable), {
          targetId,
          evidenceHash: computeEvidenceHash(run),
          readByShape: isReadByShape(run),
        }),
      ),
      ...leftOut,
      ...buildGoneRows(task, selected, [...targets, ...leftOut]),
    ],
  };
}

/** Returns true for a scorer of what a run did, and a run that failed before its answer: it did something all the same. */
function measures({ readsPast }: BoundScorer, { notScorable }: AgentRun): boolean {
  return readsPast === true && notScorable?.code === 'run_errored_before_output';
}

/** Plans the pair of a scorer that needs an answer, beside the pair of a scorer that needs none. */
function refusePair(pair: Pair): Pair {
  const { prior, hash, bound, task, target } = pair;
  const isChanged = prior !== undefined && prior.evidenceHash !== '' && prior.evidenceHash !== hash;
  return {
    ...pair,
    plan: {
      action: 'decide',
      fingerprint: bound.fingerprint,
      ...notApplicable(target.run.notScorable),
      revision: (prior?.revision ?? 1) + (isChanged ? 1 : 0),
      attempts:
        prior !== undefined && prior.evidenceUntil >= task.activity.lastArrivalMs ? prior.attempts + 1 : 0,
      nextAttemptAt: null,
      evidenceHash: hash,
    },
  };
}

/** The rows of a rule whose pairs are all done; none when one of them was broken off. */
export function listFinalRows(pass: RulePass, results: PairResults): Decision[] {
  const done = pass.pairs.flatMap((pair) => results.get(pair) ?? []);
  if (done.some((result) => result.abandoned)) {
    return [];
  }
  const withdrawn = new Map<string, Decision>();
  for (const pair of done.some((result) => result.waiting) ? [] : pass.pairs) {
    const row = buildWithdrawnRow(pair);
    if (row !== null) {
      withdrawn.set(row.targetId, row);
    }
  }
  return [...pass.verdicts, ...done.flatMap(({ row }) => row ?? []), ...withdrawn.values()];
}

function notApplicable(reason: NotScorableReason | null): Unscored {
  return {
    status: 'not_applicable',
    reason: formatReason(reason?.code ?? 'not_scorable', reason?.detail ?? 'the run cannot be scored'),
  };
}

/**
 * Builds the rows of a verdict on the whole trace, or on one target.
 * @param target evidenceHash and readByShape: absent without content
 */
function buildTraceRows(
  task: TraceTask,
  { rule, selection, prior }: SelectedRule,
  verdict: Unscored,
  target?: Pick<VerdictFacts, 'targetId' | 'evidenceHash' | 'readByShape'>,
): Decision[] {
  return buildVerdictRows(verdict, {
    key: task.key,
    rule,
    selection,
    evidenceUntilMs: task.activity.lastArrivalMs,
    nowMs: task.clock.nowMs(),
    ...(target === undefined
      ? { targetId: task.key.traceId, prior }
      : { ...target, prior: prior.filter((row) => row.targetId === target.targetId) }),
  });
}

/** Builds the row that stands for the targets beyond the limit. */
function buildLeftOutRows(task: TraceTask, selected: SelectedRule, reading: TraceReading): Decision[] {
  const leftOut = describeLeftOut(reading, selected.rule.target);
  if (leftOut === null) {
    return [];
  }
  const { targetId, code, detail } = leftOut;
  const verdict = { status: 'not_applicable', reason: formatReason(code, detail) } as const;
  return buildTraceRows(task, selected, verdict, { targetId });
}

function buildGoneRows(
  task: TraceTask,
  { prior, selection }: SelectedRule,
  targets: readonly Pick<ScoringTarget, 'targetId'>[],
): Decision[] {
  const ids = new Set(targets.map((target) => target.targetId));
  const isNews = (row: Decision) =>
    row.evidenceUntil < task.activity.lastArrivalMs || task.reread || row.status === 'deferred';
  return prior
    .filter((row) => !ids.has(row.targetId) && isNews(row))
    .map((row) => buildGoneRow(row, task, selection));
}
