import { alertIssues } from './alert-checks.ts';
import type { ConfigIssue } from '../faults/config-issue.ts';
import type { KnownScorer } from '../default-rule.ts';
import { durationMs } from '../duration.ts';
import { isLoopbackHost, parseEndpoint } from '../addresses/endpoint.ts';
import { budgetIssues } from './judge-checks.ts';
import { foreignSpansIssues } from './foreign-spans-checks.ts';
import type { KeyPath } from '../key-path.ts';
import { listEndpoints } from '../addresses/listen-endpoints.ts';
import { nearest } from '../../domain/nearest.ts';
import { entryIssues, scorerIssues } from './scorer-checks.ts';
import type { Config } from '../schema.ts';
import { type Components, listReceivers, type ReceiverSection } from '../schema/components.ts';
import { REDACTION_PATTERNS } from '../schema/judges.ts';
import { DEFAULT_CATCH_UP } from '../schema/scoring.ts';

/** Providers that work without an entry. */
const BUILT_IN_PROVIDERS = ['openai'];

/** Reports faults between keys: names that refer to nothing, and values that exclude each other. */
export function crossIssues(
  config: Config,
  {
    known,
    components: { receivers, channels },
  }: { known: readonly KnownScorer[] | undefined; components: Components },
): ConfigIssue[] {
  return [
    ...ruleIssues(config, known),
    ...entryIssues(config, known),
    ...judgeIssues(config),
    ...budgetIssues(config, known),
    ...redactionIssues(config),
    ...timeIssues(config),
    ...foreignSpansIssues(config, receivers),
    ...tokenIssues(config),
    ...addressIssues(config, receivers),
    ...receiverIssues(config, receivers),
    ...limitIssues(config),
    ...alertIssues(config, channels),
  ];
}

/** Reports tokens of one name, which would share a limit and an author in the audit, and of one secret, which would open two tenants. */
function tokenIssues({ auth: { tokens } }: Config): ConfigIssue[] {
  const messages = {
    name: 'another token has this name too; give each token a different name',
    token: 'another entry has the same token; give each entry a token of its own',
  };
  return (['name', 'token'] as const).flatMap((key) =>
    tokens.flatMap((entry, index) => {
      const first = tokens.findIndex((other) => other[key] === entry[key]);
      const path = ['auth', 'tokens', index, key];
      return first === index
        ? []
        : [{ path, message: messages[key], dependsOn: [['auth', 'tokens', first, key]] }];
    }),
  );
}

function ruleIssues(config: Config, known: readonly KnownScorer[] | undefined): ConfigIssue[] {
  const names = new Map<string, number>();
  return config.rules.flatMap((rule, index) => {
    const first = names.get(rule.name);
    names.set(rule.name, first ?? index);
    const twin: ConfigIssue[] =
      first === undefined
        ? []
        : [
            {
              path: ['rules', index, 'name'],
              message: `another rule has the name ${rule.name} too; give each rule a different name`,
              dependsOn: [['rules', first, 'name']],
            },
          ];
    const scorers = rule.scorers.flatMap((name, position): ConfigIssue[] => {
      const path = ['rules', index, 'scorers', position];
      return rule.scorers.indexOf(name) < position
        ? [{ path, message: `${name} is listed twice in this rule; remove one` }]
        : scorerIssues(name, path, config, known);
    });
    return [...twin, ...scorers];
  });
}

