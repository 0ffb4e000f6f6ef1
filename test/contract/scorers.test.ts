import { describe, expect, it } from 'vitest';
import { PREBUILT_SCORERS } from '../../src/components.ts';
import { defaultRule } from '../../src/config/default-rule.ts';
import { AppError } from '../../src/domain/errors.ts';
import type {
  NamedScore,
  ScorerMetadata,
  ScorerRunInput,
  ScorerRunResult,
} from '../../src/scorers/evals/index.ts';
import { createAgentTestRun, createTestMessage } from '../../src/scorers/shared/utils.ts';
import { requestsOf } from '../bench/schema-judge.ts';
import type { JudgeRequest } from '../bench/schema-judge.ts';
import { readFencedPrompt } from '../support/builders/fenced-prompt.ts';
import { JUDGED_CASES, buildRun } from '../support/builders/judged-cases.ts';
import {
  exampleArguments,
  runExample,
  SCORER_PAGES,
  type ScorerPage,
} from '../../tools/docs/scorer-pages/scorers-page.ts';
import { scriptedModel } from '../support/fakes/scripted-model.ts';
import type { ScriptedModelCall } from '../support/fakes/scripted-model.ts';

const JUDGED = new Set(JUDGED_CASES.map(({ name }) => name));

/** The scores of a result as they are stored: under a name each, or the scorer's own. */
function storedScores(
  scorer: Partial<ScorerMetadata>,
  { score, label, scores = [] }: ScorerRunResult,
): NamedScore[] {
  const { higherIsBetter, range } = scorer;
  const own = {
    name: '',
    score: score ?? Number.NaN,
    ...(label === undefined ? {} : { label }),
    ...(typeof higherIsBetter === 'boolean' ? { higherIsBetter } : {}),
    ...(range ? { range } : {}),
  };
  return [...(score === undefined ? [] : [own]), ...scores];
}

describe.each(SCORER_PAGES)('$title', (page) => {
  it('gives scores with a direction, a label and a range that holds them', async () => {
    const { scorer, result } = await runExample(page);
    const stored = storedScores(scorer, result);
    expect(stored.length).toBeGreaterThan(0);
    for (const { score, range: [low, high] = [0, 0], ...rest } of stored) {
      expect(rest).toMatchObject({
        higherIsBetter: expect.any(Boolean),
        label: expect.stringMatching(/^[a-z]/),
      });
      expect(low).toBeLessThan(high);
      expect(score).toBeGreaterThanOrEqual(low);
      expect(score).toBeLessThanOrEqual(high);
    }
  });

  it('names bands of which one takes every score, unless its scores have names and labels of their own', async () => {
    const { scorer, result } = await runExample(page);
    const { labels = [] } = scorer;
    const isNamed = result.score === undefined;
    expect(labels.length >= 2).toBe(!isNamed);
    expect(labels.filter(({ upTo, below }) => upTo === undefined && below === undefined)).toHaveLength(
      isNamed ? 0 : 1,
    );
    expect(new Set(labels.map(({ label }) => label)).size).toBe(labels.length);
  });

  it('shows name, description, version and prompts, and neither model nor instructions', async () => {
    const { scorer } = await runExample(page);
    expect(scorer).toMatchObject({
      name: expect.stringMatching(/\w/),
      description: expect.stringMatching(/\w/),
      version: expect.stringMatching(/\w/),
    });
    const isJudged = page.kind === 'judged';
    expect(scorer.promptVersion !== '').toBe(isJudged);
    expect(scorer.judgeModel).toBe(isJudged ? 'scripted/scripted-1' : '');
    expect(JSON.stringify(scorer)).not.toMatch(/doGenerate|"instructions"|specificationVersion/);
  });
});

describe('the questions of judged scorers', () => {
  it('begin with one system message and the data, and end with what to do', async () => {
    const questions: ScriptedModelCall[] = [];
    for (const judged of JUDGED_CASES) {
      const { replies, explained = replies } = judged;
      const model = scriptedModel([...explained.map((json) => ({ json })), { text: 'Because.' }]);
      await judged.create(model).run(buildRun());
      questions.push(...model.calls);
    }
    expect(questions.length).toBeGreaterThan(2 * JUDGED_CASES.length);
    expect(new Set(questions.map(({ system }) => system)).size).toBe(1);
    for (const { prompt } of questions) {
      expect(readFencedPrompt(prompt)?.task).toMatch(/[a-z]{3}/);
    }
  });
});

/** A run with all kinds of evidence. */
function buildWholeRun(): ScorerRunInput {
  const run = buildRun();
  const said = [
    createTestMessage({ role: 'user', content: 'I live in Paris.' }),
    createTestMessage({ role: 'assistant', content: 'Then I tell you the weather of Paris.' }),
  ];
  const input = { ...(run.input as object), rememberedMessages: said };
  return { ...run, input, documents: [{ content: 'Rome is sunny.' }] };
}

/** Writes what a judge reads: both messages, with one code on the marker lines in place of a new one for each process. */
function formatQuestion({ system, user }: JudgeRequest, index: number): string {
  const code = /^<<<(\w+)$/m.exec(user)?.[1] ?? '';
  return `=== question ${index + 1}: system\n${system}\n--- user\n${user.replaceAll(code, 'code')}\n`;
}

describe.each(JUDGED_CASES)('$name', (judged) => {
  it('asks what test/fixtures/prompts shows (after a change of wording: -u)', async () => {
    const questions = await requestsOf([judged.name], buildWholeRun());
    const path = `../fixtures/prompts/${judged.name}.txt`;
    await expect(questions.map(formatQuestion).join('')).toMatchFileSnapshot(path);
  });

  it('stays in its range when the judge flatters', async () => {
    const { flattering } = judged;
    const model = scriptedModel(flattering.replies.map((json) => ({ json })));
    const scorer = judged.create(model, { reason: false });
    const result = await scorer.run(buildRun());
    for (const { score, range: [low, high] = [0, 0] } of storedScores(scorer, result)) {
      expect(score).toBeGreaterThanOrEqual(low);
      expect(score).toBeLessThanOrEqual(high);
    }
  });
});

