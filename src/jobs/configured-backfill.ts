import type { Config } from '../configuration.ts';
import { ConfigError, InvalidInputError, RequestError, NotFoundError } from '../domain/errors.ts';
import { isDecisionJudge, takesBatches } from '../domain/judge-kinds.ts';
import { findPrice, unpricedBudget } from '../domain/money/model-prices.ts';
import { isRecord } from '../domain/unknown-values.ts';
import type { JobKind } from './job-kind.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { PreparedRule, Where } from '../scoring/select/rule.ts';
import { sessionSettings } from '../scoring/setup/configured-scoring.ts';
import { readWhere, type ScorerKit } from '../scoring/setup/scorer-kit.ts';
import { findRule, describeUnknownScorer, listConfiguredScorers } from '../scoring/setup/scorer-names.ts';
import { OPEN_STATUSES, type Job, type JobOrder } from '../store/contracts/jobs.ts';
import type { JobStore } from '../store/jobs/jobs.ts';
import { backfillKind } from './backfill.ts';
import { BACKFILL, describeRules, type BackfillRule, type BackfillSpec } from './stored-job.ts';

/** Part of the places of judges for a backfill beside live scoring, when it names none. */
const SHARE_BESIDE_LIVE = 0.3;

const OWN_RULE = 'scorers';

/** Backfill that a caller asks for. Times are Unix milliseconds; absent limits do not limit. */
export interface AskedBackfill {
  readonly fromMs: number;
  readonly toMs: number;
  readonly rules?: readonly string[] | undefined;
  readonly scorers?: readonly string[] | undefined;
  /** Conditions as in a rule of the configuration. */
  readonly where?: unknown;
  /** Part of the traces, instead of the samples of the rules. */
  readonly sample?: number | undefined;
  readonly rescore?: boolean | undefined;
  /** True: the questions go to the judge in batches. */
  readonly batch?: boolean | undefined;
  readonly limits: {
    readonly tracesPerSecond?: number | undefined;
    readonly maxCostUsd?: number | undefined;
    readonly concurrency?: number | undefined;
    readonly judgeShare?: number | undefined;
  };
}

export interface BackfillParts {
  readonly config: Config;
  readonly kit: ScorerKit;
}

/** Names a part of a request as its sender wrote it, for faults. It is a field of the API, or a path in it: `maxCostUsd`, `where.status`. */
export type NameField = (path: string) => string;

/**
 * Makes the specification of a backfill: its rules, options and fingerprints stay as they are now. Throws a `RequestError` for a
 * request that cannot be met, and a `ConfigError` for scorers that cannot be used.
 */
export async function planBackfill(
  parts: BackfillParts,
  request: AskedBackfill,
  nameField: NameField = (path) => path,
): Promise<BackfillSpec> {
  const { fromMs, toMs, rescore, limits } = request;
  const { tracesPerSecond, maxCostUsd, concurrency, judgeShare } = limits;
  if (!(fromMs < toMs)) {
    throw new RequestError(`${nameField('to')}: must be after ${nameField('from')}`);
  }
  const where = request.where === undefined ? null : readConditions(request.where, nameField);
  const rules = await chooseRules(parts, request, nameField);
  if (maxCostUsd !== undefined) {
    rejectUnpriced(rules, parts.config, nameField);
  }
  if (request.batch === true) {
    rejectUnbatched(rules, parts.config);
  }
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    where,
    rules: describeRules(rules),
    rescore: rescore ?? false,
    tracesPerSecond: tracesPerSecond ?? null,
    maxCostUsd: maxCostUsd ?? null,
    concurrency: concurrency ?? null,
    judgeShare: judgeShare ?? null,
    ...(request.batch === true ? { batch: true } : {}),
  };
}

/**
 * Creates the kind of job that runs backfills with the scorers of the configuration.
 * @param isBesideLive true in a process that scores live traffic, too
 */
export function configureBackfillKind(
  { config, kit }: BackfillParts,
  scoring: Scoring,
  isBesideLive: boolean,
): JobKind {
  return backfillKind({
    scoring,
    bindRule: (rule) => bindRule(kit, rule),
    liveRules: kit.rules,
    sessions: sessionSettings(config),
    judgeShare: defaultJudgeShare(isBesideLive),
  });
}

/** Returns the part of the places of judges of a backfill that names none. */
export function defaultJudgeShare(isBesideLive: boolean): number {
  return isBesideLive ? SHARE_BESIDE_LIVE : 1;
}

/** Prepares a rule as it was when the backfill was made. The budget is the present one. */
export async function bindRule(
  kit: ScorerKit,
  { name, target, where, sample, scorers }: BackfillRule,
): Promise<PreparedRule> {
  const prepared = await kit.prepareOwnRule(name, Object.keys(scorers), target);
  const budget = kit.rules.find((rule) => rule.name === name)?.budget;
  return { ...prepared, sample, budget, ...(where === null ? {} : { where }) };
}

