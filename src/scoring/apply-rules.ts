import type { NotScorableReason, TraceReading } from '../domain/agent-run.ts';
import { WHOLE_RULE, type Decision } from '../domain/decision.ts';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import type { Score } from '../domain/score.ts';
import { formatReason } from './attempt/attempt-failure.ts';
import { buildCells, inProgressRow, withdrawnVerdict, type Cell } from './attempt/cell.ts';
import { judgeCompleteness } from './read/completeness.ts';
import { evidenceHash } from './read/evidence.ts';
import { wholeRuleDecision } from './record/rows.ts';
import { runCell, type CellRun } from './attempt/run-cell.ts';
import type { Scoring } from './scoring.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { isOrphan, supersede, type SelectedRule } from './select/select-rules.ts';
import { noTargetReason, listTargets, type ScoringTarget } from './select/targets.ts';
import { staleScores } from './record/tombstones.ts';
import { emptyOutcome, type TraceOutcome, type TraceTask } from './trace-task.ts';

/** Result of one rule on a trace: verdicts without a scorer, and cells. */
interface RulePass {
  readonly selected: SelectedRule;
  readonly verdicts: readonly Decision[];
  readonly cells: readonly Cell[];
}

/** Time that an own scorer may run before the decisions of the others are shown, milliseconds. */
const INTERIM_AFTER_MS = 2_000;

type Verdict = Pick<Decision, 'reason'> & { status: 'not_applicable' | 'failed' };

/**
 * Scores one trace by all its rules: scores as they come, then tombstones, then the decisions of each rule in one write, so
 * that a rule is either decided or found again. Throws what the store throws.
 */
export async function applyRules(
  scoring: Scoring,
  task: TraceTask,
  mode: ScoringMode,
): Promise<TraceOutcome> {
  const reading = await readSafely(scoring, task);
  const passes = task.rules.map((selected) => buildPass(task, selected, reading, mode));
  const nowMs = task.clock.nowMs();
  const run: CellRun = {
    scoring,
    mode,
    completeness: judgeCompleteness(task, scoring.limits, nowMs),
  };
  const cells = passes.flatMap((pass) => pass.cells);
  const toRun = cells.filter((cell) => cell.plan.action === 'run');
  const isQuick = ({ bound }: Cell) => !bound.isJudged && bound.guest === undefined;
  await allSettled(toRun.filter(isQuick).map((cell) => runCell(cell, run)));
  const slow = toRun.filter((cell) => !isQuick(cell));
  const interim = startInterimRows(passes, slow, run);
  try {
    await allSettled(
      slow.map(async (cell) => {
        await runCell(cell, run);
        await showFailure(passes, cell, run);
      }),
    );
  } finally {
    await interim.stop();
  }
  const isUnread = task.rules.length > 0 && 'status' in reading && reading.status === 'failed';
  const tombstones = isUnread || !mode.reuses ? [] : staleScores(task, cells, nowMs);
  const decisions = [
    ...task.declined.flatMap((each) => each.rows),
    ...passes.flatMap((pass) => (pass.cells.some((cell) => cell.abandoned) ? [] : finalRows(pass))),
  ];
  if (mode.write) {
    await write(scoring, task, tombstones, decisions);
  }
  return emptyOutcome(task.key, {
    activity: task.activity,
    decisions,
    scores: cells.flatMap((cell) => cell.scores),
    tombstones,
    error: cells.some((cell) => cell.abandoned) ? interruptedError() : null,
  });
}

async function write(
  scoring: Scoring,
  task: TraceTask,
  tombstones: readonly Score[],
  decisions: readonly Decision[],
): Promise<void> {
  if (tombstones.length + decisions.length > 0) {
    await scoring.lease.check(task.lease);
  }
  await scoring.scoreWriter.write(tombstones);
  await scoring.decisionWriter.write(decisions);
}

/** Lets every one finish (what is stored is stored), then throws the first failure. */
async function allSettled(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    throw failed.reason;
  }
}

function interruptedError(): AppError {
  return new AppError('scoring was broken off before it came to a result', {
    code: 'cancelled',
    stage: 'judge',
    retryable: true,
  });
}

