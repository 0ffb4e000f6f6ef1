import type { BudgetCaps } from '../../domain/money/budget.ts';
import {
  isOwnHost,
  JUDGE_KIND_NAMES,
  judgeKindOf,
  missingPackage,
  OPENAI_COMPATIBLE,
} from '../../domain/judge-kinds.ts';
import { nearest } from '../../domain/nearest.ts';
import { findPrice, unpricedBudget } from '../../domain/money/model-prices.ts';
import { findPackage } from '../judge-packages.ts';
import { type KeyPath, showPath } from '../key-path.ts';
import { isOwnNetwork } from '../addresses/private-addresses.ts';
import type { ConfigIssue } from '../faults/config-issue.ts';
import type { Known } from './scorer-checks.ts';
import type { Config } from '../schema.ts';

/** Reports providers without an address, and judges of no provider. */
export function judgeIssues(config: Config): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const { providers } = config.judges;
  for (const [name, provider] of Object.entries(providers)) {
    if (provider.baseURL === undefined && judgeKindOf(name, provider) === OPENAI_COMPATIBLE) {
      issues.push({
        path: ['judges', 'providers', name],
        message: 'needs a baseURL, like http://127.0.0.1:11434/v1, or use: the kind of the provider',
      });
    }
    issues.push(...misspelledSettings(name, provider));
  }
  const models: [KeyPath, string | undefined][] = [
    [['judges', 'default'], config.judges.default],
    ...Object.keys(config.judges.options).map((judge): [KeyPath, string] => [
      ['judges', 'options', judge],
      judge,
    ]),
    ...Object.entries(config.scorers).flatMap(([name, entry]): [KeyPath, string | undefined][] => [
      [['scorers', name, 'judge'], entry.judge],
      ...(entry.cascade?.judges ?? []).map((judge, index): [KeyPath, string] => [
        ['scorers', name, 'cascade', 'judges', index],
        judge,
      ]),
    ]),
  ];
  for (const [path, model] of models) {
    const provider = model?.split('/')[0];
    const names = [
      ...Object.keys(providers),
      ...JUDGE_KIND_NAMES.filter((kind) => kind !== OPENAI_COMPATIBLE.name),
    ];
    if (provider !== undefined && !names.includes(provider)) {
      const meant = nearest(provider, names);
      const hint =
        meant === undefined ? `add judges.providers.${provider} with its baseURL` : `did you mean ${meant}?`;
      issues.push({
        path,
        message: `there is no judge provider ${provider}; ${hint}`,
        dependsOn: [['judges', 'providers', provider]],
      });
    }
  }
  return issues;
}

/** Settings of an entry that spanscore reads itself, or that most packages have. */
const SETTINGS = [
  'baseURL',
  'apiKey',
  'headers',
  'concurrency',
  'requestsPerMinute',
  'tokensPerMinute',
  'settings',
  'package',
  'export',
];

/** Reports settings that look like a known one: a package ignores a setting that it does not know. */
function misspelledSettings(name: string, provider: object): ConfigIssue[] {
  return Object.keys(provider).flatMap((key) => {
    const meant = SETTINGS.find((known) => known !== key && known.toLowerCase() === key.toLowerCase());
    return meant === undefined
      ? []
      : [{ path: ['judges', 'providers', name, key], message: `unknown key; did you mean ${meant}?` }];
  });
}

/**
 * Returns the judges of a scorer in a rule, as far as the configuration shows them; none for a scorer without a judge.
 */
function listScorerJudges(
  name: string,
  { scorers, judges }: Pick<Config, 'scorers' | 'judges'>,
  known: Known,
): string[] {
  const entry = Object.hasOwn(scorers, name) ? scorers[name] : undefined;
  const prebuilt = known?.find((scorer) => scorer.name === (entry?.use ?? name));
  const isPrebuilt = entry?.module === undefined && prebuilt?.needsJudge === true;
  const judge = entry?.judge ?? (isPrebuilt ? judges.default : undefined);
  return (
    entry?.cascade?.judges ??
    (judge === undefined || (entry?.module === undefined && !isPrebuilt) ? [] : [judge])
  );
}

/** Returns each judge that a rule uses, or that names issues, once. */
export function judgesInUse(config: Config, known: Known): string[] {
  const names = config.rules.flatMap((rule) =>
    rule.scorers.flatMap((scorer) => listScorerJudges(scorer, config, known)),
  );
  return [...new Set([...names, ...listNamingJudges(config)])];
}

function listNamingJudges({ issues, judges }: Config): string[] {
  return issues.name === 'judge' && judges.default !== undefined ? [judges.default] : [];
}

/** Reports budgets that cannot be kept, because a judge has no known price. */
export function budgetIssues(config: Config, known: Known): ConfigIssue[] {
  const shared = findSharedBudget(config.budgets);
  const payers = config.rules.map((rule, index) => ({
    path: rule.budget === undefined ? shared : ['rules', index, 'budget'],
    judges: rule.scorers.flatMap((name) => listScorerJudges(name, config, known)),
  }));
  return [...payers, { path: shared, judges: listNamingJudges(config) }].flatMap(({ path, judges }) => {
    if (path === undefined) {
      return [];
    }
    return [...new Set(judges)]
      .filter((judge) => findPrice(judge, config.judges.prices) === undefined)
      .map((judge) => ({
        path,
        message: unpricedBudget(judge),
        dependsOn: [
          ['judges', 'prices', judge],
          ['judges', 'default'],
        ],
      }));
  });
}

