import type { Item } from '../api-types.ts';

export type Rule = Item<'/rules'>;

/** Writes a rule as YAML for the configuration. Values are written as JSON, which YAML reads, too. */
export function ruleYaml({ rule, target, scorers, where, sample, budget }: Rule): string {
  const lines = [
    `name: ${JSON.stringify(rule)}`,
    ...(target === 'trace' ? [] : [`target: ${target}`]),
    `scorers: ${JSON.stringify(scorers)}`,
    ...(isEmpty(where) ? [] : [`where: ${JSON.stringify(where)}`]),
    ...(isEmpty(sample) ? [] : [`sample: ${JSON.stringify(sample)}`]),
    ...(budget === null ? [] : [`budget: ${JSON.stringify(budget)}`]),
  ];
  return ['rules:', ...lines.map((line, index) => `  ${index === 0 ? '- ' : '  '}${line}`)].join('\n');
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
