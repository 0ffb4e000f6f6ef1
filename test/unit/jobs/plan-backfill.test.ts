import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/configuration.ts';
import { planBackfill } from '../../../src/jobs/configured-backfill.ts';
import { loadScorerKit } from '../../../src/scoring/setup/scorer-kit.ts';

const HOUR_MS = 3_600_000;

async function plan(rules?: readonly string[]) {
  const config = parseConfig({
    rules: [
      { name: 'runs', scorers: ['tone'] },
      { name: 'conversations', target: 'session', scorers: ['tone'] },
    ],
  });
  const kit = await loadScorerKit(config);
  const request = { fromMs: 0, toMs: HOUR_MS, where: { status: 'error' }, limits: {} };
  return planBackfill(
    { config, kit },
    rules === undefined ? request : { ...request, rules },
    (path) => `--${path}`,
  );
}

async function planBatch(scorer: string, judge: string, provider: object = {}) {
  const config = parseConfig({
    judges: { default: judge, providers: { work: { baseURL: 'http://127.0.0.1:1/v1', ...provider } } },
    rules: [{ name: 'runs', scorers: ['tone'] }],
  });
  const kit = await loadScorerKit(config);
  const request = { fromMs: 0, toMs: HOUR_MS, scorers: [scorer, 'tone'], batch: true, limits: {} };
  return planBackfill({ config, kit }, request, (path) => `--${path}`);
}

describe('a backfill in batches', () => {
  it.each([
    ['grounding', 'openai/gpt-5-mini', {}],
    ['panel', 'anthropic/claude-haiku-4-5', {}],
    ['grounding', 'work/x', { batch: true }],
    ['grounding', 'work/x', { batch: 'openai' }],
  ])('takes %s with %s', async (scorer, judge, provider) => {
    expect(await planBatch(scorer, judge, provider)).toMatchObject({ batch: true });
  });

  it.each([
    ['hallucination', 'openai/gpt-5-mini', {}, 'hallucination asks several questions about a run'],
    ['grounding', 'work/x', {}, 'the judge work/x has no batch interface'],
    ['grounding', 'work/x', { use: 'openai', batch: false }, 'the judge work/x has no batch interface'],
    ['grounding', 'groq/x', {}, 'the judge groq/x has no batch interface'],
  ])('refuses %s with %s', async (scorer, judge, provider, fault) => {
    await expect(planBatch(scorer, judge, provider)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(fault) as string,
    });
  });
});

describe('a backfill with conditions', () => {
  it('runs rules on sessions beside rules on traces', async () => {
    expect(await plan()).toMatchObject({
      where: { status: 'error' },
      rules: [
        { name: 'runs', target: 'trace' },
        { name: 'conversations', target: 'session' },
      ],
    });
  });

  it('runs only the rules that it names', async () => {
    expect((await plan(['conversations'])).rules).toMatchObject([{ name: 'conversations' }]);
  });
});
