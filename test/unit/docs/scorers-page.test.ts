import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import * as prebuilt from '../../../src/scorers/prebuilt/index.ts';
import { SCORERS_PAGE } from '../../../tools/docs/write-scorers-page.ts';
import { JUDGED_CASES, findScore } from '../../support/builders/judged-cases.ts';
import {
  exampleArguments,
  exampleFactory,
  runExample,
  SCORER_PAGES,
  scorersPage,
} from '../../../tools/docs/scorer-pages/scorers-page.ts';
import type { ScorerPage } from '../../../tools/docs/scorer-pages/scorer-page.ts';
import { scriptedModel } from '../../support/fakes/scripted-model.ts';

/** Every way to make a scorer that the entry point has. */
const FACTORIES = [
  ...Object.keys(prebuilt).filter((name) => /^create.*Scorer/.test(name)),
  ...Object.keys(prebuilt.checks).map((name) => `checks.${name}`),
];

/** The options that a scorer itself says it takes, when it refuses one that it does not know. */
function knownOptions(page: ScorerPage): string[] {
  const args = exampleArguments(page);
  const positional = page.kind === 'check' ? Object.keys(page.given ?? {}).length : 0;
  const [first] = args;
  if (page.kind === 'judged') {
    const config = { ...(first as { options?: object }), model: scriptedModel([]) };
    args[0] = { ...config, options: { ...config.options, zzz: 1 } };
  } else {
    args[positional] = { ...(args[positional] as object | undefined), zzz: 1 };
  }
  return optionsIn(readRefusal(() => exampleFactory(page)(...args)));
}

function readRefusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was refused';
}

function optionsIn(refusal: string): string[] {
  if (refusal.endsWith('options.zzz is unknown; this scorer takes no options')) {
    return [];
  }
  const [, list] = /options\.zzz is unknown; Options of this scorer: (.*)$/.exec(refusal) ?? [];
  return list?.split(', ') ?? [refusal];
}

/** Returns true when the page's scorer takes options; a check may need only its argument. */
function takesOptions({ kind, given, options }: ScorerPage): boolean {
  return kind !== 'check' || given === undefined || Object.keys(options).length > 0;
}

describe('docs/scorers.md', () => {
  it('is what its source says', async () => {
    expect(readFileSync(SCORERS_PAGE, 'utf8')).toBe(await scorersPage());
  });

  it('has one section for every scorer and check there is', () => {
    expect(SCORER_PAGES.map(({ factory }) => factory).sort()).toEqual(FACTORIES.sort());
  });

  it('tells of every scorer that rules can name under that name', () => {
    const told = SCORER_PAGES.flatMap(({ rule = [] }) => rule);
    expect(told.sort()).toEqual(PREBUILT_SCORERS.map(({ name }) => name).sort());
  });

  it.each(SCORER_PAGES)('leaves nothing out: $title', (page) => {
    const { kind, measures, input = '', formula, questions, because, given = {}, options } = page;
    const told = [measures, formula, because, ...(kind === 'judged' ? [input] : [])];
    expect(questions !== undefined).toBe(kind === 'judged');
    expect(
      [...told, ...Object.values(given), ...Object.values(options)].map((text) => text.trim()),
    ).not.toContain('');
  });

  it.each(SCORER_PAGES.filter(takesOptions))('names all options and no others: $title', (page) => {
    const positional = page.kind === 'check' ? Object.keys(page.given ?? {}) : [];
    expect([...positional, ...Object.keys(page.options)].sort()).toEqual(knownOptions(page).sort());
  });

  it.each(SCORER_PAGES)('has an example that runs: $title', async (page) => {
    const judged = JUDGED_CASES.find(({ name }) => name === page.title);
    const { result, model } = await runExample(page);
    expect(model.calls).toHaveLength(judged?.replies.length ?? 0);
    expect(findScore(result)).toBeTypeOf('number');
    expect(judged?.score ?? findScore(result)).toBe(findScore(result));
  });

  it('has an example for every judged case', () => {
    const told = SCORER_PAGES.filter(({ kind }) => kind === 'judged').map(({ title }) => title);
    expect(told.sort()).toEqual(JUDGED_CASES.map(({ name }) => name).sort());
  });
});