/** A reader that throws is a defect of ours; the trace gets a decision all the same. */
async function readSafely(scoring: Scoring, task: TraceTask): Promise<TraceReading | Verdict> {
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
  if (read === null || (read.spans.length === 0 && read.logs.length === 0)) {
    return { status: 'failed', reason: formatReason('evidence_gone', 'the spans are no longer stored') };
  }
  try {
    return await scoring.readTrace(read);
  } catch (error) {
    scoring.log.error('trace could not be read', {
      traceId: task.key.traceId,
      error: readErrorMessage(error),
    });
    return { status: 'failed', reason: formatReason('reading_failed', readErrorMessage(error)) };
  }
}

function buildPass(
  task: TraceTask,
  selected: SelectedRule,
  reading: TraceReading | Verdict,
  mode: ScoringMode,
): RulePass {
  if ('status' in reading) {
    return { selected, cells: [], verdicts: wholeTargetVerdict(task, selected, null, reading, true) };
  }
  const targets = listTargets(reading, selected.rule.target);
  if (targets.length === 0) {
    const verdict = notApplicable(noTargetReason(reading, selected.rule.target));
    return { selected, cells: [], verdicts: wholeTargetVerdict(task, selected, null, verdict, true) };
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
  return { selected, cells, verdicts: verdictRows };
}

function notApplicable(reason: NotScorableReason | null): Verdict {
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
  verdict: Verdict,
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

function finalRows(pass: RulePass): Decision[] {
  const withdrawn = new Map<string, Decision>();
  for (const cell of pass.cells) {
    const row = withdrawnVerdict(cell);
    if (row !== null) {
      withdrawn.set(row.targetId, row);
    }
  }
  return [...pass.verdicts, ...pass.cells.flatMap((cell) => cell.row ?? []), ...withdrawn.values()];
}

/** Shows a failure at once while other scorers of the rule still run: nobody should wait minutes to learn of a dead judge. */
async function showFailure(passes: readonly RulePass[], failed: Cell, run: CellRun): Promise<void> {
  const pass = passes.find((each) => each.cells.includes(failed));
  const isFailure = failed.row?.status === 'deferred' || failed.row?.status === 'failed';
  if (pass !== undefined && isFailure && run.mode.write && pass.cells.some(isRunning)) {
    await writeInterimRows([pass], failed.task, run);
  }
}

function isRunning(cell: Cell): boolean {
  return cell.plan.action === 'run' && cell.row === null && !cell.abandoned;
}

async function writeInterimRows(passes: readonly RulePass[], task: TraceTask, run: CellRun): Promise<void> {
  await run.scoring.lease.check(task.lease);
  const rows = passes.flatMap((pass) => [
    ...pass.verdicts,
    ...pass.cells.flatMap((cell) => cell.row ?? inProgressRow(cell) ?? []),
  ]);
  await run.scoring.decisionWriter.write(rows);
}

/**
 * Shows what is decided while an own scorer runs for long: a scorer that hangs must not hide the others. Rules that are
 * decided as a whole are left out where scores may have to be withdrawn, which goes before their decisions.
 */
function startInterimRows(
  passes: readonly RulePass[],
  slow: readonly Cell[],
  run: CellRun,
): { stop(): Promise<void> } {
  const [first] = slow;
  if (first === undefined || !run.mode.write || slow.every(({ bound }) => bound.guest === undefined)) {
    return { stop: async () => undefined };
  }
  let shown = 0;
  let writing: Promise<void> = Promise.resolve();
  const show = () => {
    const decided = passes.flatMap(({ cells }) => cells).filter((cell) => cell.row !== null).length;
    if (decided > shown && slow.some((cell) => cell.bound.guest !== undefined && isRunning(cell))) {
      shown = decided;
      const { task } = first;
      const open = passes.filter(({ cells }) => task.existing.length === 0 || cells.some(isRunning));
      // The final rows are written whatever becomes of these.
      writing = writeInterimRows(open, task, run).catch(() => undefined);
    }
  };
  const timer = setInterval(show, INTERIM_AFTER_MS);
  return {
    async stop() {
      clearInterval(timer);
      await writing;
    },
  };
}
