import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { nearest } from '../../domain/nearest.ts';
import type { KnownScorer } from '../default-rule.ts';
import type { ConfigIssue } from '../faults/config-issue.ts';
import type { KeyPath } from '../key-path.ts';
import type { Config } from '../schema.ts';

type Known = readonly KnownScorer[] | undefined;

/** Reports the name of a scorer in a rule that stands for nothing, or for a scorer without a judge or a needed option. */
export function scorerIssues(name: string, path: KeyPath, config: Config, known: Known): ConfigIssue[] {
  const entry = Object.hasOwn(config.scorers, name) ? config.scorers[name] : undefined;
  const prebuilt = known?.find((scorer) => scorer.name === (entry?.use ?? name));
  if (entry === undefined && prebuilt === undefined) {
    return known === undefined
      ? []
      : [{ path, message: noScorer(name, known, config), dependsOn: [['scorers', name]] }];
  }
  const judge = entry?.judge ?? config.judges.default;
  if (prebuilt?.needsJudge === true && judge === undefined) {
    return [
      {
        path,
        message: `${name} needs a judge: set judges.default (or SPANSCORE_JUDGE) to provider/model`,
        dependsOn: [
          ['judges', 'default'],
          ['scorers', name],
        ],
      },
    ];
  }
  // An entry's own options are checked at the entry.
  const fault = entry === undefined ? prebuilt?.findOptionFault?.({}) : undefined;
  return fault === undefined ? [] : [{ path, message: fault, dependsOn: [['scorers', name]] }];
}

/** Reports entries of scorers whose `use` names no prebuilt scorer, whose options it refuses, or whose `module` is no file. */
export function entryIssues({ scorers }: Config, known: Known): ConfigIssue[] {
  return Object.entries(scorers).flatMap(([name, { use, module, options }]): ConfigIssue[] => {
    const prebuilt = known?.find((scorer) => scorer.name === use);
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
  });
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
export function suggestNearest(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  return meant === undefined
    ? `there is no scorer ${name}; the scorers are ${names.join(', ')}`
    : `there is no scorer ${name}; did you mean ${meant}?`;
}

function isFile(name: string): boolean {
  return /^[./~]|[/\\]|\.[cm]?[jt]s$/.test(name);
}
