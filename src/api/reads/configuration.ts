import { isLiveRule } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { type PreparedRule, type PreparedScorer, computeRuleVersion } from '../../scoring/select/rule.ts';
import type { Store } from '../../store/store.ts';
import type { RuleVersion } from '../../store/contracts/stores.ts';
import type { RunSumsQuery } from '../../store/contracts/sums.ts';
import { countCoverage } from '../../aggregates/count-coverage.ts';
import { createBudgetWatch } from '../../scoring/budget/budget-watch.ts';
import type { Config } from '../../configuration.ts';
import {
  findScorerEntry,
  listConfiguredScorers,
  declareScale,
  findBound,
  readScale,
} from '../../scoring/setup/scorer-names.ts';
import { PREBUILT_SCORERS } from '../../components.ts';
import type { ReadScope } from './traces.ts';

export interface JudgeState {
  readonly breaker: 'closed' | 'half_open' | 'open';
  /** Answers that came from the cache, of the tenant or of all. */
  readonly cacheHits: number;
}

/** Reads breaker and cache of a judge in this process, for a tenant or for all. */
export type ReadJudgeState = (judge: string, tenant: string | undefined) => JudgeState;

type ConfigurationReads = ReturnType<typeof createConfigurationReads>;

/** A rule of the configuration, with its stored versions (the newest first) and counts since a time. */
export type RuleView = Awaited<ReturnType<ConfigurationReads['rules']>>[number];

/** Judges with their use, and caps of budgets. */
export type JudgesView = Awaited<ReturnType<ConfigurationReads['judges']>>;

/** Creates the reads of what is configured, with the counts of one tenant, or of all. */
export function createConfigurationReads(
  { config, store, tenant, runRules, findPass }: ReadScope,
  judgeState: ReadJudgeState | undefined,
) {
  const watch = createBudgetWatch(config, store);
  return {
    scorers: async () => {
      const versions = await store.ruleVersions.list();
      const stored = await store.scorerNames(tenant);
      const terms = { config, runRules, versions, stored, findPass };
      return Promise.all(listScorerNames(config).map((name) => viewScorer(name, terms)));
    },
    rules: async () => {
      const [versions, nowMs] = await Promise.all([store.ruleVersions.list(), store.spans.nowMs()]);
      const sinceMs = nowMs - DAY_MS;
      const { decided } = await countCoverage(store, { sinceMs, nowMs, tenant }, runRules);
      return config.rules.map((rule) => {
        const own = versions
          .filter((each) => each.rule === rule.name)
          .toSorted((a, b) => b.activeFromMs - a.activeFromMs);
        const counted = decided.filter((row) => row.rule === rule.name && isLiveRule(row.rule));
        const eligible = counted.filter(({ status }) => status !== 'filtered');
        const prepared = runRules?.find(({ name }) => name === rule.name);
        return {
          rule: tenant === undefined ? rule : hideAttributeValues(rule),
          /** Undefined before a process has loaded the rule. */
          version: prepared === undefined ? own[0]?.version : computeRuleVersion(prepared),
          versions: own,
          sinceMs,
          eligible: sumDecisions(eligible),
          scored: sumDecisions(eligible.filter(({ status }) => status === 'scored')),
        };
      });
    },
    judges: async (request: Omit<RunSumsQuery, 'tenant'>) => {
      const [use, { caps }] = await Promise.all([store.judgeUse.list({ ...request, tenant }), watch.read()]);
      const configured = listScorerNames(config).flatMap((name) => readJudge(name, config, runRules) ?? []);
      const judges = [...new Set([...configured, ...use.map(({ judge }) => judge)])].toSorted();
      return {
        judges: judges.map((judge) => ({
          judge,
          use: use.filter((each) => each.judge === judge),
          /** Undefined in a process that scores nothing. */
          state: judgeState?.(judge, tenant),
        })),
        caps: caps.filter(
          ({ scope }) => tenant === undefined || (scope.kind === 'tenant' && scope.name === tenant),
        ),
      };
    },
  };
}

