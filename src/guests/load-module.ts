import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { canonicalOptions } from '../evals/canonical-options.ts';
import type { Scorer } from '../evals/scorer.ts';
import type { GuestFacts, LoadMessage } from './guest-messages.ts';

/** The scorer of a module and the facts that it declares. */
export interface LoadedModule {
  readonly scorer: Scorer;
  readonly facts: GuestFacts;
}

/** Loads the default export of a module. Throws an `Error` with a sentence for people. */
export async function loadModule(order: LoadMessage): Promise<LoadedModule> {
  const { path } = order;
  const moduleHash = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  const module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  const scorer = module.default;
  if (
    scorer === null ||
    typeof scorer !== 'object' ||
    !('run' in scorer) ||
    typeof scorer.run !== 'function'
  ) {
    throw new Error(`the default export of ${path} must be a scorer: an object with run()`);
  }
  const own = scorer as Scorer;
  return { scorer: own, facts: { ...buildFacts(own, order), id: findId(scorer, order), moduleHash } };
}

/** Returns the id of a scorer; for one without an id, its name in the configuration. */
function findId(scorer: object, { name, path }: LoadMessage): string {
  const { id = name } = scorer as { readonly id?: unknown };
  if (typeof id !== 'string' || id === '') {
    throw new Error(`the id of the scorer of ${path} must be a text that is not empty; or leave it out`);
  }
  return id;
}

type Facts = Omit<GuestFacts, 'id' | 'moduleHash'>;

/** Reads the members of `ScorerMetadata` that a scorer declares, as plain data. */
function buildFacts(scorer: Scorer, order: LoadMessage): Facts {
  const judgeModel = findJudgeModel(scorer, order);
  const declared = {
    name: scorer.name,
    description: scorer.description,
    higherIsBetter: scorer.higherIsBetter,
    range: scorer.range,
    labels: scorer.labels,
    version: scorer.version,
    promptVersion: scorer.promptVersion,
    judgeModel,
  };
  const plain = JSON.parse(JSON.stringify(declared)) as Partial<Facts>;
  return { ...plain, options: canonicalOptions(scorer.options ?? null) };
}

/** Finds the judge model: the judge of the configuration entry, else the one that the scorer names, else the default judge. */
function findJudgeModel(scorer: Scorer, { judge, defaultJudge, path }: LoadMessage): string | undefined {
  if (!asksJudge(scorer)) {
    return scorer.judgeModel;
  }
  const model = judge ?? (scorer.judgeModel || defaultJudge);
  if (model === undefined) {
    throw new Error(
      `the scorer of ${path} asks a judge and none is set: write the entry's judge, or judges.default`,
    );
  }
  return model;
}

/** True for a scorer that was created with our `createScorer` and has a prompt step, or that declares a judge. */
function asksJudge(scorer: Scorer): boolean {
  if (typeof scorer.judgeModel !== 'string') {
    return false;
  }
  const { getSteps } = scorer as { getSteps?: () => readonly { type: string }[] };
  return scorer.judgeModel !== '' || (getSteps?.().some((step) => step.type === 'prompt') ?? false);
}
