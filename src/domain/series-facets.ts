/** Facets that a rule may split series by, beside scorer, agent and environment; in the order in which they are written. */
export const SPLIT_FACETS = ['model', 'agentVersion', 'serviceVersion', 'service'] as const;

export type SplitFacet = (typeof SPLIT_FACETS)[number];

/** Label name of each split facet. */
export const SPLIT_LABELS = {
  model: 'model',
  agentVersion: 'agent_version',
  serviceVersion: 'service_version',
  service: 'service',
} as const satisfies Record<SplitFacet, string>;

/**
 * Identity of a series of scores. A change of scorer or judge (`fingerprint`) starts a new series. A split facet is present
 * where a rule asks for it, even when its value is ''.
 */
export interface SeriesFacets extends Readonly<Partial<Record<SplitFacet, string>>> {
  readonly tenant: string;
  readonly scorer: string;
  readonly fingerprint: string;
  readonly agent: string;
  readonly environment: string;
}

/** Lists the facets that a series is split by, with their values. */
export function buildSplit(series: SeriesFacets): (readonly [facet: SplitFacet, value: string])[] {
  return SPLIT_FACETS.flatMap((facet) => {
    const value = series[facet];
    return value === undefined ? [] : [[facet, value] as const];
  });
}

/** Returns the series of a part of the traffic when series are split by these facets. */
export function seriesSplitBy(part: SeriesFacets, by: readonly SplitFacet[]): SeriesFacets {
  const { tenant, scorer, fingerprint, agent, environment } = part;
  const further = buildSplit(part).filter(([facet]) => by.includes(facet));
  return { tenant, scorer, fingerprint, agent, environment, ...Object.fromEntries(further) };
}

/** Writes the split of a series for people: `agent version 2`. */
export function splitTexts(series: SeriesFacets): string[] {
  return buildSplit(series).map(
    ([facet, value]) => `${SPLIT_LABELS[facet].replace('_', ' ')} ${value === '' ? 'unknown' : value}`,
  );
}
