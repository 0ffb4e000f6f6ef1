import { isRecord } from '../domain/unknown-values.ts';
import type { Fingerprints } from '../jobs/foreign-scorers.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';

/** Specification of a rescore: which decisions, and the configuration that scores them. */
export interface RescoreSpec {
  /** Scorer whose scored decisions are made again; null: failed decisions of all scorers. */
  readonly scorer: string | null;
  /** Only targets whose last span arrived at or after this time, Unix milliseconds; null: all. */
  readonly sinceMs: number | null;
  readonly fingerprints: Fingerprints;
}

/** Builds the specification for the rules in force; without a scorer for failed decisions. */
export function buildRescoreSpec(
  rules: readonly PreparedRule[],
  { scorer, sinceMs }: { readonly scorer?: string | undefined; readonly sinceMs?: number | undefined },
): RescoreSpec {
  const isAsked = (name: string) => scorer === undefined || name === scorer;
  const fingerprints = rules.map(({ name, scorers }) => [
    name,
    Object.fromEntries(
      scorers.filter((each) => isAsked(each.name)).map((each) => [each.name, each.fingerprint]),
    ),
  ]);
  return {
    scorer: scorer ?? null,
    sinceMs: sinceMs ?? null,
    fingerprints: Object.fromEntries(fingerprints) as Fingerprints,
  };
}

/** Reads the specification of a stored job. */
export function readRescoreSpec(spec: Readonly<Record<string, unknown>>): RescoreSpec {
  const { scorer, sinceMs, fingerprints } = spec;
  return {
    scorer: typeof scorer === 'string' ? scorer : null,
    sinceMs: typeof sinceMs === 'number' ? sinceMs : null,
    fingerprints: isRecord(fingerprints) ? (fingerprints as Fingerprints) : {},
  };
}
