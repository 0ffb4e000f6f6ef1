import type { NotScorableReason, TraceReading } from '../domain/agent-run.ts';
import { WHOLE_RULE, type Decision } from '../domain/decision.ts';
import { formatReason } from './attempt/attempt-failure.ts';
import { buildCells, withdrawnVerdict, type Cell, type CellResults } from './attempt/cell.ts';
import { evidenceHash } from './read/evidence.ts';
import type { Unscored } from './read/read-content.ts';
import { wholeRuleDecision } from './record/rows.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { isOrphan, supersede, type SelectedRule } from './select/select-rules.ts';
import { noTargetReason, listTargets, type ScoringTarget } from './select/targets.ts';
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
    return { cells: [], verdicts: wholeTargetVerdict(task, selected, null, reading, true) };
  }
  const targets = listTargets(reading, selected.rule.target);
  if (targets.length === 0) {
    const verdict = notApplicable(noTargetReason(reading, selected.rule.target));
    return { cells: [], verdicts: wholeTargetVerdict(task, selected, null, verdict, true) };
  }
  const cells = targets
    .filter((target) => target.run.scorable)
    .flatMap((target) => buildCells(task, selected, target, mode));
  const verdicts = targets
    .filter((target) => !target.run.scorable)
    .flatMap((target) =>
      wholeTargetVerdict(task, selected, target, notApplicable(target.run.notScorable), false),
    );
  const verdictRows = [
    ...verdicts,
    ...goneRows(task, selected, targets),
    ...orphanRows(task, selected, targets),
  ];
  return { cells, verdicts: verdictRows };
}

/** The rows of a rule whose cells are all done; none when one of them was broken off. */
export function listFinalRows(pass: RulePass, results: CellResults): Decision[] {
  const done = pass.cells.flatMap((cell) => results.get(cell) ?? []);
  if (done.some((result) => result.abandoned)) {
    return [];
  }
  const withdrawn = new Map<string, Decision>();
  for (const cell of pass.cells) {
    const row = withdrawnVerdict(cell);
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

/** A verdict on one target (or, with `null`, on the trace), and on every earlier row that it replaces. */
function wholeTargetVerdict(
  task: TraceTask,
  selected: SelectedRule,
  target: ScoringTarget | null,
  verdict: Unscored,
  everywhere: boolean,
): Decision[] {
  const targetId = target?.targetId ?? task.key.traceId;
  const isOwn = (row: Decision) => row.targetId === targetId && row.scorer === WHOLE_RULE;
  const whole = wholeRuleDecision({
    key: task.key,
    target: selected.rule.target,
    targetId,
    rule: selected.rule.name,
    ...verdict,
    prior: selected.prior.find(isOwn),
    selection: selected.selection,
    evidenceUntilMs: task.activity.lastArrivalMs,
    evidenceHash: target === null ? '' : evidenceHash(target.run),
    nowMs: task.clock.nowMs(),
  });
  const replaced = selected.prior.filter((row) => !isOwn(row) && (everywhere || row.targetId === targetId));
  return [whole, ...replaced.map((row) => supersede(row, whole))];
}

/** Rows of targets that later spans have done away with: two runs may turn out to be one. */
function goneRows(task: TraceTask, selected: SelectedRule, targets: readonly ScoringTarget[]): Decision[] {
  const ids = new Set(targets.map((target) => target.targetId));
  const isNews = (row: Decision) => row.evidenceUntil < task.activity.lastArrivalMs || task.reread;
  const verdict = {
    status: 'not_applicable' as const,
    reason: formatReason('target_gone', 'the trace no longer has this run'),
    stratum: selected.selection.stratum,
    inclusionProbability: selected.selection.inclusionProbability,
    weight: selected.selection.weight,
    evidenceUntil: task.activity.lastArrivalMs,
    evidenceHash: '',
    decidedAt: task.clock.nowMs(),
  };
  return selected.prior
    .filter((row) => !ids.has(row.targetId) && isNews(row))
    .map((row) => supersede(row, { ...row, ...verdict }));
}

/** Deferred rows of scorers that the rule has lost: nobody would ever try them again. */
function orphanRows(task: TraceTask, selected: SelectedRule, targets: readonly ScoringTarget[]): Decision[] {
  const ids = new Set(targets.filter((target) => target.run.scorable).map((target) => target.targetId));
  return selected.prior
    .filter((row) => ids.has(row.targetId) && isOrphan(row, selected.rule))
    .map((row) =>
      supersede(row, {
        ...row,
        status: 'failed',
        reason: formatReason('scorer_removed', 'the rule no longer has this scorer'),
        evidenceUntil: task.activity.lastArrivalMs,
        decidedAt: task.clock.nowMs(),
      }),
    );
}
