import { describe, expect, expectTypeOf, it } from 'vitest';
import type { AgentOutput } from '../../../../src/domain/trace/messages.ts';
import { defineScorer, notScorable, type Scorer } from '../../../../src/scorers/evals/index.ts';

const run = { output: [], input: undefined };

describe('defineScorer', () => {
  it('makes a scorer of a function, whether it answers at once or later', async () => {
    const atOnce = defineScorer({ id: 'a', run: () => ({ score: 0.5, reason: 'half' }) });
    const later = defineScorer({ id: 'b', run: async ({ output }) => ({ score: output.length }) });

    expect(await atOnce.run(run)).toEqual({ score: 0.5, reason: 'half' });
    expect(await later.run(run)).toEqual({ score: 0 });
    expectTypeOf(atOnce).toExtend<Scorer>();
  });

  it('reports a run that cannot be scored', async () => {
    const scorer = defineScorer({ id: 'a', run: () => notScorable('no answer') });
    expect(await scorer.run(run)).toEqual({ notScorable: { step: 'generateScore', reason: 'no answer' } });
  });

  it('has a version that changes with its code, unless it names one', () => {
    const versions = [
      defineScorer({ id: 'a', run: () => ({ score: 0 }) }),
      defineScorer({ id: 'a', run: () => ({ score: 1 }) }),
      defineScorer({ id: 'a', version: '3', run: () => ({ score: 1 }) }),
    ].map(({ version }) => version);
    expect(new Set(versions).size).toBe(3);
    expect(versions[2]).toBe('3');
  });

  it('refuses a scorer without an id', () => {
    expect(() => defineScorer({ id: '', run: () => ({ score: 1 }) })).toThrow('needs an id and run()');
  });

  it('types what a run has, so that a misspelt member of it or of the scorer is an error', () => {
    const typed = defineScorer({
      id: 'a',
      run(given) {
        expectTypeOf(given.output).toEqualTypeOf<AgentOutput>();
        expectTypeOf(given.context).toEqualTypeOf<readonly string[]>();
        // @ts-expect-error: `output` is misspelt
        return { score: given.outptu === undefined ? 0 : 1 };
      },
    });
    defineScorer({
      id: 'a',
      // @ts-expect-error: `higherIsBetter` is misspelt
      higherIsBeter: true,
      run: () => ({ score: 1 }),
    });
    // @ts-expect-error: a result has a score
    defineScorer({ id: 'a', run: () => ({ value: 1 }) });
    expect(typed.id).toBe('a');
  });
});
