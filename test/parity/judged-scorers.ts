import { createFaithfulnessScorer } from '../../src/scorers/prebuilt/faithfulness/faithfulness-scorer.ts';
import { createHallucinationScorer } from '../../src/scorers/prebuilt/hallucination/hallucination-scorer.ts';
import type { Scorer } from '../../src/evals/index.ts';
import type { ScriptedModel } from '../support/scripted-model.ts';

/** The judged scorers that exist, by the factory's recorded name. */
export const JUDGED_SCORERS: Record<string, (config: { model: ScriptedModel }) => Scorer> = {
  createHallucinationScorer,
  createFaithfulnessScorer,
};
