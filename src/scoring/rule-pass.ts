import type { AgentRun, NotScorableReason, TraceReading } from '../domain/trace/agent-run.ts';
import type { Decision } from '../domain/decision.ts';
import { formatReason } from './attempt/attempt-failure.ts';
import { buildCells, type Cell, type CellResults } from './attempt/cell.ts';
import { computeEvidenceHash } from './read/evidence.ts';
import { buildGoneRow, buildVerdictRows, buildWithdrawnRow, type Unscored } from './record/decision-rows.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { isReadByShape } from './select/run-totals.ts';
import type { BoundScorer } from './select/rule.ts';
import type { SelectedRule } from './select/selection.ts';
import { describeLeftOut, explainNoTarget, listTargets, type ScoringTarget } from './select/targets.ts';
import type { TraceTask } from './trace-task.ts';

/** One rule on one trace: its verdicts that need no scorer, and its cells. */
export interface RulePass {
  readonly verdicts: readonly Decision[];
  readonly cells: readonly Cell[];
}

/** Plans one rule on a trace. `reading` is the content of the trace, or the reason why there is none. */
export function buildPass(
  task: TraceTask,
  selected: SelectedRule,
  reading: TraceReading | Unscored,
  mode: ScoringMode,
): RulePass {
  if ('status' in reading) {
    return { cells: [], verdicts: buildTraceRows(task, selected, reading) };
  }
  const targets = listTargets(reading, selected.rule.target);
  if (targets.length === 0) {
    const verdict = notApplicable(explainNoTarget(reading, selected.rule.target));
    return { cells: [], verdicts: buildTraceRows(task, selected, verdict) };
  }
  const leftOut = buildLeftOutRows(task, selected, reading);
  const { true: scored = [], false: others = [] } = Object.groupBy(targets, ({ run }) =>
    run.scorable || selected.scorers.some((scorer) => measures(scorer, run)) ? 'true' : 'false',
  );
  return {
    cells: scored.flatMap((target) =>
      buildCells(task, selected, target, mode).map((cell) =>
        target.run.scorable || measures(cell.bound, target.run) ? cell : refuseCell(cell),
      ),
    ),
    verdicts: [
      ...others.flatMap((target) => buildTargetRows(task, selected, target)),
      ...leftOut,
      ...buildGoneRows(task, selected, [...targets, ...leftOut]),
    ],
  };
}

/** Returns true for a scorer of what a run did, and a run that failed before its answer: it did something all the same. */
function measures({ readsPast }: BoundScorer, { notScorable }: AgentRun): boolean {
  return readsPast === true && notScorable?.code === 'run_errored_before_output';
}

/** Plans the cell of a scorer that needs an answer, beside the cell of a scorer that needs none. */
function refuseCell(cell: Cell): Cell {
  const { prior, hash, bound, task, target } = cell;
  const isChanged = prior !== undefined && prior.evidenceHash !== '' && prior.evidenceHash !== hash;
  return {
    ...cell,
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

/** The rows of a rule whose cells are all done; none when one of them was broken off. */
export function listFinalRows(pass: RulePass, results: CellResults): Decision[] {
  const done = pass.cells.flatMap((cell) => results.get(cell) ?? []);
  if (done.some((result) => result.abandoned)) {
    return [];
  }
  const withdrawn = new Map<string, Decision>();
  for (const cell of done.some((result) => result.left) ? [] : pass.cells) {
    const row = buildWithdrawnRow(cell);
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

/** Builds the rows of a verdict on the whole trace, or on one target without content. */
function buildTraceRows(
  task: TraceTask,
  selected: SelectedRule,
  verdict: Unscored,
  targetId = task.key.traceId,
): Decision[] {
  const { rule, selection, prior } = selected;
  return buildVerdictRows(verdict, {
    key: task.key,
    rule,
    targetId,
    prior,
    selection,
    evidenceUntilMs: task.activity.lastArrivalMs,
    evidenceHash: '',
    nowMs: task.clock.nowMs(),
  });
}

/** Builds the row that stands for the targets beyond the limit. */
function buildLeftOutRows(task: TraceTask, selected: SelectedRule, reading: TraceReading): Decision[] {
  const leftOut = describeLeftOut(reading, selected.rule.target);
  if (leftOut === null) {
    return [];
  }
  const { targetId, code, detail } = leftOut;
  const prior = selected.prior.filter((row) => row.targetId === targetId);
  const verdict = { status: 'not_applicable', reason: formatReason(code, detail) } as const;
  return buildTraceRows(task, { ...selected, prior }, verdict, targetId);
}

/** Builds the rows of a target that cannot be scored. */
function buildTargetRows(
  task: TraceTask,
  selected: SelectedRule,
  { targetId, run }: ScoringTarget,
): Decision[] {
  const { rule, selection, prior } = selected;
  return buildVerdictRows(notApplicable(run.notScorable), {
    key: task.key,
    rule,
    targetId,
    prior: prior.filter((row) => row.targetId === targetId),
    selection,
    evidenceUntilMs: task.activity.lastArrivalMs,
    evidenceHash: computeEvidenceHash(run),
    readByShape: isReadByShape(run),
    nowMs: task.clock.nowMs(),
  });
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
