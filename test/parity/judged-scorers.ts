import type { Scorer } from '../../src/scorers/evals/index.ts';
import * as prebuilt from '../../src/scorers/prebuilt/index.ts';
import type { ScriptedModel } from '../support/fakes/scripted-model.ts';

type JudgedFactory = (config: { model: ScriptedModel }) => Scorer;

/** The factory of a recorded judged scorer, by its recorded name. */
export function judgedScorer(name: string): JudgedFactory | undefined {
  return (prebuilt as Record<string, unknown>)[name] as JudgedFactory | undefined;
}
