import type { Item, Writes } from '../api-types.ts';
import { formatNumber, formatPercent, formatUsd } from './format.ts';
import { writeYaml } from './write-yaml.ts';

export type Rule = Item<'/rules'>;

/** Writes a rule as YAML for the configuration. */
export function ruleYaml({ rule, target, scorers, where, sample, budget }: Rule): string {
  return writeYaml({
    rules: [
      {
        name: rule,
        ...(target === 'trace' ? {} : { target }),
        scorers,
        ...(isEmpty(where) ? {} : { where }),
        ...(isEmpty(sample) ? {} : { sample }),
        ...(budget === null ? {} : { budget }),
      },
    ],
  });
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

/** YAML of a rule to begin with. */
export function newRuleYaml(scorers: readonly string[]): string {
  return writeYaml({ rules: [{ name: 'new-rule', scorers: scorers.slice(0, 1), sample: { rate: 0.1 } }] });
}

/** Rule of a YAML text: of a whole configuration, of a list, or the rule itself. */
export type ReadRule =
  | { readonly rule: Readonly<Record<string, unknown>>; readonly name: string }
  | { readonly fault: string };

/** Finds the one rule in parsed YAML. */
export function readRule(parsed: unknown): ReadRule {
  const listed = isRecord(parsed) && 'rules' in parsed ? parsed['rules'] : parsed;
  const rules = Array.isArray(listed) ? (listed as unknown[]) : [listed];
  const [rule] = rules;
  if (rules.length !== 1 || !isRecord(rule)) {
    return { fault: `the text has ${rules.length} rules: leave one, as an entry of the key rules` };
  }
  const name = rule['name'];
  return typeof name === 'string' && name !== ''
    ? { rule, name }
    : { fault: 'the rule has no name: write one, as name: production' };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns true for a rule that scores runs of the agents and environments that the bar chooses. */
export function isOfChoice({ where }: Rule, frame: Readonly<Record<string, readonly string[]>>): boolean {
  return (['agent', 'environment'] as const).every(
    (name) =>
      frame[name]?.some(
        (value) => (where[name]?.includes(value) ?? true) && where.not?.[name]?.includes(value) !== true,
      ) ?? true,
  );
}

/** Says what a rule does, in one line. */
export function describeRule({ target, sample, budget, decisions: { scored, eligible } }: Rule): string {
  const rate = (sample as { readonly rate?: number }).rate ?? 1;
  const caps = Object.entries((budget ?? {}) as Readonly<Record<string, unknown>>).flatMap(([key, value]) =>
    typeof value === 'number' ? [`${formatUsd(value)} ${key.replace(/^per/u, 'per ').toLowerCase()}`] : [],
  );
  return [
    `${formatPercent(rate)} of ${target === 'trace' ? 'traces' : `${target}s`}`,
    ...caps,
    `${formatNumber(scored)} of ${formatNumber(eligible)} scored in 24 h`,
  ].join(' · ');
}

/** Says the outcome of a change of the configuration. */
export function describeApplied({
  applied,
  file,
  backup,
  reload,
  reason,
}: Writes['POST /config/apply']['reply']): string {
  if (!applied) {
    return reason === null ? '' : `Not written: ${reason}`;
  }
  const revision = reload === null ? '' : `, revision ${reload.revision}`;
  return `In force: ${file}${revision}.${backup === null ? '' : ` The former version is ${backup}.`}`;
}