function judgeIssues(config: Config): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const { providers } = config.judges;
  for (const [name, provider] of Object.entries(providers)) {
    if (provider.baseURL === undefined && !BUILT_IN_PROVIDERS.includes(name)) {
      issues.push({
        path: ['judges', 'providers', name],
        message: 'needs a baseURL, like http://127.0.0.1:11434/v1',
      });
    }
  }
  const models: [KeyPath, string | undefined][] = [
    [['judges', 'default'], config.judges.default],
    ...Object.keys(config.judges.options).map((judge): [KeyPath, string] => [
      ['judges', 'options', judge],
      judge,
    ]),
    ...Object.entries(config.scorers).map(([name, entry]): [KeyPath, string | undefined] => [
      ['scorers', name, 'judge'],
      entry.judge,
    ]),
  ];
  for (const [path, model] of models) {
    const provider = model?.split('/')[0];
    const names = [...Object.keys(providers), ...BUILT_IN_PROVIDERS];
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

function redactionIssues(config: Config): ConfigIssue[] {
  return config.redaction.patterns.flatMap((pattern, index) => {
    const path = ['redaction', 'patterns', index];
    if ((REDACTION_PATTERNS as readonly string[]).includes(pattern)) {
      return [];
    }
    if (/^[a-z][a-z0-9-]*$/.test(pattern)) {
      const meant = nearest(pattern, REDACTION_PATTERNS);
      const hint =
        meant === undefined
          ? `the patterns are ${REDACTION_PATTERNS.join(', ')}; to hide this word itself, write "(?:${pattern})"`
          : `did you mean ${meant}?`;
      return [{ path, message: `there is no pattern named ${pattern}; ${hint}` }];
    }
    try {
      return new RegExp(pattern, 'u').test('')
        ? [
            {
              path,
              message:
                'matches empty text, so it would hide nothing or everything; write a pattern that matches at least one character',
            },
          ]
        : [];
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      return [{ path, message: `not a regular expression: ${reason}` }];
    }
  });
}

function timeIssues(config: Config): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const { retention } = config.store;
  if (durationMs(retention.spans) > durationMs(retention.scores)) {
    issues.push({
      path: ['store', 'retention', 'spans'],
      message: `must not exceed retention.scores (${retention.scores}): a trace without its old decisions would be scored again`,
      dependsOn: [['store', 'retention', 'scores']],
    });
  }
  const { catchUp } = config.scoring;
  // The default is cut to the retention.
  if (catchUp !== DEFAULT_CATCH_UP && durationMs(catchUp) > durationMs(retention.spans)) {
    issues.push({
      path: ['scoring', 'catchUp'],
      message: `must not exceed store.retention.spans (${retention.spans}): the spans of a trace are deleted then`,
      dependsOn: [['store', 'retention', 'spans']],
    });
  }
  if (durationMs(config.readiness.decisionWait) > durationMs(config.readiness.maxWait)) {
    issues.push({
      path: ['readiness', 'decisionWait'],
      message: `must not exceed readiness.maxWait (${config.readiness.maxWait})`,
      dependsOn: [['readiness', 'maxWait']],
    });
  }
  const { session } = config.readiness;
  if (durationMs(session.idle) > durationMs(session.maxAge)) {
    issues.push({
      path: ['readiness', 'session', 'idle'],
      message: `must not exceed readiness.session.maxAge (${session.maxAge})`,
      dependsOn: [['readiness', 'session', 'maxAge']],
    });
  }
  return issues;
}

function addressIssues(config: Config, receivers: readonly ReceiverSection[]): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  if (config.store.url !== undefined && config.store.port !== undefined) {
    issues.push({
      path: ['store', 'port'],
      message: 'belongs to the embedded engine, but store.url names a server; remove one of the two',
      dependsOn: [['store', 'url']],
    });
  }
  if (config.store.replicated && config.store.url === undefined) {
    issues.push({
      path: ['store', 'replicated'],
      message: 'the embedded engine has no replicas; set store.url, or remove store.replicated',
      dependsOn: [['store', 'url']],
    });
  }
  const api = parseEndpoint(config.api.endpoint);
  if (!isLoopbackHost(api.host) && config.auth.tokens.length === 0) {
    issues.push({
      path: ['api', 'endpoint'],
      message: `other machines can reach ${api.host}, and no tokens are set: add auth.tokens, or listen on 127.0.0.1`,
      dependsOn: [['auth', 'tokens']],
    });
  }
  return [...issues, ...sharedPortIssues(config, receivers)];
}

/** Reports addresses with the same port: each address needs its own. */
function sharedPortIssues(config: Config, receivers: readonly ReceiverSection[]): ConfigIssue[] {
  const listening: [KeyPath, string][] = [
    ...listEndpoints(config, receivers).map(({ path, endpoint }): [KeyPath, string] => [
      [...path, 'endpoint'],
      endpoint,
    ]),
    ...(config.store.port === undefined
      ? []
      : [[['store', 'port'], `127.0.0.1:${config.store.port}`] satisfies [KeyPath, string]]),
  ];
  return listening.flatMap(([path, address], index) => {
    const other = listening.slice(0, index).find(([, earlier]) => earlier === address);
    return other === undefined || parseEndpoint(address).port === 0
      ? []
      : [
          {
            path,
            message: `is the same as ${other[0].join('.')}; give them different ports`,
            dependsOn: [other[0]],
          },
        ];
  });
}

/** Reports the faults that receivers find in their own options. */
function receiverIssues(config: Config, receivers: readonly ReceiverSection[]): ConfigIssue[] {
  return listReceivers(config, receivers).flatMap(({ section, path, options }) =>
    (section.findFaults?.(options) ?? []).map((fault) => ({ ...fault, path: [...path, ...fault.path] })),
  );
}

/** Reports limits under which an allowed request would never fit. */
function limitIssues({ ingest: { limits } }: Config): ConfigIssue[] {
  return limits.requestBytes <= limits.inFlightBytes
    ? []
    : [
        {
          path: ['ingest', 'limits', 'requestBytes'],
          message: `must not exceed ingest.limits.inFlightBytes (${limits.inFlightBytes})`,
          dependsOn: [['ingest', 'limits', 'inFlightBytes']],
        },
      ];
}
