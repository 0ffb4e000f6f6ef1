import type { JudgeUse } from '../../store/contracts/judge-use.ts';
import { budgetJson } from './budget-json.ts';
import type { JudgesView, RuleView, ScorerView } from '../reads/configuration.ts';
import { isoTime } from './time-json.ts';

/** Formats a configured scorer as JSON. */
export function scorerJson({ activeFromMs, ...rest }: ScorerView) {
  return { ...rest, activeFrom: isoTime(activeFromMs) };
}

/** Formats a rule as JSON: as it is configured, with its versions. */
export function ruleJson({ rule, version, versions, sinceMs, eligible, scored }: RuleView) {
  const current = versions.find((each) => each.version === version);
  return {
    rule: rule.name,
    version: version ?? null,
    activeFrom: isoTime(current?.activeFromMs ?? null),
    target: rule.target,
    scorers: rule.scorers,
    where: rule.where ?? {},
    sample: rule.sample,
    budget: rule.budget ?? null,
    versions: versions.map((each) => ({
      version: each.version,
      activeFrom: isoTime(each.activeFromMs),
      rate: each.probability,
    })),
    decisions: { since: isoTime(sinceMs), scored, eligible },
  };
}

const NO_USE: Counts = {
  calls: 0,
  failed: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  latencyP50Ms: null,
  latencyP95Ms: null,
};

interface Counts extends Omit<
  JudgeUse,
  'judge' | 'hourMs' | 'scorers' | 'failures' | 'latencyP50Ms' | 'latencyP95Ms'
> {
  readonly latencyP50Ms: number | null;
  readonly latencyP95Ms: number | null;
}

/** Formats the judges as JSON, with the budgets beside them. */
export function judgesJson({ judges, caps }: JudgesView, sinceMs: number) {
  return {
    items: judges.map(({ judge, use, state }) => {
      const total = use.find(({ hourMs }) => hourMs === null);
      return {
        judge,
        ...(total === undefined ? NO_USE : countsJson(total)),
        failures: total?.failures ?? {},
        cacheHits: state?.cacheHits ?? null,
        breaker: state?.breaker ?? null,
        scorers: total?.scorers ?? [],
        hours: use.flatMap((each) =>
          each.hourMs === null ? [] : [{ hour: isoTime(each.hourMs), ...countsJson(each) }],
        ),
      };
    }),
    next: null,
    since: isoTime(sinceMs),
    budgets: caps.map((cap) => ({
      ...budgetJson(cap),
      reservedUsd: cap.reservedUsd,
      leftUsd: Math.max(0, cap.capUsd - cap.spentUsd - cap.reservedUsd),
    })),
  };
}

function countsJson(use: JudgeUse): Counts {
  const { calls, failed, inputTokens, outputTokens, costUsd, latencyP50Ms, latencyP95Ms } = use;
  return { calls, failed, inputTokens, outputTokens, costUsd, latencyP50Ms, latencyP95Ms };
}