async function chooseRules(
  { config, kit }: BackfillParts,
  request: AskedBackfill,
  nameField: NameField,
): Promise<PreparedRule[]> {
  const { rules: names, scorers, sample } = request;
  if (names !== undefined && scorers !== undefined) {
    throw new RequestError(
      `${nameField('rule')}: cannot be used with ${nameField('scorer')}; give one of them`,
    );
  }
  const known = listConfiguredScorers(config);
  const unknown = scorers?.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new RequestError(`${nameField('scorer')}: ${describeUnknownScorer(unknown, known)}`);
  }
  names?.forEach((name) => findRule(kit.rules, name));
  const chosen =
    scorers === undefined
      ? kit.rules.filter(({ name }) => names?.includes(name) ?? true)
      : [await kit.prepareOwnRule(OWN_RULE, scorers)];
  if (chosen.length === 0) {
    throw new RequestError(`no rules are configured: name scorers with ${nameField('scorer')}`);
  }
  return sample === undefined
    ? chosen
    : chosen.map((rule) => ({ ...rule, sample: { rate: sample, always: [] } }));
}

function readConditions(value: unknown, nameField: NameField): Where {
  const conditions = isRecord(value) ? value : {};
  const { not } = conditions;
  // Before the check of their form: a command line has texts only.
  const ofContent = ['tokens', 'readByShape'].find(
    (name) => conditions[name] !== undefined || (isRecord(not) && not[name] !== undefined),
  );
  if (ofContent !== undefined) {
    throw new RequestError(
      `${nameField('where')}: ${ofContent} ${ofContent === 'tokens' ? 'are' : 'is'} known only after a trace is read; put this condition into a rule`,
    );
  }
  try {
    return readWhere(value);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) {
      throw error;
    }
    const faults = error.details['errors'] as readonly { readonly path: string; readonly message: string }[];
    const named = faults.map(({ path, message }) => `${nameField(path)}: ${message}`);
    throw new RequestError(named.join('; '), error.details, error);
  }
}

/** Lists the judges of rules as `provider/model`. */
export function listJudges(rules: readonly PreparedRule[]): string[] {
  const named = rules.flatMap(({ scorers }) => scorers.flatMap(({ judgeModel }) => judgeModel.split(',')));
  return named.filter((judge) => judge !== '');
}

function rejectUnpriced(
  rules: readonly PreparedRule[],
  { judges: { prices } }: Config,
  nameField: NameField,
): void {
  const unpriced = listJudges(rules).find((judge) => findPrice(judge, prices) === undefined);
  if (unpriced !== undefined) {
    throw new RequestError(`${nameField('maxCostUsd')}: ${unpricedBudget(unpriced)}`);
  }
}

/** Refuses scorers and judges whose questions cannot go into batches. */
function rejectUnbatched(rules: readonly PreparedRule[], { judges }: Config): void {
  const several = rules
    .flatMap(({ scorers }) => scorers)
    .find(({ isJudged, asksOnce }) => isJudged && asksOnce !== true);
  if (several !== undefined) {
    throw new ConfigError(
      `${several.name} may ask several questions about a run: batches take grounding, panel and own judges (ask); name such scorers, or leave out batches`,
    );
  }
  for (const judge of listJudges(rules)) {
    const provider = judge.split('/', 1)[0] ?? '';
    if (isDecisionJudge(judge, judges)) {
      throw new ConfigError(
        `${judge} is a decision judge, and decision questions do not go into batches: the judge is asked live, at a fifth of the price of a chat judge; leave out batches`,
      );
    }
    if (
      !takesBatches(
        provider,
        Object.hasOwn(judges.providers, provider) ? judges.providers[provider] : undefined,
      )
    ) {
      throw new ConfigError(
        `the judge ${judge} has no batch interface: batches go to openai, anthropic and google, and to entries of judges.providers with batch: true; leave out batches`,
      );
    }
  }
}

/**
 * Finds a backfill. Throws a `NotFoundError` for an unknown id, and for one of another tenant.
 * @param tenant only tenant whose backfills are found; undefined: all
 */
export async function findBackfill(jobs: JobStore, id: string, tenant?: string): Promise<Job> {
  const job = await jobs.find(id);
  if (job?.kind !== BACKFILL || (tenant !== undefined && job.tenant !== tenant)) {
    throw new NotFoundError(`there is no backfill ${id}`);
  }
  return job;
}

/** Pauses, resumes or cancels a backfill. Returns it as it is then. Throws an `InvalidInputError` when it has ended. */
export async function orderBackfill(jobs: JobStore, job: Job, order: JobOrder): Promise<Job> {
  if (!OPEN_STATUSES.includes(job.status)) {
    throw new InvalidInputError(`the backfill ${job.id} is ${job.status}: it cannot be changed any more`);
  }
  await jobs.order(job.id, order);
  return (await jobs.find(job.id)) ?? job;
}
