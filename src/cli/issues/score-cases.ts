import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { decisionJson, scoreJson } from '../../api/json/rows.ts';
import { checkValue, type Config } from '../../configuration.ts';
import { directScore } from '../../domain/agreement/directed-score.ts';
import { COMMAND_RULE } from '../../domain/decision.ts';
import { InvalidInputError, readErrorMessage, RequestError } from '../../domain/errors.ts';
import type { WholeCase } from '../../domain/issue-case.ts';
import { reaches } from '../../domain/limits.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { describeUnknownScorer, listConfiguredScorers } from '../../scoring/setup/scorer-names.ts';
import type { TraceOutcome } from '../../scoring/trace-task.ts';
import { readingTerms } from '../../store/connection/connect-store.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { findTraceFiles, readTraceFiles } from '../input/trace-files.ts';
import { loadKit } from '../open-api.ts';
import { cleanLine } from '../show/clean-text.ts';

const expectedSchema = z.object({
  cases: z.array(
    z.object({
      case: z.string(),
      file: z.string(),
      traceId: z.string(),
      spanId: z.string().optional(),
      scorer: z.string(),
      min: z.number().min(0).max(1),
    }),
  ),
});

type Expected = z.output<typeof expectedSchema>['cases'][number];

/** Opens the scoring of recorded runs, each by the one scorer that its case names. */
async function openCases(context: CommandContext, config: Config) {
  const { createSpoolStores, openTraceSpool } = await import('../trace-files.ts');
  const { createConfiguredScoring } = await import('../../scoring/setup/configured-scoring.ts');
  const { scoreTraces } = await import('../../scoring/score-traces.ts');
  const { apiMode } = await import('../../scoring/scoring-mode.ts');
  const { readTrace } = await import('../../conventions/index.ts');
  // The rules of the configuration are not asked, so their judges need not be there.
  const kit = await loadKit(context, { ...config, rules: [] });
  const spool = openTraceSpool(readingTerms(config));
  const stores = createSpoolStores(spool, Date.now());
  const { log, signal } = context;
  const scoring = createConfiguredScoring({ config, kit, log, signal, stores, readTrace });
  const configured = listConfiguredScorers(config);
  return {
    spool,
    /** The row that a case names is absent when the scorer gave none. */
    score: async ({ scorer, traceId, spanId }: Pick<Expected, 'scorer' | 'traceId' | 'spanId'>) => {
      const owner = findRowScorer(scorer, configured);
      if (owner === undefined) {
        throw new RequestError(describeUnknownScorer(scorer, configured));
      }
      const rules = [await kit.prepareOwnRule(COMMAND_RULE, [owner])];
      const key = { tenant: '', traceId };
      const [outcome] = await scoreTraces(scoring, [key], apiMode(rules, { write: false }));
      if (outcome?.error) {
        throw outcome.error;
      }
      const row = outcome?.scores.find(
        (score) => score.scorer === scorer && (spanId === undefined || score.spanId === spanId),
      );
      return { row, outcome };
    },
    close: async () => {
      await scoring.budget.giveBack();
      spool.close();
    },
  };
}

/**
 * Scores the cases of an export whose files are named, each by its scorer alone, and prints a row for each. Exit code 3 when a score is below
 * what its case expects, or absent.
 */
export async function scoreExpected(
  context: CommandContext,
  inputs: readonly string[],
  expectFile: string,
): Promise<ExitCode> {
  const cases = await readExpected(context, inputs, resolve(context.cwd, expectFile));
  const { config } = await context.loadConfig();
  const { spool, score, close } = await openCases(context, config);
  try {
    await readTraceFiles([...new Set(cases.map(({ path }) => path))], context, (parts) => spool.add(parts));
    let isBroken = false;
    for (const each of cases) {
      const { row, outcome } = await score(each);
      const passed = row !== undefined && reaches(directScore(row.score, row), each.min);
      isBroken ||= !passed;
      const json = row === undefined ? describeMissing(outcome) : { ...scoreJson(row), status: 'scored' };
      await context.out.item(
        { ...json, traceId: each.traceId, scorer: each.scorer, case: each.case, passed, min: each.min },
        () => {
          const shown = row === undefined ? 'no score' : directScore(row.score, row).toFixed(3);
          const reason = cleanLine(row?.reason ?? outcome?.decisions[0]?.reason ?? '', 200);
          return `${passed ? 'passed' : 'FAILED'}  ${each.case}  ${cleanLine(each.scorer)}  ${shown} (at least ${each.min})  ${reason}`;
        },
      );
    }
    return isBroken ? EXIT.someFailed : EXIT.done;
  } finally {
    await close();
  }
}

function describeMissing(outcome: TraceOutcome | undefined): {
  readonly status: string;
  readonly reason?: unknown;
} {
  const [decision] = outcome?.decisions ?? [];
  return decision === undefined
    ? { status: 'failed', reason: 'the file has no run of this trace' }
    : { ...decisionJson(decision, Date.now()) };
}

/** Reads the expectations of the named files. Throws an `InvalidInputError` for a file of another form. */
async function readExpected(context: CommandContext, inputs: readonly string[], path: string) {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new InvalidInputError(`--expect ${path} cannot be read: ${readErrorMessage(error)}`);
  });
  let cases: readonly Expected[];
  try {
    ({ cases } = checkValue(expectedSchema, { cases: JSON.parse(text) as unknown }));
  } catch (error) {
    throw new InvalidInputError(
      `--expect ${path}: ${readErrorMessage(error)}; it must be the expect.json of spanscore issues tests`,
    );
  }
  const files = new Set(await findTraceFiles(inputs, context));
  const found = cases
    .map((each) => ({ ...each, path: resolve(dirname(path), each.file) }))
    .filter((each) => files.has(each.path));
  if (found.length === 0) {
    throw new RequestError(`--expect ${path} names none of the files ${inputs.join(', ')}`);
  }
  return found;
}

/** Scores the recorded answers of judged cases again, and marks those whose verdict is not the same each time. */
export async function rejudgeCases(
  context: CommandContext,
  cases: readonly WholeCase[],
  times: number,
): Promise<WholeCase[]> {
  const { config } = await context.loadConfig();
  // An answer that is used again says nothing about the next one.
  const { spool, score, close } = await openCases(context, {
    ...config,
    judges: { ...config.judges, reuse: false },
  });
  const { decodeTraces } = await import('../../conventions/index.ts');
  try {
    const rejudged: WholeCase[] = [];
    for (const each of cases) {
      const { expect, traceId } = each.shown.metadata;
      if (expect === null || expect.scorer.startsWith('behaviour-')) {
        rejudged.push(each);
        continue;
      }
      each.requests.forEach((request) => spool.add(decodeTraces(request).traces));
      const verdicts = new Set<boolean>();
      for (let time = 0; time < times; time += 1) {
        const { row } = await score({ scorer: expect.scorer, traceId, spanId: each.spanId });
        if (row !== undefined) {
          verdicts.add(reaches(directScore(row.score, row), expect.min));
        }
      }
      // The stored verdict is that the answer fails.
      const flaky = verdicts.has(true);
      const metadata = { ...each.shown.metadata, flaky };
      rejudged.push({ ...each, shown: { ...each.shown, metadata } });
    }
    return rejudged;
  } finally {
    await close();
  }
}
