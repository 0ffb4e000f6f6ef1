import { nearest } from '../../domain/nearest.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { KnownScorer } from '../default-rule.ts';
import type { KeyPath } from '../key-path.ts';
import type { Config } from '../schema.ts';
import type { MonitorRule } from '../schema/monitors.ts';
import type { Rule } from '../schema/rules.ts';
import { suggestNearest } from './scorer-checks.ts';

/** Scorers and rules that give monitors their scores. */
export interface ScoreSources extends Pick<Config, 'scorers' | 'rules'> {
  /** Existing scorers; undefined: names are not checked. */
  readonly known: readonly KnownScorer[] | undefined;
}

type Series = MonitorRule['series'];

/** Key of the scores of a monitor that nothing can write. */
interface SeriesFault {
  readonly key: keyof Series;
  readonly message: string;
  readonly dependsOn: KeyPath;
}

/**
 * Finds what makes a monitor never see a score: no configured scorer writes it, or no rule scores that agent or environment. Posted
 * scores do not matter, because monitors read live scores only.
 */
export function findSeriesFaults(series: Series, sources: ScoreSources): SeriesFault[] {
  const message = findUnknownScorer(series, sources);
  return message === undefined
    ? findFacetFaults(series, sources)
    : [{ key: 'scorer', message, dependsOn: ['scorers'] }];
}

function findUnknownScorer({ scorer }: Series, { known, scorers }: ScoreSources): string | undefined {
  if (known === undefined || scorer === undefined) {
    return undefined;
  }
  // The file of a module says which rows it writes; only their beginning is known here.
  const modules = Object.keys(scorers).filter((name) => scorers[name]?.module !== undefined);
  const names = [
    ...known.flatMap(({ name, rows = [] }) => [name, ...rows]),
    ...Object.entries(scorers).flatMap(([name, { use }]) => [
      name,
      ...(known.find((prebuilt) => prebuilt.name === use)?.rows ?? []).map((row) => nameRow(row, name)),
    ]),
  ];
  return names.includes(scorer) || findRowScorer(scorer, modules) !== undefined
    ? undefined
    : suggestNearest(scorer, names);
}

/** Names a row of a prebuilt scorer that has an own name in the configuration. */
function nameRow(row: string, name: string): string {
  return row.startsWith(`${name}-`) ? row : `${name}/${row}`;
}

/** Finds an agent or an environment that every rule with scores for the monitor leaves out. */
function findFacetFaults(series: Series, { rules }: ScoreSources): SeriesFault[] {
  const sources = rules.filter(
    ({ scorers, target }) =>
      (series.scorer === undefined || findRowScorer(series.scorer, scorers) !== undefined) &&
      (series.target === undefined || series.target === target),
  );
  return (['agent', 'environment'] as const).flatMap((facet) => {
    const value = series[facet];
    if (value === undefined || sources.length === 0 || sources.some((rule) => canScore(rule, facet, value))) {
      return [];
    }
    const scored = sources.flatMap(({ where }) => where?.[facet] ?? []);
    const meant = nearest(value, scored);
    const hint = meant === undefined ? `see where.${facet} of the rules` : `did you mean ${meant}?`;
    const message = `no rule gives this monitor scores of the ${facet} ${value}; ${hint}`;
    return [{ key: facet, message, dependsOn: ['rules'] }];
  });
}

function canScore({ target, where }: Rule, facet: 'agent' | 'environment', value: string): boolean {
  // The condition names an agent of the trace; the scores are about the agents that it calls.
  const isOfCalled = facet === 'agent' && target === 'agent';
  const wanted = where?.[facet] ?? [];
  return (
    isOfCalled ||
    ((wanted.length === 0 || wanted.includes(value)) && where?.not?.[facet]?.includes(value) !== true)
  );
}
