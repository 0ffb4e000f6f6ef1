import { ScorerError } from '../../../evals/scorer-error.ts';
import type { JudgeModel } from '../../../judge/judge.ts';

/** The judge of an LLM scorer. Refuses a scorer without one at creation, not at its first run. */
export function checkedModel(scorerId: string, model: JudgeModel | undefined): JudgeModel {
  if (!model) {
    throw new ScorerError(
      `Scorer "${scorerId}" needs a judge: pass { model: "provider/model" } or a language model object`,
      { id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS', details: { scorerId, option: 'model' } },
    );
  }
  return model;
}
