export { evalMatchers, registerEvalMatchers } from './vitest/eval-matchers.ts';
export type { EvalMatchers } from './vitest/eval-matchers.ts';
export { toEvalMeta } from './vitest/eval-meta.ts';
export type { MastraEvalMeta, SpanscoreEvalMeta } from './vitest/eval-meta.ts';
export { EvalPassRateError, expectEval, expectEvals } from './vitest/expect-evals.ts';
export type { EvalsAssertion, ExpectEvalConfig } from './vitest/expect-evals.ts';
