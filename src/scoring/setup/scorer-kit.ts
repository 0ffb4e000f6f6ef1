import { PREBUILT_SCORERS } from '../../components.ts';
import { readEnvironment } from '../../config/environment.ts';
import {
  byteSize,
  durationMs,
  type Config,
  type Asked,
  type Rule as ConfiguredRule,
  checkValue,
  conditionsSchema,
} from '../../configuration.ts';
import { COMMAND_RULE } from '../../domain/decision.ts';
import { ConfigError, readErrorMessage, RequestError } from '../../domain/errors.ts';
import type { SharedBudgets } from '../../domain/money/budget.ts';
import { findJudgeFault } from '../../domain/judge-kinds.ts';
import type { AskedExample } from '../../domain/asked-answer.ts';
import { findPrice, unpricedBudget, type PriceTable } from '../../domain/money/model-prices.ts';
import type { TargetKind } from '../../domain/trace/agent-run.ts';
import type { OwnScorers } from '../../scorers/own/pool.ts';
import type { OwnScorerSpec } from '../../scorers/own/worker.ts';
import { type JudgeRegistry, createJudgeRegistry } from '../../judge/judge-registry.ts';
import { silentLog, type Log } from '../../telemetry/log.ts';
import {
  prepareRule,
  type BoundScorer,
  type PreparedRule,
  type Conditions,
  type Limits,
  type Rule,
  type Where,
} from '../select/rule.ts';
import type { PriorityReason } from '../select/sample-trace.ts';
import { z } from 'zod';

/** Default limits of a module. */
const MODULE_LIMITS = { timeout: '30s', memory: '256MiB' };

/** Time limit for loading a module; a longer time limit of its runs also applies to loading. */
const LOAD_WITHIN_MS = 30_000;

/** Scorers of a configuration, ready to run. */
export interface ScorerKit {
  readonly rules: readonly PreparedRule[];
  readonly judges: JudgeRegistry;
  /** Processes of modules. A caller that continues after its work must stop them; otherwise they end with this process. */
  readonly ownScorers: OwnScorerProcesses;
  /**
   * Prepares a rule for one purpose: these scorers on every target, and a question to a judge, as the scorer `ask`. Throws a `ConfigError`
   * for an unknown name.
   */
  prepareOwnRule(
    name: string,
    scorers: readonly string[],
    target?: TargetKind,
    asked?: Asked,
  ): Promise<PreparedRule>;
}

/** Own scorers of a kit. Kits that follow each other share the processes of an equal scorer, which end with the last of them. */
interface OwnScorerProcesses extends Pick<OwnScorers, 'readings' | 'stop'> {
  /** Takes a running scorer with the same settings for another kit. */
  share(settings: string): SharedPool | undefined;
}

interface SharedPool {
  readonly started: Started;
  readonly pool: OwnScorers;
  users: number;
}

type Started = ReturnType<OwnScorers['start']>;

function createOwnScorers(log: Log, former: OwnScorerProcesses | undefined) {
  const pools = new Map<string, SharedPool>();
  let isStopped = false;
  return {
    async start(spec: OwnScorerSpec, version: string): Promise<Awaited<Started>> {
      const settings = JSON.stringify([spec, version]);
      const { OwnScorers: Pool } = await import('../../scorers/own/pool.ts');
      let shared = pools.get(settings);
      if (shared === undefined) {
        shared = former?.share(settings);
        if (shared === undefined) {
          const pool = new Pool(log);
          shared = { pool, started: pool.start(spec), users: 1 };
        }
        pools.set(settings, shared);
      }
      return shared.started;
    },
    share(settings: string) {
      const shared = isStopped ? undefined : pools.get(settings);
      if (shared !== undefined) {
        shared.users += 1;
      }
      return shared;
    },
    readings: () => [...pools.values()].flatMap(({ pool }) => pool.readings()),
    async stop() {
      const last = isStopped ? [] : [...pools.values()].filter((shared) => (shared.users -= 1) === 0);
      isStopped = true;
      await Promise.all(last.map(({ pool }) => pool.stop()));
    },
  };
}

interface KitOptions {
  readonly log: Log;
  /** Kit that this one follows: unchanged judges keep their limits, and unchanged own scorers their processes. */
  readonly former?: ScorerKit;
  /** Hashes of the texts of modules, by scorer. */
  readonly modules?: Readonly<Record<string, string>>;
}

