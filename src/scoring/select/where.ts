import type { AgentRun } from '../../domain/trace/agent-run.ts';
import { SECOND_MS } from '../../domain/durations.ts';
import type { TraceActivity, TraceFacts } from '../../store/contracts/stores.ts';
import type { Conditions, Limits, Where } from './rule.ts';
import { BY_SHAPE } from '../../domain/trace/convention-table.ts';
import { findPriceByModel, isSamePrice, type PriceTable, findCost } from '../../domain/money/model-prices.ts';

/** Most values that a reason names. */
const MOST_SHOWN = 5;

/** Trace before its content is read. */
export interface UnreadTrace {
  readonly activity: Pick<TraceActivity, 'firstStartUnixNano' | 'lastEndUnixNano'>;
  readonly facts: TraceFacts | undefined;
}

export function listAttributeKeys(where: Where | undefined): string[] {
  return [where, where?.not].flatMap((conditions) => Object.keys(conditions?.attributes ?? {}));
}

/** Returns true when a condition needs facts of the trace, so that a query has to read them. */
export function needsFactsFor(where: Where | undefined): boolean {
  return [where ?? {}, where?.not ?? {}].some(({ service, environment, agent, model, attributes, status }) =>
    [service, environment, agent, model, attributes, status].some((condition) => condition !== undefined),
  );
}

/** Returns true when a condition needs the content of the trace. A model does where the facts name none. */
export function needsContentFor(where: Where | undefined, facts: TraceFacts | undefined): boolean {
  return [where ?? {}, where?.not ?? {}].some(
    ({ tokens, readByShape, model }) =>
      tokens !== undefined || readByShape !== undefined || (model !== undefined && !hasModelNames(facts)),
  );
}

/**
 * Returns a sentence on the first condition that keeps the trace out; null when none does. Leaves out the conditions that need
 * the content.
 */
export function findUnmetCondition(where: Where | undefined, trace: UnreadTrace): string | null {
  return findUnmet(where, (conditions) => listChecks(conditions, trace));
}

/** Returns true when a trace is known to meet conditions before its content is read: one that needs the content is not known to be met. */
export function isMetUnread(where: Where, trace: UnreadTrace): boolean {
  return !needsContentFor(where, trace.facts) && findUnmetCondition(where, trace) === null;
}

/** Like `findUnmetCondition`, for the conditions that need the content. One run that meets a condition is enough. */
export function findUnmetContent(
  where: Where | undefined,
  runs: readonly AgentRun[],
  facts: TraceFacts | undefined,
): string | null {
  const tokens = runs.flatMap((run) => countTokens(run) ?? []);
  const models = hasModelNames(facts) ? null : [...new Set(runs.flatMap(listModels))];
  return findUnmet(where, (conditions) => [
    ...(models === null ? [] : checkValues('model', conditions.model, models)),
    ...(conditions.tokens === undefined ? [] : [checkLimits('tokens', conditions.tokens, tokens, String)]),
    ...checkValues('readByShape', [conditions.readByShape ?? []].flat().map(String), [
      String(runs.some(isReadByShape)),
    ]),
  ]);
}

function hasModelNames(facts: TraceFacts | undefined): boolean {
  return facts !== undefined && facts.modelNames.length > 0;
}

/** Computes the time from the first start to the last end of a trace, milliseconds. */
export function computeDurationMs({ firstStartUnixNano, lastEndUnixNano }: UnreadTrace['activity']): number {
  return Math.max(0, Number(lastEndUnixNano - firstStartUnixNano) / 1e6);
}

interface Check {
  readonly name: string;
  readonly isMet: boolean;
  readonly seen: string;
  /** Values or limits of the rule. */
  readonly limit: string;
}

