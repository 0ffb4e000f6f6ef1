import PQueue from 'p-queue';
import { readErrorMessage } from '../../../src/domain/errors.ts';
import { findScoreLabel } from '../../../src/scorers/evals/scorer.ts';
import type { ScorerRunResult } from '../../../src/scorers/evals/index.ts';
import type { JudgeCall } from '../../../src/judge/judge.ts';
import type { JudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import type { RowFacts } from '../../../src/scorers/scorer-definition.ts';
import { createRandom } from '../bench-requests.ts';
import type { JudgedItem } from './judge-items.ts';

/** What a judge said about an item. An item has no verdict where the scorer failed or had nothing to score. */
export interface Judged {
  readonly item: JudgedItem;
  readonly verdict?: { readonly isGood: boolean; readonly score: number; readonly reason: string };
  readonly notScorable?: string;
  readonly failure?: string;
  readonly calls: readonly JudgeCall[];
}

const RESAMPLES = 2_000;
const SEED = 36;

/** Asks a judge about all items. */
export async function judgeItems(
  items: readonly JudgedItem[],
  { judge, judges, concurrency }: { judge: string; judges: JudgeRegistry; concurrency: number },
): Promise<Judged[]> {
  const queue = new PQueue({ concurrency });
  return queue.addAll(items.map((item) => () => judgeItem(item, judge, judges)));
}

async function judgeItem(item: JudgedItem, judge: string, judges: JudgeRegistry): Promise<Judged> {
  const calls: JudgeCall[] = [];
  try {
    const scorer = await item.measured.definition.create({ judge, options: item.options });
    const result = await withJudgeScope({ judges, onCall: (call) => calls.push(call) }, () =>
      scorer.run(item.run),
    );
    const { row, definition } = item.measured;
    const facts = row === undefined ? scorer : definition.rowFacts?.[row];
    return { item, calls, ...readVerdict(result, row, facts) };
  } catch (error) {
    return { item, calls, failure: readErrorMessage(error) };
  }
}

/** Reads whether a score is in the band of the best score. */
function readVerdict(
  result: ScorerRunResult,
  row: string | undefined,
  facts: Partial<RowFacts> | undefined,
): Pick<Judged, 'verdict' | 'notScorable'> {
  const found = row === undefined ? result : result.scores?.find(({ name }) => name === row);
  if (found?.score === undefined) {
    return { notScorable: result.notScorable?.reason ?? 'the scorer gave no such score' };
  }
  const { range, higherIsBetter, labels = [] } = facts ?? {};
  const best = range?.[higherIsBetter === false ? 0 : 1] ?? 1;
  return {
    verdict: {
      isGood: found.label === findScoreLabel(best, labels),
      score: found.score,
      reason: typeof found.reason === 'string' ? found.reason : '',
    },
  };
}

/** Share of right verdicts for good items, for bad items, and the mean of the two. */
export interface Accuracy {
  readonly good: number;
  readonly bad: number;
  readonly balanced: number;
  /** Bounds of the 95 % interval of `balanced`. */
  readonly interval: readonly [number, number];
}

/** Measures verdicts; undefined unless both labels were judged. The same verdicts give the same interval. */
export function measureAccuracy(judged: readonly Judged[]): Accuracy | undefined {
  const rightBy = (isGood: boolean): boolean[] =>
    judged.flatMap(({ item, verdict }) =>
      verdict === undefined || item.isGood !== isGood ? [] : [verdict.isGood === isGood],
    );
  const sides = [rightBy(true), rightBy(false)] as const;
  if (sides.some(({ length }) => length === 0)) {
    return undefined;
  }
  const [good, bad] = [shareOf(sides[0]), shareOf(sides[1])];
  const random = createRandom(SEED);
  const draw = (side: readonly boolean[]) => shareOf(side.map(() => side[random() % side.length] === true));
  const means = Array.from({ length: RESAMPLES }, () => (draw(sides[0]) + draw(sides[1])) / 2).sort(
    (a, b) => a - b,
  );
  const at = (share: number) => means[Math.floor(share * (RESAMPLES - 1))] ?? Number.NaN;
  return { good, bad, balanced: (good + bad) / 2, interval: [at(0.025), at(0.975)] };
}

function shareOf(flags: readonly boolean[]): number {
  return flags.filter(Boolean).length / flags.length;
}
