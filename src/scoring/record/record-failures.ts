import { readErrorMessage, AppError } from '../../domain/errors.ts';
import { computeIssueId, type Failure, type Feedback, signFailure } from '../../domain/failure.ts';
import { sha256Hex } from '../../domain/identity.ts';
import type { Score } from '../../domain/score.ts';
import type { TraceReading } from '../../domain/trace/agent-run.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { Scoring } from '../scoring.ts';
import { listTargets, type ScoringTarget } from '../select/targets.ts';
import type { Selection, TraceTask } from '../trace-task.ts';
import type { Unscored } from './decision-rows.ts';
import { parseTime } from './score-rows.ts';

/** Scores, withdrawn scores and feedback that one pass has for a trace. */
interface SaidOfTrace {
  readonly scores: readonly Score[];
  readonly tombstones: readonly Score[];
  readonly feedback: readonly Feedback[];
}

/**
 * Stores what went wrong in the runs of a trace. A run that the sample leaves out has no failure. A trace that was seen before loses the
 * failures that it no longer has. A row that the store refuses for good is logged. Throws when the store cannot be reached.
 */
export async function recordFailures(
  context: Scoring,
  task: TraceTask,
  reading: TraceReading | Unscored,
  pass: SaidOfTrace,
): Promise<void> {
  if ('status' in reading || task.key.traceId === '' || task.rules.length === 0) {
    return;
  }
  try {
    const targets = listTargets(reading, 'trace');
    const disliked = groupFeedback(pass.feedback, targets);
    const rows = targets.flatMap((target) =>
      buildFailures(context, task, { target, feedback: disliked.get(target.targetId) ?? [] }, pass),
    );
    const gone = await findGone(context, task, { rows, pass });
    if (rows.length + gone.length > 0) {
      await task.claim.check();
      await context.failureWriter.write([...rows, ...gone]);
    }
  } catch (error) {
    if (error instanceof AppError && (error.retryable || error.code === 'cancelled')) {
      throw error;
    }
    const message = readErrorMessage(error);
    context.log.warn('the failures of a trace were not stored', {
      traceId: task.key.traceId,
      error: message,
    });
  }
}

interface FoundOn {
  readonly target: ScoringTarget;
  readonly feedback: readonly Feedback[];
}

/** Groups the feedback of users by target: the run whose span has it, else the first one. */
function groupFeedback(
  found: readonly Feedback[],
  targets: readonly ScoringTarget[],
): Map<string, Feedback[]> {
  const targetOf = ({ spanId }: Feedback) =>
    targets.find(({ run }) => run.target.spanId === spanId) ?? targets[0];
  return Map.groupBy(found, (each) => targetOf(each)?.targetId ?? '');
}

function buildFailures(
  { findFailures }: Scoring,
  task: TraceTask,
  { target: { run, targetId }, feedback }: FoundOn,
  { scores, tombstones }: SaidOfTrace,
): Failure[] {
  const selection = findSelection(task);
  if (selection === undefined) {
    return [];
  }
  const replaced = new Set([...scores, ...tombstones].map(({ scoreId }) => scoreId));
  const judged = [...task.existing.filter(({ scoreId }) => !replaced.has(scoreId)), ...scores].filter(
    (score) => score.targetId === targetId,
  );
  const { tenant, traceId } = task.key;
  const startedAt = parseTime(run.startedAt, task.clock.nowMs());
  const agent = run.agent || run.service || '';
  return findFailures(run, { judged, feedback }).map((found) => {
    const issueId = computeIssueId(tenant, agent, signFailure(found));
    return {
      ...found,
      tenant,
      issueId,
      signatureId: issueId,
      failureId: sha256Hex(`${targetId} ${issueId}`).slice(0, 16),
      traceId,
      targetId,
      agent,
      agentVersion: run.agentVersion ?? '',
      serviceVersion: run.serviceVersion ?? '',
      userId: run.userId ?? '',
      sessionId: run.sessionId ?? '',
      day: new Date(startedAt).toISOString().slice(0, 10),
      traceTimestamp: startedAt,
      ...selection,
      revision: judged.find(({ scorer }) => scorer === found.scorer)?.revision ?? 1,
      evidenceUntil: task.activity.lastArrivalMs,
      isDeleted: false,
    };
  });
}

/** Finds the draw by which the run is read: of several rules, the one that reads most. Undefined when no rule has drawn it. */
function findSelection({ rules }: TraceTask): (Selection & { readonly weight: number }) | undefined {
  const drawn = rules
    .map(({ selection }) => selection)
    .toSorted((a, b) => b.inclusionProbability - a.inclusionProbability)[0];
  return drawn && { ...drawn, weight: drawn.weight ?? 1 };
}

/** Finds the failures that a trace had in an earlier pass and no longer has. */
async function findGone(
  { stores }: Scoring,
  { key, knownRuns, activity, reread }: TraceTask,
  { rows, pass }: { readonly rows: readonly Failure[]; readonly pass: SaidOfTrace },
): Promise<Failure[]> {
  const isChanged =
    reread ||
    pass.tombstones.length > 0 ||
    pass.scores.some(({ revision }) => revision > 1) ||
    knownRuns.some(({ evidenceUntil }) => evidenceUntil < activity.lastArrivalMs);
  if (!isChanged) {
    return [];
  }
  const current = new Set(rows.map(({ failureId }) => failureId));
  const stored = (await stores.failures.ofTraces([key])).get(joinTraceKey(key)) ?? [];
  return stored
    .filter(({ failureId }) => !current.has(failureId))
    .map((failure) => ({ ...failure, isDeleted: true }));
}