describe('the scorers that rules can name', () => {
  it('have different names, and ask a judge only if their definition says so', () => {
    const names = PREBUILT_SCORERS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, needsJudge } of PREBUILT_SCORERS) {
      expect({ name, needsJudge }).toEqual({ name, needsJudge: JUDGED.has(name) });
    }
  });
});

/** The options of the documented example, as a configuration gives them. */
function documentedOptions(page: ScorerPage): Record<string, unknown> {
  const [first = {}] = exampleArguments(page) as Record<string, unknown>[];
  const { model: _, options, ...beside } = first;
  return page.kind === 'judged' ? { ...beside, ...(options as object | undefined) } : first;
}

/** A run in which nobody said anything. */
const SILENT_RUN = createAgentTestRun({
  inputMessages: [createTestMessage({ role: 'user', content: '' })],
  output: [createTestMessage({ role: 'assistant', content: '' })],
});

describe.each(PREBUILT_SCORERS)('the scorer $name of rules', (definition) => {
  const { name, needsJudge, options } = definition;
  const judge = needsJudge ? 'openai/gpt-5-mini' : '';

  /** The page is found at run time: a scorer without one fails here by name. */
  const readPage = (): ScorerPage => {
    const page = SCORER_PAGES.find(({ rule }) => rule === name);
    expect(page, `tools/docs/scorer-pages/ has a page of ${name}`).toBeDefined();
    return page as ScorerPage;
  };

  it('says what it measures and what each option means', () => {
    expect(definition.measures).toMatch(/^[a-z].*[^.]$/);
    for (const { means, is } of Object.values(options)) {
      expect(means).toMatch(/\w/);
      expect(is).toMatch(/\w/);
    }
  });

  it('is the scorer of its documented example, made from the same options', async () => {
    const page = readPage();
    const given = documentedOptions(page);
    expect(definition.findOptionFault(given)).toBeUndefined();
    const scorer = await definition.create({ judge, options: given });
    expect(scorer.id).toBe((await runExample(page)).scorer.id);
    expect(scorer.judgeModel).toBe(judge);
    expect(scorer.promptVersion !== '').toBe(needsJudge);
  });

  it('refuses an option that it does not know, by name, before and at its creation', async () => {
    const wrong = { ...documentedOptions(readPage()), zzz: 1 };
    expect(definition.findOptionFault(wrong)).toMatch(/^options\.zzz is unknown; /);
    await expect(definition.create({ judge, options: wrong })).rejects.toThrow('options.zzz is unknown');
  });

  it('refuses a value of another kind, by name, before and at its creation', async () => {
    const given = documentedOptions(readPage());
    for (const option of Object.keys(options)) {
      const wrong = { ...given, [option]: Symbol('no option') };
      expect(definition.findOptionFault(wrong)).toContain(`options.${option} is `);
      await expect(definition.create({ judge, options: wrong })).rejects.toThrow(`options.${option} is `);
    }
  });

  it('refuses to be made without an option that it needs', async () => {
    const given = documentedOptions(readPage());
    for (const [option, needed] of Object.entries(definition.needs)) {
      const missing = { ...given, [option]: undefined };
      const message = `${name} needs options.${option}: ${needed}`;
      expect(definition.findOptionFault(missing)).toBe(message);
      await expect(definition.create({ judge, options: missing })).rejects.toThrow(message);
    }
  });

  it('answers a run in which nobody said anything with a score or a typed reason', async () => {
    const model = scriptedModel([]);
    const scorer = await definition.create({
      judge: model as never,
      options: documentedOptions(readPage()),
    });
    const outcome = await scorer.run(SILENT_RUN).catch((error: unknown) => error);
    const { score, scores = [], notScorable } = outcome as ScorerRunResult;
    const isScored = Number.isFinite(score) || scores.length > 0 || notScorable !== undefined;
    expect(isScored || outcome instanceof AppError).toBe(true);
  });
});

describe('the default rule', () => {
  it('measures what each run did, without a judge', async () => {
    const { name, target, sample, scorers } = defaultRule(PREBUILT_SCORERS, undefined);
    expect({ name, target, sample, scorers }).toEqual({
      name: 'default',
      target: 'trace',
      sample: { rate: 1, always: [] },
      scorers: ['behaviour'],
    });
    for (const scorer of scorers) {
      const entry = PREBUILT_SCORERS.find((candidate) => candidate.name === scorer);
      expect(entry?.needsJudge).toBe(false);
      const result = await (await entry?.create({ judge: '', options: {} }))?.run(buildRun());
      expect(result?.scores?.map((row) => row.name)).toContain('behaviour-answered');
    }
  });

  it('adds grounding under a daily budget where a judge was named', () => {
    const judge = { model: 'openai/gpt-5-mini', hasPrice: true };
    const { scorers, budget } = defaultRule(PREBUILT_SCORERS, judge);
    expect(scorers.slice(1)).toEqual(['grounding']);
    expect(budget?.perDay).toBeGreaterThan(0);
  });

  it('adds grounding without a budget where the judge has no price', () => {
    const { scorers, budget } = defaultRule(PREBUILT_SCORERS, { model: 'local/qwen3', hasPrice: false });
    expect(scorers.slice(1)).toEqual(['grounding']);
    expect(budget).toBeUndefined();
  });
});