function findUnmet(
  where: Where | undefined,
  list: (conditions: Conditions) => readonly Check[],
): string | null {
  const unmet = list(where ?? {}).find(({ isMet }) => !isMet);
  if (unmet !== undefined) {
    return `${unmet.name} is ${unmet.seen}, the rule wants ${unmet.limit}`;
  }
  const excluded = list(where?.not ?? {}).find(({ isMet }) => isMet);
  return excluded === undefined
    ? null
    : `${excluded.name} is ${excluded.seen}, the rule leaves out ${excluded.limit}`;
}

function listChecks(conditions: Conditions, { activity, facts }: UnreadTrace): Check[] {
  const { durationMs, status } = conditions;
  return [
    ...checkValues('service', conditions.service, facts?.services),
    ...checkValues('environment', conditions.environment, facts?.environments),
    ...checkValues('agent', conditions.agent, facts?.agents),
    ...(hasModelNames(facts) ? checkValues('model', conditions.model, facts?.modelNames) : []),
    ...Object.entries(conditions.attributes ?? {}).flatMap(([key, values]) =>
      checkValues(key, values, facts?.attributes.get(key)),
    ),
    ...checkValues('status', status && [status], facts && [facts.hasError ? 'error' : 'ok']),
    ...(durationMs === undefined
      ? []
      : [checkLimits('duration', durationMs, [computeDurationMs(activity)], formatSpell)]),
  ];
}

/** Checks a list of values: one common value is enough. An empty list is no condition. */
function checkValues(
  name: string,
  values: readonly string[] | undefined,
  seen: readonly string[] | undefined,
): Check[] {
  if (values === undefined || values.length === 0) {
    return [];
  }
  return [
    {
      name,
      isMet: values.some((value) => seen?.includes(value)),
      seen: seen === undefined || seen.length === 0 ? 'none' : seen.slice(0, MOST_SHOWN).join(', '),
      limit: values.join(' or '),
    },
  ];
}

/** Checks limits: one number within them is enough. */
function checkLimits(
  name: string,
  { min = 0, max = Infinity }: Limits,
  seen: readonly number[],
  format: (value: number) => string,
): Check {
  const bounds = [
    ...(min > 0 ? [`at least ${format(min)}`] : []),
    ...(max < Infinity ? [`at most ${format(max)}`] : []),
  ];
  return {
    name,
    isMet: seen.some((value) => value >= min && value <= max),
    seen: seen.length === 0 ? 'unknown' : seen.slice(0, MOST_SHOWN).map(format).join(', '),
    limit: bounds.join(' and '),
  };
}

function formatSpell(ms: number): string {
  return ms < SECOND_MS ? `${Number(ms.toFixed(3))} ms` : `${Number((ms / SECOND_MS).toFixed(3))} s`;
}

/** Returns the tokens of a run and of the agents below it; null when its emitter does not count them. */
export function countTokens({ usage }: Pick<AgentRun, 'usage'>): number | null {
  const { totalTokens, inputTokens, outputTokens } = usage;
  const isCounted = inputTokens !== null || outputTokens !== null;
  return totalTokens ?? (isCounted ? (inputTokens ?? 0) + (outputTokens ?? 0) : null);
}

/** Computes the cost of a run by the price of its model; null when models with different prices answered. */
export function computeRunCost(run: AgentRun, prices: PriceTable): number | null {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = run.usage;
  const [price, ...others] = new Set(listModels(run).map((model) => findPriceByModel(model, prices)));
  if (inputTokens === null || outputTokens === null || others.some((other) => !isSamePrice(other, price))) {
    return null;
  }
  const cached = {
    cachedInputTokens: cachedInputTokens ?? 0,
    cacheWriteTokens: cacheWriteTokens ?? 0,
  };
  return findCost({ inputTokens, outputTokens, ...cached }, price) ?? null;
}

/** Returns true for a run whose spans, or some of them, were read by the form of their values. */
export function isReadByShape({ conventions }: AgentRun): boolean {
  return conventions.includes(BY_SHAPE);
}

/** Lists the models of the run and of the agents below it, whose tokens its usage contains. */
export function listModels({ models, subRuns }: AgentRun): string[] {
  return [...models, ...subRuns.flatMap(listModels)];
}
