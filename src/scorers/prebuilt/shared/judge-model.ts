import { ScorerError } from '../../../evals/scorer-error.ts';
import type { JudgeModel } from '../../../judge/judge.ts';

/** Returns the judge of an LLM scorer. Throws when it is missing, at creation of the scorer and not at its first run. */
export function checkedModel(scorerId: string, model: JudgeModel | undefined): JudgeModel {
  if (!model) {
    throw new ScorerError(
      `Scorer "${scorerId}" needs a judge: pass { model: "provider/model" } or a language model object`,
      { id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS', details: { scorerId, option: 'model' } },
    );
  }
  return model;
}
