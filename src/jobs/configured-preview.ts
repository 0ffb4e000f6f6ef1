import { checkValue, ruleSchema, type Config } from '../configuration.ts';
import { DAY_MS } from '../domain/durations.ts';
import { findRowScorer } from '../domain/score-rows.ts';
import { backtestScores, type ScoreOfSeries, storedScores } from '../monitors/live/backtest-scores.ts';
import { configuredMonitors } from '../monitors/live/configured-monitors.ts';
import { buildSplits, OF_OUTCOMES } from '../monitors/rule.ts';
import type { Scoring } from '../scoring/scoring.ts';
import { computeRuleVersion, type PreparedRule } from '../scoring/select/rule.ts';
import { findProviderPace, sessionSettings } from '../scoring/setup/configured-scoring.ts';
import { rejectUnpricedBudgets, buildConfiguredRule, type ScorerKit } from '../scoring/setup/scorer-kit.ts';
import type { MonitorView } from '../store/monitors/monitor-view.ts';
import type { Store } from '../store/store.ts';
import { previewRule } from './preview.ts';
import { z } from 'zod';

/** Time before the range whose scores monitors learn from, milliseconds. */
const LEARNING_MS = 30 * DAY_MS;

export interface PreviewParts {
  readonly config: Config;
  readonly kit: ScorerKit;
  readonly scoring: Scoring;
  readonly store: Pick<Store, 'judgeUse' | 'monitorView' | 'ruleVersions'>;
}

/** Preview that is asked for, with its limits. */
export interface PreviewTerms {
  readonly rule: PreparedRule;
  /** Length of the range up to now, milliseconds. */
  readonly lastMs: number;
  readonly sample: number;
  /** '' for all tenants. */
  readonly tenant: string;
  readonly listing: AbortSignal;
  readonly judging: AbortSignal;
}

/**
 * Prepares a rule that is written as in the configuration, with the scorers of the configuration. Throws an `InvalidInputError` that names
 * each fault, and a `ConfigError` for scorers that cannot be used.
 */
export async function prepareWrittenRule(
  kit: ScorerKit,
  { judges: { prices }, budgets }: Config,
  written: unknown,
): Promise<PreparedRule> {
  const { name, scorers, target, ...rest } = checkValue(z.object({ rule: ruleSchema }), {
    rule: written,
  }).rule;
  const own = await kit.prepareOwnRule(name, scorers, target);
  const rule = {
    ...own,
    ...buildConfiguredRule({ name, scorers, target, ...rest }, own.scorers),
    scorers: own.scorers,
  };
  rejectUnpricedBudgets([rule], { prices, budgets });
  return rule;
}

/** Previews a rule. Throws what the store throws. */
export async function previewConfigured(
  { config, kit, scoring, store }: PreviewParts,
  { rule, lastMs, sample, tenant, listing, judging }: PreviewTerms,
) {
  const { judgeUse, monitorView, ruleVersions } = store;
  const toMs = await scoring.stores.spans.nowMs();
  const fromMs = Math.max(0, toMs - lastMs);
  const preview = await previewRule(
    {
      scoring,
      sessions: sessionSettings(config),
      readSizes: (query) => judgeUse.sizes(query),
      prices: config.judges.prices,
      findProvider: (name) => findProviderPace(config, name),
    },
    { rule, fromMs, toMs, tenant, sample, listing, judging },
  );
  const monitors = await backtestMonitors(config, monitorView, { rule, fromMs, toMs, tenant });
  const versions = (await ruleVersions.list()).filter((version) => version.rule === rule.name);
  const current = versions.toSorted((a, b) => b.activeFromMs - a.activeFromMs)[0];
  const inForce = kit.rules.some(({ name }) => name === rule.name) ? current : undefined;
  return {
    ...preview,
    rule,
    fromMs,
    toMs,
    monitors,
    inForce:
      inForce === undefined
        ? null
        : { activeFromMs: inForce.activeFromMs, isSame: inForce.version === computeRuleVersion(rule) },
  };
}

/** Runs the monitors over the stored live scores of some scorers. Throws a `ConfigError` for monitors that cannot be used. */
async function backtestMonitors(
  config: Config,
  view: MonitorView,
  { rule, fromMs, toMs, tenant }: { rule: PreparedRule; fromMs: number; toMs: number; tenant: string },
) {
  const scorers = rule.scorers.map(({ name }) => name);
  const groups = (await configuredMonitors(config)).map((group) => ({
    ...group,
    rules: group.rules.filter(
      ({ series, detection }) =>
        !OF_OUTCOMES.has(detection.kind) &&
        (series.scorer === undefined || findRowScorer(series.scorer, scorers) !== undefined),
    ),
  }));
  const rules = groups.flatMap((group) => group.rules);
  if (rules.length === 0) {
    return [];
  }
  const range = { fromMs: fromMs - LEARNING_MS, toMs };
  const scores = chooseScores(storedScores(view, range, buildSplits(rules)), scorers, tenant);
  const { results } = await backtestScores(groups, scores);
  return results.map(({ alert, series, scores: count, transitions }) => ({
    alert,
    series,
    scores: count,
    firedAtMs: transitions.flatMap(({ to, atMs }) => (to === 'firing' && atMs >= fromMs ? [atMs] : [])),
  }));
}

async function* chooseScores(
  all: AsyncIterable<ScoreOfSeries>,
  scorers: readonly string[],
  tenant: string,
): AsyncGenerator<ScoreOfSeries> {
  for await (const score of all) {
    const { facets } = score.series;
    const isOurs = facets !== undefined && findRowScorer(facets.scorer, scorers) !== undefined;
    if (isOurs && (tenant === '' || facets.tenant === tenant)) {
      yield score;
    }
  }
}