/**
 * Creates every scorer that a rule names. Throws a `ConfigError` for unusable options, an unusable module or a missing
 * judge.
 */
export async function loadScorerKit(
  config: Config,
  { log, former, modules = {} }: KitOptions = { log: silentLog },
): Promise<ScorerKit> {
  const bound = new Map<string, Promise<BoundScorer>>();
  const ownScorers = createOwnScorers(log, former?.ownScorers);
  const startOwn = (spec: OwnScorerSpec) => ownScorers.start(spec, modules[spec.name] ?? '');
  const bind = async (name: string) => {
    const binding = bound.get(name) ?? bindScorer(name, config, startOwn, log);
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
      judges: createConfiguredJudges(config, former?.judges),
      ownScorers,
      prepareOwnRule: async (name, scorers, target = 'trace', asked) => {
        const rule = { name, scorers: [...new Set(scorers)], target, sample: { rate: 1, always: [] } };
        const bounds = await Promise.all([
          ...rule.scorers.map(bind),
          ...(asked === undefined ? [] : [bindPrebuilt(OWN_JUDGE, buildEntry(asked), config)]),
        ]);
        return prepareRule(buildConfiguredRule(rule, bounds));
      },
    };
  } catch (error) {
    await ownScorers.stop();
    throw error;
  }
}

type Entry = Config['scorers'][string];

/** Prebuilt scorer that asks a question, and its name where nobody gave it another. */
const OWN_JUDGE = 'ask';

function buildEntry({ judge, ...options }: Asked): Entry {
  return { use: OWN_JUDGE, judge, options };
}

async function bindScorer(
  name: string,
  config: Config,
  startOwn: (spec: OwnScorerSpec) => Started,
  log: Log,
): Promise<BoundScorer> {
  const entry = Object.hasOwn(config.scorers, name) ? config.scorers[name] : undefined;
  const declared = { higherIsBetter: entry?.higherIsBetter, range: entry?.range };
  if (entry?.module === undefined) {
    return { ...(await bindPrebuilt(name, entry, config)), ...declared };
  }
  const own = await startOwn(ownScorerSpec(name, entry.module, entry, config, log));
  return { name, scorer: own.scorer, own, ...declared };
}

async function bindPrebuilt(name: string, entry: Entry | undefined, config: Config): Promise<BoundScorer> {
  const prebuilt = PREBUILT_SCORERS.find((scorer) => scorer.name === (entry?.use ?? name));
  if (prebuilt === undefined) {
    const names = [...PREBUILT_SCORERS.map((scorer) => scorer.name), ...Object.keys(config.scorers)];
    throw new ConfigError(`there is no scorer ${name}; the scorers are ${names.join(', ')}`);
  }
  const cascade = entry?.cascade;
  const judge = cascade?.judges[0] ?? entry?.judge ?? config.judges.default;
  const unfit = findJudgeFault(name, prebuilt, judge, config.judges);
  if (unfit !== undefined) {
    throw new ConfigError(unfit);
  }
  const timeout = entry?.limits?.timeout;
  try {
    const options = entry?.options ?? {};
    const only = await prebuilt.create({ judge: judge ?? '', options });
    const scorer =
      cascade === undefined
        ? only
        : (await import('../../scorers/evals/cascade.ts')).createCascade(
            name,
            [only, await prebuilt.create({ judge: cascade.judges[1], options })],
            { share: cascade.share, floor: cascade.floor },
          );
    const timeoutMs = timeout === undefined ? undefined : durationMs(timeout);
    const { readsPast, asksOnce } = prebuilt;
    return { name, scorer, timeoutMs, readsPast, asksOnce, exampleTraces: listExampleTraces(options) };
  } catch (cause) {
    throw new ConfigError(`scorers.${name}: ${readErrorMessage(cause)}`, {}, cause);
  }
}

function listExampleTraces(options: { readonly examples?: readonly AskedExample[] }): string[] {
  return (options.examples ?? []).flatMap(({ traceId }) => traceId ?? []);
}