/** Returns the path of a budget that calls of every rule may need; undefined without one. */
function findSharedBudget({ total, tenants }: Config['budgets']): KeyPath | undefined {
  if (total !== undefined) {
    return ['budgets', 'total'];
  }
  const [tenant] = Object.keys(tenants);
  return tenant === undefined ? undefined : ['budgets', 'tenants', tenant];
}

export function judgeWarnings(
  config: Config,
  known: Known,
  variables: Readonly<Record<string, string | undefined>>,
): string[] {
  return [
    ...openJudges(config),
    ...missingPackages(config, known),
    ...missingKeys(config, known, variables),
    ...uselessLimits(config),
    ...uselessOptions(config),
  ];
}

/** Returns warnings about limits of a day that the limit of the month makes useless. */
function uselessLimits({ rules, budgets }: Config): string[] {
  const all: [string, BudgetCaps | undefined][] = [
    ...rules.map(({ name, budget }): [string, BudgetCaps | undefined] => [`rule ${name}: budget`, budget]),
    ['budgets.total', budgets.total],
    ...Object.entries(budgets.tenants).map(([name, caps]): [string, BudgetCaps] => [
      `budgets.tenants.${name}`,
      caps,
    ]),
  ];
  return all.flatMap(([name, { perDay, perMonth } = {}]) =>
    perDay !== undefined && perMonth !== undefined && perDay > perMonth
      ? [
          `${name}: perDay (${perDay} USD) is above perMonth (${perMonth} USD), so it limits nothing: lower perDay or remove it`,
        ]
      : [],
  );
}

/**
 * Returns warnings about options of judges that no scorer names. A module without a judge may name any judge in its file.
 */
function uselessOptions({ judges, scorers }: Config): string[] {
  const entries = Object.values(scorers);
  if (entries.some(({ module, judge }) => module !== undefined && judge === undefined)) {
    return [];
  }
  const named = [judges.default, ...entries.flatMap(({ judge, cascade }) => cascade?.judges ?? judge)].filter(
    (name) => name !== undefined,
  );
  return Object.keys(judges.options)
    .filter((name) => !named.includes(name))
    .map((name) => {
      const meant = nearest(name, named);
      const hint = meant === undefined ? 'remove it' : `did you mean ${meant}?`;
      return `${showPath(['judges', 'options', name])} changes nothing, because no scorer has this judge: ${hint}`;
    });
}

/** Returns warnings about judges that are asked over the internet without TLS. */
function openJudges({ judges: { providers } }: Config): string[] {
  return Object.entries(providers).flatMap(([name, { baseURL, apiKey }]) => {
    const url = URL.parse(baseURL ?? '');
    const sent = apiKey === undefined ? 'conversations travel' : 'its key and conversations travel';
    return url?.protocol !== 'http:' || isOwnNetwork(url.hostname)
      ? []
      : [`judges.providers.${name}.baseURL: ${sent} to ${url.host} in clear text: use https`];
  });
}

/** Returns warnings about judges on the internet without a key. A server in the user's own network needs no key. */
function missingKeys(
  config: Config,
  known: Known,
  variables: Readonly<Record<string, string | undefined>>,
): string[] {
  return listUsedProviders(config, known).flatMap(({ name, judge, kind, entry }) => {
    const address = entry?.baseURL ?? kind.baseURL ?? '';
    const host = URL.parse(address)?.hostname ?? '';
    const hasKey = kind.keys.some((key) => entry?.[key] !== undefined) || entry?.headers !== undefined;
    if (hasKey || host === '' || isOwnNetwork(host)) {
      return [];
    }
    if (!isOwnHost(kind, address)) {
      return [
        `the judge ${judge} is called at ${host} without a key: set judges.providers.${name}.apiKey if it needs one`,
      ];
    }
    return kind.keyVariable === undefined || variables[kind.keyVariable]
      ? []
      : [
          `the judge ${judge} has no key, so every call will be refused: set ${kind.keyVariable} or judges.providers.${name}.apiKey`,
        ];
  });
}

/** Returns the providers of the judges that rules use, each with one of its judges. */
function listUsedProviders(config: Config, known: Known) {
  const judges = new Map(judgesInUse(config, known).map((judge) => [judge.split('/')[0] ?? '', judge]));
  const { providers } = config.judges;
  return [...judges].flatMap(([name, judge]) => {
    const entry = Object.hasOwn(providers, name) ? providers[name] : undefined;
    const kind = judgeKindOf(name, entry);
    return kind === undefined ? [] : [{ name, judge, kind, entry }];
  });
}

/** Returns warnings about packages of providers that are not installed. No package is loaded. */
function missingPackages(config: Config, known: Known): string[] {
  return listUsedProviders(config, known).flatMap(({ name, kind }) =>
    kind.isBuiltIn === true || findPackage(kind.package, config.judges.packagesFrom) !== undefined
      ? []
      : [missingPackage(name, kind)],
  );
}
