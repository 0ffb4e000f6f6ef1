import { PREBUILT_SCORERS } from '../../components.ts';
import { readEnvironment } from '../../config/environment.ts';
import { byteSize, durationMs, type Config, type Rule as ConfiguredRule } from '../config/index.ts';
import { createConfiguredJudges } from './configured-judges.ts';
import { buildConfiguredRule } from './configured-rule.ts';
import type { TargetKind } from '../../domain/trace/agent-run.ts';
import { ConfigError, readErrorMessage } from '../../domain/errors.ts';
import { OwnScorers } from '../../scorers/own/pool.ts';
import type { OwnScorerSpec } from '../../scorers/own/worker.ts';
import type { JudgeRegistry } from '../../judge/judge-registry.ts';
import { rejectUnpricedBudgets } from '../budgets/priced-budgets.ts';
import { prepareRule, type BoundScorer, type PreparedRule } from '../../scoring/select/rule.ts';
import { silentLog, type Log } from '../../telemetry/log.ts';

/** Default limits of a module. */
const MODULE_LIMITS = { timeout: '30s', memory: '256MiB' };

/** Time limit for loading a module; a longer time limit of its runs also applies to loading. */
const LOAD_WITHIN_MS = 30_000;

/** Scorers of a configuration, ready to run. */
export interface ScorerKit {
  /** Rules of the configuration. */
  readonly rules: readonly PreparedRule[];
  readonly judges: JudgeRegistry;
  /** Processes of modules. A caller that continues after its work must stop them; otherwise they end with this process. */
  readonly guests: OwnScorers;
  /** Prepares a rule for one purpose: these scorers on every target. Throws a `ConfigError` for an unknown name. */
  prepareOwnRule(name: string, scorers: readonly string[], target?: TargetKind): Promise<PreparedRule>;
}

/**
 * Creates every scorer that a rule names. Throws a `ConfigError` for unusable options, an unusable module or a missing
 * judge.
 */
export async function loadScorerKit(
  config: Config,
  { log }: { readonly log: Log } = { log: silentLog },
): Promise<ScorerKit> {
  const bound = new Map<string, Promise<BoundScorer>>();
  const guests = new OwnScorers(log);
  const bind = async (name: string) => {
    const binding = bound.get(name) ?? bindScorer(name, config, guests, log);
    bound.set(name, binding);
    return binding;
  };
  const prepare = async (rule: ConfiguredRule) =>
    prepareRule(buildConfiguredRule(rule, await Promise.all(rule.scorers.map(bind))));
  try {
    const rules = await Promise.all(config.rules.map(prepare));
    rejectUnpricedBudgets(rules, { prices: config.judges.prices, budgets: config.budgets });
    return {
      rules,
      judges: createConfiguredJudges(config),
      guests,
      prepareOwnRule: async (name, scorers, target = 'trace') =>
        prepare({ name, scorers: [...new Set(scorers)], target, sample: { rate: 1, always: [] } }),
    };
  } catch (error) {
    await guests.stop();
    throw error;
  }
}

type Entry = Config['scorers'][string];

async function bindScorer(name: string, config: Config, guests: OwnScorers, log: Log): Promise<BoundScorer> {
  const entry = Object.hasOwn(config.scorers, name) ? config.scorers[name] : undefined;
  const declared = { higherIsBetter: entry?.higherIsBetter, range: entry?.range };
  if (entry?.module === undefined) {
    return { ...(await bindPrebuilt(name, entry, config)), ...declared };
  }
  const guest = await guests.start(guestSpec(name, entry.module, entry, config, log));
  return { name, scorer: guest.scorer, guest, ...declared };
}

async function bindPrebuilt(name: string, entry: Entry | undefined, config: Config): Promise<BoundScorer> {
  const prebuilt = PREBUILT_SCORERS.find((scorer) => scorer.name === (entry?.use ?? name));
  if (prebuilt === undefined) {
    const names = [...PREBUILT_SCORERS.map((scorer) => scorer.name), ...Object.keys(config.scorers)];
    throw new ConfigError(`there is no scorer ${name}; the scorers are ${names.join(', ')}`);
  }
  const judge = entry?.judge ?? config.judges.default;
  if (prebuilt.needsJudge && judge === undefined) {
    throw new ConfigError(`${name} needs a judge: set judges.default (or SPANSCORE_JUDGE) to provider/model`);
  }
  const timeout = entry?.limits?.timeout;
  try {
    const scorer = await prebuilt.create({ judge: judge ?? '', options: entry?.options ?? {} });
    const timeoutMs = timeout === undefined ? undefined : durationMs(timeout);
    return { name, scorer, timeoutMs, readsPast: prebuilt.readsPast };
  } catch (cause) {
    throw new ConfigError(`scorers.${name}: ${readErrorMessage(cause)}`, {}, cause);
  }
}

function guestSpec(name: string, path: string, entry: Entry, config: Config, log: Log): OwnScorerSpec {
  const { judge, limits, env = [] } = entry;
  const timeoutMs = durationMs(limits?.timeout ?? MODULE_LIMITS.timeout);
  const variables = env.map((variable) => [variable, readEnvironment(variable)] as const);
  const missing = variables.filter(([, value]) => value === undefined).map(([variable]) => variable);
  if (missing.length > 0) {
    log.warn('the env of a scorer names environment variables that are not set', {
      scorer: name,
      variables: missing.join(', '),
    });
  }
  return {
    name,
    path,
    judge,
    defaultJudge: config.judges.default,
    environment: Object.fromEntries(variables.map(([variable, value = '']) => [variable, value])),
    timeoutMs,
    loadWithinMs: Math.max(timeoutMs, LOAD_WITHIN_MS),
    memoryBytes: byteSize(limits?.memory ?? MODULE_LIMITS.memory),
  };
}