function ownScorerSpec(name: string, path: string, entry: Entry, config: Config, log: Log): OwnScorerSpec {
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

export function createConfiguredJudges({ judges }: Config, former?: JudgeRegistry): JudgeRegistry {
  const options = Object.entries(judges.options).map(([judge, { timeout, ...others }]) => [
    judge,
    { ...others, timeoutMs: timeout === undefined ? undefined : durationMs(timeout) },
  ]);
  return createJudgeRegistry({ ...judges, options: Object.fromEntries(options) }, undefined, former?.opened);
}

/** Converts a rule of the configuration. Absent conditions stay absent, because the rule's version is a hash of them. */
export function buildConfiguredRule(
  { where, sample, ...rule }: ConfiguredRule,
  scorers: readonly BoundScorer[],
): Rule {
  const { rate, always } = sample;
  const plan = { rate, always: always.map(readReason) };
  return { ...rule, scorers, sample: plan, ...(where === undefined ? {} : { where: buildWhere(where) }) };
}

type ConfiguredReason = ConfiguredRule['sample']['always'][number];

/** Reads a reason. The schema has checked that an object has exactly one key. */
function readReason(reason: ConfiguredReason): PriorityReason {
  if (typeof reason === 'string') {
    return reason;
  }
  const { slow, costly, tokens, newVersion = 0 } = reason;
  if (slow !== undefined) {
    return { slowMs: durationMs(slow) };
  }
  if (costly !== undefined) {
    return { costlyUsd: costly };
  }
  return tokens === undefined ? { newVersion } : { tokens };
}

type ConfiguredWhere = NonNullable<ConfiguredRule['where']>;

/** Reads conditions that are written as in a rule. Throws an `InvalidInputError` that names each fault. */
export function readWhere(where: unknown): Where {
  return buildWhere(checkValue(z.object({ where: conditionsSchema }), { where }).where);
}

function buildWhere({ not, ...conditions }: ConfiguredWhere): Where {
  return { ...readConditions(conditions), ...(not === undefined ? {} : { not: readConditions(not) }) };
}

function readConditions({ duration, ...others }: Omit<ConfiguredWhere, 'not'>): Conditions {
  return { ...others, ...(duration === undefined ? {} : { durationMs: readSpell(duration) }) };
}

function readSpell({ min, max }: { min?: string | undefined; max?: string | undefined }): Limits {
  return {
    ...(min === undefined ? {} : { min: durationMs(min) }),
    ...(max === undefined ? {} : { max: durationMs(max) }),
  };
}

/**
 * Refuses a rule whose calls need money of a budget when the judge of one of its scorers has no price. The configuration shows the judges of
 * prebuilt scorers; the judge of a module is known once it is loaded.
 */
export function rejectUnpricedBudgets(
  rules: readonly PreparedRule[],
  { prices, budgets }: { readonly prices: PriceTable; readonly budgets: SharedBudgets },
): void {
  const isShared = budgets.total !== undefined || Object.keys(budgets.tenants ?? {}).length > 0;
  for (const { name, budget, scorers } of rules) {
    if (budget === undefined && !isShared) {
      continue;
    }
    for (const scorer of scorers) {
      // A scorer whose steps use different judges lists them with commas.
      const judges = scorer.judgeModel.split(',').filter((judge) => judge !== '');
      const unpriced = judges.find((judge) => findPrice(judge, prices) === undefined);
      if (unpriced !== undefined) {
        throw new ConfigError(`rule ${name}, scorer ${scorer.name}: ${unpricedBudget(unpriced)}`, {
          rule: name,
          scorer: scorer.name,
        });
      }
    }
  }
}

/**
 * Returns the rules for a scoring that somebody asks for: one with the named scorers and the question, or those of the configuration. Throws an
 * `RequestError` when there is none, and a `ConfigError` for a scorer that cannot be used.
 */
export async function listRulesNow(
  kit: ScorerKit,
  scorers: readonly string[] | undefined,
  isOfSession: boolean,
  asked?: Asked,
): Promise<readonly PreparedRule[]> {
  if (scorers !== undefined || asked !== undefined) {
    const target = isOfSession ? 'session' : 'trace';
    return [await kit.prepareOwnRule(COMMAND_RULE, scorers ?? [], target, asked)];
  }
  const rules = kit.rules.filter(({ target }) => (target === 'session') === isOfSession);
  if (rules.length === 0) {
    const what = isOfSession ? 'sessions' : 'traces';
    throw new RequestError(`no rules on ${what} are configured: name scorers with --scorer`);
  }
  return rules;
}