/** Leaves out the values of attributes in the conditions of a rule: they may name customers of other tenants. */
function hideAttributeValues(rule: Config['rules'][number]): Config['rules'][number] {
  const hide = <C extends { readonly attributes?: Record<string, string[]> | undefined }>(
    conditions: C,
  ): C => {
    const keys = Object.keys(conditions.attributes ?? {});
    return keys.length === 0
      ? conditions
      : { ...conditions, attributes: Object.fromEntries(keys.map((key) => [key, []])) };
  };
  const { where } = rule;
  if (where === undefined) {
    return rule;
  }
  return { ...rule, where: { ...hide(where), ...(where.not === undefined ? {} : { not: hide(where.not) }) } };
}

/** Lists the scorers that rules name or that have an entry. */
function listScorerNames({ rules, scorers }: Pick<Config, 'rules' | 'scorers'>): string[] {
  return [...new Set([...rules.flatMap((rule) => rule.scorers), ...Object.keys(scorers)])].toSorted();
}

interface ScorerTerms extends Pick<ReadScope, 'config' | 'runRules' | 'findPass'> {
  readonly versions: readonly RuleVersion[];
  readonly stored: readonly string[];
}

/** Describes a scorer. A field that only a process with scoring knows is null in other processes. */
async function viewScorer(name: string, { config, runRules, versions, stored, findPass }: ScorerTerms) {
  const { entry, prebuilt } = findScorerEntry(name, config);
  const bound = findBound(name, runRules);
  const configured = listConfiguredScorers(config);
  const found = stored.filter((row) => findRowScorer(row, configured) === name);
  const rows = found.length > 0 ? found : (prebuilt?.rows ?? [name]);
  const using = versions.filter((version) => readScorers(version).includes(name));
  return {
    scorer: name,
    use: prebuilt?.name ?? null,
    measures: prebuilt?.measures ?? null,
    module: entry?.module ?? null,
    kind:
      prebuilt === undefined
        ? ('own' as const)
        : prebuilt.needsJudge
          ? ('judge' as const)
          : ('code' as const),
    judge: readJudge(name, config, runRules) ?? null,
    ...(bound === undefined
      ? { version: null, fingerprint: null, ...(await readScale(entry, prebuilt)) }
      : viewBound(entry, bound)),
    rows,
    passLines: await Promise.all(rows.map(findPass)),
    rules: config.rules.filter(({ scorers }) => scorers.includes(name)).map((rule) => rule.name),
    activeFromMs: using.length === 0 ? null : Math.min(...using.map(({ activeFromMs }) => activeFromMs)),
  };
}

/** Views what a loaded scorer declares. */
function viewBound(entry: Config['scorers'][string] | undefined, { scorer, fingerprint }: PreparedScorer) {
  return { version: scorer.version ?? null, fingerprint, ...declareScale(entry, scorer) };
}

/** Returns the judge that a scorer asks: `provider/model`; undefined for none, and for one that a module keeps to itself. */
function readJudge(
  name: string,
  config: Config,
  rules: readonly PreparedRule[] | undefined,
): string | undefined {
  const { entry, prebuilt } = findScorerEntry(name, config);
  const bound = findBound(name, rules)?.judgeModel ?? '';
  return bound !== ''
    ? bound
    : prebuilt?.needsJudge === false
      ? undefined
      : (entry?.judge ?? config.judges.default);
}

function readScorers({ definition }: RuleVersion): readonly unknown[] {
  const { scorers } = (definition ?? {}) as { readonly scorers?: unknown };
  return Array.isArray(scorers) ? scorers : [];
}

function sumDecisions(rows: readonly { readonly decisions: number }[]): number {
  return rows.reduce((sum, { decisions }) => sum + decisions, 0);
}

/** Reads the names of score rows of this configuration, and of earlier ones, for one tenant or for all. */
export async function readRowNames(config: Config, store: Pick<Store, 'scorerNames'>, tenant?: string) {
  const configured = listConfiguredScorers(config);
  const declared = PREBUILT_SCORERS.flatMap(({ rows = [] }) => rows);
  const rows = new Set([...declared, ...(await store.scorerNames(tenant))]);
  return {
    /** Names that are configured or stored. */
    known: new Set([...configured, ...rows]),
    /** Returns the rows of a scorer (`grounding` and `panel` have several), or the row of this name; none for an unknown name. */
    of: (name: string): readonly string[] =>
      configured.has(name)
        ? [...new Set([name, ...rows])].filter((row) => findRowScorer(row, configured) === name)
        : rows.has(name)
          ? [name]
          : [],
  };
}
