import { compareCode } from './compare-code.ts';
import { compareFramework } from './compare-framework.ts';
import { compareJudged } from './compare-judged.ts';
import { compareLegacy } from './compare-legacy.ts';
import { compareRunEvals } from './compare-run-evals.ts';
import { compareTrace } from './compare-trace.ts';
import { compareUtils } from './compare-utils.ts';
import type { Comparison } from './comparison.ts';
import type { RecordedCase, Section } from './recorded-cases.ts';

/** Comparison of each section's cases. */
export const COMPARISONS: Readonly<Record<Section, (recorded: RecordedCase) => Promise<Comparison>>> = {
  code: compareCode,
  utils: compareUtils,
  judge: compareJudged,
  framework: compareFramework,
  runEvals: compareRunEvals,
  trace: compareTrace,
  // The recording has the section, but no case in it.
  sampling: refuse,
  legacy: compareLegacy,
};

async function refuse({ id }: RecordedCase): Promise<never> {
  throw new Error(`nothing compares ${id}`);
}
