import type { Decision } from '../../domain/decision.ts';
import type { Cell, CellResults } from '../attempt/cell.ts';
import type { RulePass } from '../rule-pass.ts';
import type { TraceTask } from '../trace-task.ts';
import { buildInProgressRow } from './decision-rows.ts';
import type { RecordContext } from './record-context.ts';

/** Time that an own scorer may run before the decisions of the other scorers are shown, milliseconds. */
const INTERIM_AFTER_MS = 2_000;

/** A trace whose scorers run. */
export interface RunningTrace {
  readonly task: TraceTask;
  readonly passes: readonly RulePass[];
  /** Grows while the scorers run. */
  readonly results: CellResults;
}

/**
 * Writes the rows of a rule as soon as one of its scorers fails while others still run: a person sees a dead judge at once, not
 * after minutes.
 */
export async function showFailure(context: RecordContext, trace: RunningTrace, failed: Cell): Promise<void> {
  const pass = trace.passes.find((each) => each.cells.includes(failed));
  const status = trace.results.get(failed)?.row?.status;
  const isFailure = status === 'deferred' || status === 'failed';
  if (pass !== undefined && isFailure && hasRunning(pass, trace.results)) {
    await writeInterimRows(context, trace, [pass]);
  }
}

/**
 * Writes new decisions every 2 s while an own scorer runs: a scorer that hangs must not hide the decisions of the others. A
 * rule whose cells are all done is left out when the trace has earlier scores: they may have to be withdrawn, and that goes
 * before the decisions.
 */
export function startInterimRows(context: RecordContext, trace: RunningTrace): { stop(): Promise<void> } {
  const { task, passes, results } = trace;
  const ownScorers = passes
    .flatMap(({ cells }) => cells)
    .filter((cell) => cell.bound.guest !== undefined && !results.has(cell));
  if (ownScorers.length === 0) {
    return { stop: async () => undefined };
  }
  let shown = 0;
  let writing: Promise<void> = Promise.resolve();
  const show = () => {
    const decided = [...results.values()].filter(({ row }) => row !== null).length;
    if (decided > shown && ownScorers.some((cell) => !results.has(cell))) {
      shown = decided;
      const open = passes.filter((pass) => task.existing.length === 0 || hasRunning(pass, results));
      // An error is dropped: the final rows are written in any case.
      writing = writeInterimRows(context, trace, open).catch(() => undefined);
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

function hasRunning({ cells }: RulePass, results: CellResults): boolean {
  return cells.some((cell) => !results.has(cell));
}

/** Returns null for a cell whose earlier row is still right, or whose run is left to a later pass. */
function readInterimRow(cell: Cell, results: CellResults): Decision | null {
  const result = results.get(cell);
  return result === undefined ? buildInProgressRow(cell) : result.row;
}

async function writeInterimRows(
  context: RecordContext,
  { task, results }: RunningTrace,
  passes: readonly RulePass[],
): Promise<void> {
  await task.claim.check();
  const rows = passes.flatMap((pass) => [
    ...pass.verdicts,
    ...pass.cells.flatMap((cell) => readInterimRow(cell, results) ?? []),
  ]);
  await context.decisionWriter.write(rows);
}
