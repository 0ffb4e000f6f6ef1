import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Scorer } from '../../../src/evals/index.ts';
import * as prebuilt from '../../../src/scorers/prebuilt/index.ts';
import { JUDGED_CASES, runOf, scoreOf } from '../../support/judged-cases.ts';
import { SCORER_PAGES, scorersPage } from '../../support/scorer-pages.ts';
import { SCORERS_PAGE } from '../../docs/write-scorers-page.ts';
import { scriptedModel } from '../../support/scripted-model.ts';

/** What an example makes, with the exports of the entry point and a judge at hand. */
function made(example: string, model: unknown): Scorer {
  return runInNewContext(example, { ...prebuilt, model }) as Scorer;
}

describe('docs/scorers.md', () => {
  it('is what its source says', () => {
    const written = readFileSync(SCORERS_PAGE, 'utf8');
    expect(written).toBe(scorersPage());
  });

  it('tells of every judged scorer', () => {
    const told = SCORER_PAGES.map(({ name }) => name);
    expect(JUDGED_CASES.map(({ name }) => name).filter((name) => !told.includes(name))).toEqual([]);
  });

  it.each(SCORER_PAGES)('has an example that runs: $name', async ({ name, example }) => {
    const judged = JUDGED_CASES.find((candidate) => candidate.name === name);
    const model = scriptedModel((judged?.replies ?? []).map((json) => ({ json })));
    const run = name === 'context-recall' ? { ...runOf(), context: ['a'] } : runOf();
    const result = await made(example, model).run(run);
    expect(model.calls).toHaveLength(judged?.replies.length ?? 0);
    expect(scoreOf(result)).toBeTypeOf('number');
    expect(judged?.score ?? scoreOf(result)).toBe(scoreOf(result));
  });
});
