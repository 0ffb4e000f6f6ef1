import { pathToFileURL } from 'node:url';
import { PREBUILT_SCORERS } from '../components.ts';
import type { Config, Rule as ConfiguredRule } from '../config/index.ts';
import { ConfigError, messageOf } from '../domain/errors.ts';
import type { Scorer } from '../evals/scorer.ts';
import { createJudgeRegistry, type JudgeRegistry } from '../judge/judge-registry.ts';
import { rejectUnpricedBudgets } from './priced-budgets.ts';
import { prepareRule, type BoundScorer, type PreparedRule } from '../scoring/rule.ts';

/** The scorers of a configuration, ready to run. */
export interface ScorerKit {
  /** The rules of the configuration. */
  readonly rules: readonly PreparedRule[];
  readonly judges: JudgeRegistry;
  /** A rule made for one purpose: these scorers on every trace. Throws `ConfigError` for a name that does not exist. */
  ruleOf(name: string, scorers: readonly string[]): Promise<PreparedRule>;
}

/** Makes every scorer that a rule names. Throws `ConfigError` for options or a module that cannot be used, and a missing judge. */
export async function openScorerKit(config: Config): Promise<ScorerKit> {
  const bound = new Map<string, Promise<BoundScorer>>();
  const bind = async (name: string) => {
    const binding = bound.get(name) ?? bindScorer(name, config);
    bound.set(name, binding);
    return binding;
  };
  const prepare = async (rule: ConfiguredRule) =>
    prepareRule({ ...rule, scorers: await Promise.all(rule.scorers.map(bind)) });
  const rules = await Promise.all(config.rules.map(prepare));
  rejectUnpricedBudgets(rules, config.judges.prices);
  return {
    rules,
    judges: createJudgeRegistry(config.judges),
    ruleOf: async (name, scorers) =>
      prepare({ name, scorers: [...new Set(scorers)], target: 'trace', sample: { rate: 1, always: [] } }),
  };
}

async function bindScorer(name: string, config: Config): Promise<BoundScorer> {
  const entry = Object.hasOwn(config.scorers, name) ? config.scorers[name] : undefined;
  const declared = { higherIsBetter: entry?.higherIsBetter, range: entry?.range };
  if (entry?.module !== undefined) {
    return { name, scorer: await loadScorer(name, entry.module), ...declared };
  }
  const prebuilt = PREBUILT_SCORERS.find((scorer) => scorer.name === (entry?.use ?? name));
  if (prebuilt === undefined) {
    const names = [...PREBUILT_SCORERS.map((scorer) => scorer.name), ...Object.keys(config.scorers)];
    throw new ConfigError(`there is no scorer ${name}; there are ${names.join(', ')}`);
  }
  const judge = entry?.judge ?? config.judges.default;
  if (prebuilt.needsJudge && judge === undefined) {
    throw new ConfigError(`${name} needs a judge: set judges.default (or SPANSCORE_JUDGE) to provider/model`);
  }
  try {
    const scorer = await prebuilt.create({ judge: judge ?? '', options: entry?.options ?? {} });
    return { name, scorer, ...declared };
  } catch (cause) {
    throw new ConfigError(`scorers.${name}: ${messageOf(cause)}`, {}, cause);
  }
}

async function loadScorer(name: string, path: string): Promise<Scorer> {
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (cause) {
    throw new ConfigError(`scorers.${name}.module: ${path} cannot be loaded: ${messageOf(cause)}`, {}, cause);
  }
  const scorer = module.default;
  if (
    scorer === null ||
    typeof scorer !== 'object' ||
    !('run' in scorer) ||
    typeof scorer.run !== 'function'
  ) {
    throw new ConfigError(
      `scorers.${name}.module: the default export of ${path} must be a scorer: an object with run()`,
    );
  }
  return scorer as Scorer;
}
