import type {
  EvalVerdict,
  GateResult,
  RunEvalsResult,
  ThresholdResult,
  TurnResult,
} from '../run-evals/eval-config.ts';
import { listMeans } from './eval-results.ts';

/** Facts of an evaluation that Vitest reporters read from `task.meta.mastraEval`. */
export interface MastraEvalMeta {
  /** Means by path: `tone`, `agent.tone`, `steps.plan.tone`. */
  scores: Record<string, number>;
  totalItems: number;
  verdict?: EvalVerdict;
  gateResults?: GateResult[];
  thresholdResults?: ThresholdResult[];
  turnResults?: TurnResult[];
}

/** Facts of `task.meta.spanscoreEval`: the same, plus the runs that gave no score. */
export interface SpanscoreEvalMeta extends MastraEvalMeta {
  /** One sentence for each failure. */
  errors?: string[];
  /** Number of runs that could not be scored, by scorer. */
  notScorable?: Record<string, number>;
}

declare module 'vitest' {
  interface TaskMeta {
    mastraEval?: MastraEvalMeta;
    spanscoreEval?: SpanscoreEvalMeta;
  }
}

/** Reduces a result to plain data, which a Vitest worker can send to its reporters. */
export function toEvalMeta(result: RunEvalsResult): MastraEvalMeta {
  const { scores, summary, verdict, gateResults, thresholdResults, turnResults } = result;
  return {
    scores: Object.fromEntries(listMeans(scores)),
    totalItems: summary.totalItems,
    ...(verdict === undefined ? {} : { verdict }),
    ...(gateResults === undefined ? {} : { gateResults }),
    ...(thresholdResults === undefined ? {} : { thresholdResults }),
    ...(turnResults === undefined ? {} : { turnResults }),
  };
}

/** Attaches a result to a test, for its reporters. */
export function attachEvalMeta(meta: object, result: RunEvalsResult): void {
  const { errors, summary } = result;
  const mastraEval = toEvalMeta(result);
  const spanscoreEval: SpanscoreEvalMeta = {
    ...mastraEval,
    ...(errors === undefined ? {} : { errors: errors.map(({ message }) => message) }),
    ...(summary.notScorable === undefined ? {} : { notScorable: summary.notScorable }),
  };
  Object.assign(meta, { mastraEval, spanscoreEval });
}
