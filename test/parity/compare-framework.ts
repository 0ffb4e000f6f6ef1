import { z } from 'zod';
import { createScorer, filterRun, type Scorer, type ScorerRunInput } from '../../src/scorers/evals/index.ts';
import { scriptedModel } from '../support/fakes/scripted-model.ts';
import type { ScriptedModel, ScriptedModelReply } from '../support/fakes/scripted-model.ts';
import type { Comparison } from './comparison.ts';
import { expectedRun, observeRun } from './observed-run.ts';
import { revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

type AnyChain = Record<string, (definition: unknown) => AnyChain>;

/** The same list of replies under another model's name. */
function renamed(model: ScriptedModel, modelId: string): ScriptedModel {
  return {
    ...model,
    modelId,
    doGenerate: async (options) => ({ ...(await model.doGenerate(options)), response: { modelId } }),
  };
}

/** Builds the scorer of a case; the fixture writes models, schemas and filters as `$…` names. */
function build(recorded: RecordedCase): Scorer {
  const replies = Object.values((recorded['replies'] ?? {}) as Record<string, ScriptedModelReply[]>).flat();
  const first = scriptedModel(replies);
  const second = renamed(first, 'scripted-2');
  const resolve = (value: unknown): unknown => {
    if (value === '$MODEL' || value === '$MODEL2') {
      return value === '$MODEL' ? first : second;
    }
    if (value === null || typeof value !== 'object') {
      return value;
    }
    if ('$zod' in value) {
      return z.object({ facts: z.array(z.string()) });
    }
    if ('$filterRun' in value) {
      return filterRun(value.$filterRun as object);
    }
    if (Array.isArray(value) || '$fn' in value || '$undefined' in value) {
      return Array.isArray(value) ? value.map(resolve) : revive(value);
    }
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolve(member)]));
  };
  let chain = createScorer(resolve(recorded['config']) as { id: string }) as unknown as AnyChain;
  for (const [step, definition] of recorded['steps'] as [string, unknown][]) {
    chain = (chain[step] as (definition: unknown) => AnyChain)(resolve(definition));
  }
  return chain as unknown as Scorer;
}

/** Recorded fields of a scorer in this section. */
function comparable(observed: Record<string, unknown>): Record<string, unknown> {
  const scorer = observed['scorer'] as Record<string, unknown> | undefined;
  return scorer === undefined
    ? observed
    : { ...observed, scorer: { id: scorer['id'], name: scorer['name'] } };
}

/** Result of an own scorer on a recorded run. */
export async function compareFramework(recorded: RecordedCase): Promise<Comparison> {
  const input = revive(recorded['run']) as ScorerRunInput;
  const expected = expectedRun(recorded['result']);
  const observed = await observeRun(() => build(recorded), input, expected);
  return { ours: comparable(observed), recorded: expected };
}
