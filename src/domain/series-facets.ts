import type { TargetKind } from './trace/agent-run.ts';

/** Facets that a rule may split series by, beside scorer, agent and environment; in the order in which they are written. */
export const SPLIT_FACETS = ['model', 'agentVersion', 'serviceVersion', 'service'] as const;

export type SplitFacet = (typeof SPLIT_FACETS)[number];

/** Parts of a series beside the five that each one has. The target comes first. */
type SeriesPart = 'target' | SplitFacet;

export const SPLIT_LABELS = {
  target: 'target',
  model: 'model',
  agentVersion: 'agent_version',
  serviceVersion: 'service_version',
  service: 'service',
} as const satisfies Record<SeriesPart, string>;

/** Names of the labels that an alert can have beside the labels of its rule. */
export const ALERT_LABELS = [
  'alertname',
  'detector',
  'scorer',
  'scorer_fingerprint',
  'agent',
  'environment',
  'tenant',
  ...Object.values(SPLIT_LABELS),
] as const;

/**
 * Identity of a series of scores. A change of scorer or judge (`fingerprint`) starts a new series, and each kind of target has
 * series of its own. A split facet is present where a rule asks for it, even when its value is ''.
 */
export interface SeriesFacets extends Readonly<Partial<Record<SplitFacet, string>>> {
  readonly tenant: string;
  readonly scorer: string;
  readonly fingerprint: string;
  readonly agent: string;
  readonly environment: string;
  /** Absent for scores of whole runs (`trace`). */
  readonly target?: Exclude<TargetKind, 'trace'>;
}

/** Lists the target of a series, if it is not a whole run, and the facets that the series is split by, with their values. */
export function buildSplit(series: SeriesFacets): (readonly [part: SeriesPart, value: string])[] {
  return (['target', ...SPLIT_FACETS] as const).flatMap((facet) => {
    const value = series[facet];
    return value === undefined ? [] : [[facet, value] as const];
  });
}

/** Returns the series of a part of the traffic when series are split by these facets. */
export function seriesSplitBy(part: SeriesFacets, by: readonly SplitFacet[]): SeriesFacets {
  const { tenant, scorer, fingerprint, agent, environment } = part;
  const further = buildSplit(part).filter(([facet]) => facet === 'target' || by.includes(facet));
  return { tenant, scorer, fingerprint, agent, environment, ...Object.fromEntries(further) };
}

/** Writes the split of a series for people: `agent version 2`. */
export function splitTexts(series: SeriesFacets): string[] {
  return buildSplit(series).map(
    ([facet, value]) => `${SPLIT_LABELS[facet].replace('_', ' ')} ${value === '' ? 'unknown' : value}`,
  );
}

/** Place in an annotation that is filled in, in the form that Prometheus uses. */
const TEMPLATE = /\{\{\s*(?:\$labels\.(\w+)|\$value)\s*\}\}/g;

/** Fills in the labels of an alert and its observed value. A label that the alert does not have becomes ''. */
export function fillTemplate(
  text: string,
  { labels, value }: { readonly labels: Readonly<Record<string, string>>; readonly value: string },
): string {
  return text.replaceAll(TEMPLATE, (_, label: string | undefined) =>
    label === undefined ? value : (labels[label] ?? ''),
  );
}

/** Describes the first template in an annotation that cannot be filled in; undefined when there is none. */
export function findTemplateFault(text: string, labelNames: readonly string[]): string | undefined {
  for (const [template, label] of text.matchAll(TEMPLATE)) {
    if (label !== undefined && !labelNames.includes(label)) {
      return `${template} names no label of the alert; its labels are ${labelNames.join(', ')}`;
    }
  }
  const [rest] = /\{\{.*?(?:\}\}|$)/s.exec(text.replaceAll(TEMPLATE, '')) ?? [];
  return rest === undefined
    ? undefined
    : `${rest} is no template of spanscore; write {{ $labels.agent }}, another label, or {{ $value }}`;
}
