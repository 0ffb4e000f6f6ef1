import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { isAskedAnswer } from '../../domain/asked-answer.ts';
import { findJudgeFault, isDecisionJudge } from '../../domain/judge-kinds.ts';
import { nearest } from '../../domain/nearest.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { KnownScorer, Rule } from '../schema/rules.ts';
import { type ConfigIssue, issueIf } from '../faults/config-issue.ts';
import type { KeyPath } from '../key-path.ts';
import type { Config } from '../schema.ts';
import type { MonitorRule } from '../schema/monitors.ts';

/** Existing scorers; undefined: names are not checked. */
export type Known = readonly KnownScorer[] | undefined;

/** Reports rules with the name of another rule, and scorers of rules that cannot run. */
export function ruleIssues(config: Config, known: Known): ConfigIssue[] {
  const names = new Map<string, number>();
  return config.rules.flatMap((rule, index) => {
    const first = names.get(rule.name);
    names.set(rule.name, first ?? index);
    const twin = issueIf(
      first !== undefined,
      ['rules', index, 'name'],
      `another rule has the name ${rule.name} too; give each rule a different name`,
      ['rules', first ?? index, 'name'],
    );
    const scorers = rule.scorers.flatMap((name, position): ConfigIssue[] => {
      const path = ['rules', index, 'scorers', position];
      return rule.scorers.indexOf(name) < position
        ? [{ path, message: `${name} is listed twice in this rule; remove one` }]
        : scorerIssues(name, path, config, known);
    });
    return [...twin, ...scorers];
  });
}

/** Reports the name of a scorer in a rule that stands for nothing, or for a scorer without a judge or a needed option. */
function scorerIssues(name: string, path: KeyPath, config: Config, known: Known): ConfigIssue[] {
  const entry = Object.hasOwn(config.scorers, name) ? config.scorers[name] : undefined;
  const prebuilt = known?.find((scorer) => scorer.name === (entry?.use ?? name));
  if (entry === undefined && prebuilt === undefined) {
    return known === undefined
      ? []
      : [{ path, message: noScorer(name, known, config), dependsOn: [['scorers', name]] }];
  }
  // A judge of an entry's own is checked at the entry.
  const unfit =
    entry?.judge === undefined && entry?.cascade === undefined
      ? findJudgeFault(name, prebuilt, config.judges.default, config.judges)
      : undefined;
  if (unfit !== undefined) {
    return issueIf(true, path, unfit, ['judges', 'default'], ['scorers', name]);
  }
  // An entry's own options are checked at the entry.
  const fault = entry === undefined ? prebuilt?.findOptionFault?.({}) : undefined;
  return issueIf(fault !== undefined, path, fault ?? '', ['scorers', name]);
}

/**
 * Reports entries of scorers whose `use` names no prebuilt scorer, whose options or judge it refuses, or whose `module` is no
 * file.
 */
export function entryIssues({ scorers, judges }: Config, known: Known): ConfigIssue[] {
  const ofCascades = cascadeIssues({ scorers, judges });
  const ofEntries = Object.entries(scorers).flatMap(
    ([name, { use, module, judge, options }]): ConfigIssue[] => {
      const prebuilt = known?.find((scorer) => scorer.name === use);
      const unfit =
        judge === undefined
          ? undefined
          : findJudgeFault(name, findAsking(module, use ?? name, known), judge, judges);
      if (unfit !== undefined) {
        return [{ path: ['scorers', name, 'judge'], message: unfit }];
      }
      if (use !== undefined && known !== undefined && prebuilt === undefined) {
        return [{ path: ['scorers', name, 'use'], message: noPrebuilt(use, known) }];
      }
      const fault = prebuilt?.findOptionFault?.(options ?? {});
      if (fault !== undefined) {
        return [{ path: ['scorers', name, ...(options === undefined ? [] : ['options'])], message: fault }];
      }
      return module === undefined || existsSync(module)
        ? []
        : [{ path: ['scorers', name, 'module'], message: noModuleText(module, known) }];
    },
  );
  return [...ofCascades, ...ofEntries];
}

/** Reports cascades whose first judge gives no probabilities. */
function cascadeIssues({ scorers, judges }: Pick<Config, 'scorers' | 'judges'>): ConfigIssue[] {
  return Object.entries(scorers).flatMap(([name, { cascade }]) =>
    issueIf(
      cascade !== undefined && !isDecisionJudge(cascade.judges[0], judges),
      ['scorers', name, 'cascade', 'judges', 0],
      `the first judge must be a decision judge, whose probabilities say when to ask the second; ${cascade?.judges[0]} is a chat judge`,
    ),
  );
}

/** Finds what asks the judge of an entry: a module asks in words. */
function findAsking(module: string | undefined, name: string, known: Known) {
  return module === undefined ? known?.find((scorer) => scorer.name === name) : { needsJudge: true };
}

function noScorer(name: string, known: readonly KnownScorer[], { scorers }: Config): string {
  if (isFile(name)) {
    const own = basename(name).replace(/\.\w+$/, '');
    return `${name} is a file; add scorers: { ${own}: { module: ${name} } } and write ${own} here`;
  }
  return suggestNearest(name, [...known.map((scorer) => scorer.name), ...Object.keys(scorers)]);
}

function noPrebuilt(use: string, known: readonly KnownScorer[]): string {
  return isFile(use)
    ? `${use} is a file, but use needs the name of a prebuilt scorer; write module: ${use}`
    : suggestNearest(
        use,
        known.map((scorer) => scorer.name),
      );
}

function noModuleText(path: string, known: Known): string {
  const name = basename(path);
  return known?.some((scorer) => scorer.name === name) === true
    ? `there is no file ${path}; for the prebuilt scorer, write use: ${name}`
    : `there is no file ${path}`;
}

/** Says that there is no scorer of a name, and which one is probably meant. */
function suggestNearest(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  return meant === undefined
    ? `there is no scorer ${name}; the scorers are ${names.join(', ')}`
    : `there is no scorer ${name}; did you mean ${meant}?`;
}

function isFile(name: string): boolean {
  return /^[./~]|[/\\]|\.[cm]?[jt]s$/.test(name);
}

/** Scorers and rules that give monitors their scores. */
export interface ScoreSources extends Pick<Config, 'scorers' | 'rules'> {
  readonly known: Known;
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
  const message = findUnknownScorer(series, sources) ?? findChoice(series, sources);
  return message === undefined
    ? findFacetFaults(series, sources)
    : [{ key: 'scorer', message, dependsOn: ['scorers'] }];
}

function findChoice({ scorer = '' }: Series, { scorers }: ScoreSources): string | undefined {
  const { answer } = (Object.hasOwn(scorers, scorer) ? scorers[scorer]?.options : undefined) ?? {};
  return isAskedAnswer(answer) && answer.type === 'choice'
    ? `${scorer} answers with options that have no order, so there is no mean to watch; see its labels in GET /series`
    : undefined;
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
