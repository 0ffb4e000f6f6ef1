import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadConfig } from '../../../src/configuration.ts';
import { createConfiguredJudges } from '../../../src/scoring/setup/scorer-kit.ts';
import { InvalidInputError, readErrorMessage } from '../../../src/domain/errors.ts';
import { head, row, sumUp } from '../bench-table.ts';
import { benchTokens } from './count-tokens.ts';
import { findMeasured, readItems } from './judge-items.ts';
import { judgeItems, measureAccuracy, type Accuracy, type Judged } from './measure-judge.ts';

/** Items of this repository. */
export const ITEMS = new URL('items.jsonl', import.meta.url);

const OPTIONS = {
  judge: { type: 'string' },
  items: { type: 'string' },
  scorers: { type: 'string' },
  config: { type: 'string' },
  concurrency: { type: 'string', default: '4' },
  'count-tokens': { type: 'boolean', default: false },
  freeze: { type: 'boolean', default: false },
} as const;

/** Runs the command and returns its exit code: 0 where something was measured, 1 otherwise. Refusals are printed to stderr. */
export async function benchJudges(args: readonly string[]): Promise<number> {
  try {
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
    if (values['count-tokens']) {
      await benchTokens(values);
      sumUp();
      return 0;
    }
    const { judge } = values;
    if (judge === undefined) {
      throw new InvalidInputError('no judge is named; add --judge provider/model, or --count-tokens');
    }
    const concurrency = Number(values.concurrency);
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new InvalidInputError(
        `--concurrency is "${values.concurrency}"; write a whole number of 1 or more`,
      );
    }
    const chosen = values.scorers?.split(',').map((name) => findMeasured(name, '--scorers').name);
    const path = values.items ?? relative(process.cwd(), fileURLToPath(ITEMS));
    const items = readItems(readFileSync(path, 'utf8'), path, chosen);
    const judges = createConfiguredJudges((await loadConfig({ path: values.config })).config);
    // A judge without a key or an address is refused before the first item.
    await judges.resolve(judge);
    return printQuality(judge, await judgeItems(items, { judge, judges, concurrency }));
  } catch (error) {
    console.error(readErrorMessage(error));
    return 1;
  }
}

function printQuality(judge: string, judged: readonly Judged[]): number {
  head(
    `${judge}: verdicts by the scorers' labels, with the 95 % interval of 2,000 resamples`,
    'scorer',
    'balanced accuracy',
    '95 % interval',
    'good items right',
    'bad items right',
    'judged',
    'not scorable',
    'failed',
    'input tokens',
    'output tokens',
    'cost in USD',
  );
  for (const [name, ofScorer] of Map.groupBy(judged, ({ item }) => item.measured.name)) {
    row(name, ...accuracyCells(measureAccuracy(ofScorer)), ...countCells(ofScorer));
  }
  printRest(judged);
  return judged.some(({ verdict }) => verdict !== undefined) ? 0 : 1;
}

function accuracyCells(accuracy: Accuracy | undefined): string[] {
  if (accuracy === undefined) {
    return ['– (needs items of both labels)', '–', '–', '–'];
  }
  const { balanced, interval, good, bad } = accuracy;
  return [
    balanced.toFixed(2),
    interval.map((bound) => bound.toFixed(2)).join(' to '),
    good.toFixed(2),
    bad.toFixed(2),
  ];
}

function countCells(judged: readonly Judged[]): string[] {
  const count = (has: (one: Judged) => boolean) => `${judged.filter(has).length}`;
  const calls = judged.flatMap((one) => one.calls);
  // A call that failed has no count; a judge without a price has no cost.
  const sum = (values: readonly (number | undefined)[]) => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? undefined : known.reduce((all, value) => all + value, 0);
  };
  return [
    count(({ verdict }) => verdict !== undefined),
    count(({ notScorable }) => notScorable !== undefined),
    count(({ failure }) => failure !== undefined),
    `${sum(calls.map(({ usage }) => usage?.inputTokens)) ?? 'unknown'}`,
    `${sum(calls.map(({ usage }) => usage?.outputTokens)) ?? 'unknown'}`,
    sum(calls.map(({ cost }) => cost))?.toFixed(4) ?? 'unknown',
  ];
}

/** Prints the items that were judged otherwise than their label says, and the items without a verdict. */
function printRest(judged: readonly Judged[]): void {
  const rest = judged.filter(({ item, verdict }) => verdict?.isGood !== item.isGood);
  if (rest.length === 0) {
    return;
  }
  head('Items judged otherwise, not scorable or failed', 'scorer', 'item', 'label', 'result');
  for (const { item, verdict, notScorable, failure } of rest) {
    const told =
      verdict === undefined
        ? failure === undefined
          ? `not scorable: ${notScorable}`
          : `failed: ${failure}`
        : `score ${verdict.score}: ${verdict.reason}`;
    row(item.measured.name, item.id, item.isGood ? 'good' : 'bad', told.replaceAll(/\s+/g, ' '));
  }
}
