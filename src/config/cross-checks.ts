import { alertIssues } from './alert-checks.ts';
import type { ConfigIssue } from './config-issue.ts';
import type { KnownScorer } from './default-rule.ts';
import { durationMs } from './duration.ts';
import { isLoopbackHost, parseEndpoint } from './endpoint.ts';
import { foreignSpansIssues } from './foreign-spans-checks.ts';
import { forwardIssues } from './forward-checks.ts';
import { budgetIssues } from './judge-checks.ts';
import type { KeyPath } from './key-path.ts';
import { nearest } from '../domain/nearest.ts';
import type { Config } from './schema.ts';
import { REDACTION_PATTERNS } from './schema/judges.ts';

/** Providers that need no entry. */
const BUILT_IN_PROVIDERS = ['openai'];

/** What one key alone cannot show: names that refer to something, values that exclude each other, features to come. */
export function crossIssues(config: Config, known: readonly KnownScorer[] | undefined): ConfigIssue[] {
  return [
    ...notInThisVersion(config),
    ...ruleIssues(config, known),
    ...judgeIssues(config),
    ...budgetIssues(config, known),
    ...redactionIssues(config),
    ...timeIssues(config),
    ...foreignSpansIssues(config),
    ...forwardIssues(config),
    ...addressIssues(config),
    ...kafkaIssues(config),
    ...limitIssues(config),
    ...alertIssues(config),
  ];
}

/** Features of later versions whose silent absence would lose data or alarms. */
function notInThisVersion(config: Config): ConfigIssue[] {
  return config.rules.flatMap((rule, index) =>
    rule.target === 'session' || rule.target === 'model-call'
      ? [
          {
            path: ['rules', index, 'target'],
            message: `scoring a ${rule.target} is not in this version; remove the key`,
          },
        ]
      : [],
  );
}

function ruleIssues(config: Config, known: readonly KnownScorer[] | undefined): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const names = new Set<string>();
  for (const [index, rule] of config.rules.entries()) {
    if (names.has(rule.name)) {
      issues.push({ path: ['rules', index, 'name'], message: `another rule is named ${rule.name} too` });
    }
    names.add(rule.name);
    const seen = new Set<string>();
    for (const [position, name] of rule.scorers.entries()) {
      const path = ['rules', index, 'scorers', position];
      const message = seen.has(name) ? `${name} stands twice in this rule` : scorerFault(name, config, known);
      seen.add(name);
      issues.push(...(message === undefined ? [] : [{ path, message }]));
    }
  }
  for (const [name, entry] of Object.entries(config.scorers)) {
    if (
      entry.use !== undefined &&
      known !== undefined &&
      !known.some((scorer) => scorer.name === entry.use)
    ) {
      issues.push({ path: ['scorers', name, 'use'], message: unknownScorer(entry.use, known) });
    }
  }
  return issues;
}

function scorerFault(
  name: string,
  config: Config,
  known: readonly KnownScorer[] | undefined,
): string | undefined {
  const entry = Object.hasOwn(config.scorers, name) ? config.scorers[name] : undefined;
  const prebuilt = known?.find((scorer) => scorer.name === (entry?.use ?? name));
  if (entry === undefined && prebuilt === undefined) {
    return known === undefined ? undefined : unknownScorer(name, known, Object.keys(config.scorers));
  }
  const judge = entry?.judge ?? config.judges.default;
  return prebuilt?.needsJudge === true && judge === undefined
    ? `${name} needs a judge: set judges.default (or SPANSCORE_JUDGE) to provider/model`
    : undefined;
}

function unknownScorer(name: string, known: readonly KnownScorer[], own: readonly string[] = []): string {
  const names = [...known.map((scorer) => scorer.name), ...own];
  const meant = nearest(name, names);
  return meant === undefined
    ? `there is no scorer ${name}; there are ${names.join(', ')}`
    : `there is no scorer ${name}; did you mean ${meant}?`;
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
      issues.push({ path, message: `there is no judge provider ${provider}; ${hint}` });
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
          ? `there are ${REDACTION_PATTERNS.join(', ')}; for the word itself write "(?:${pattern})"`
          : `did you mean ${meant}?`;
      return [{ path, message: `there is no pattern named ${pattern}; ${hint}` }];
    }
    try {
      return new RegExp(pattern, 'u').test('')
        ? [{ path, message: 'matches the empty text, so it would hide nothing or everything' }]
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
      message: `must not exceed retention.scores (${retention.scores}): a trace that outlives its decisions would be scored again`,
    });
  }
  if (durationMs(config.readiness.decisionWait) > durationMs(config.readiness.maxWait)) {
    issues.push({
      path: ['readiness', 'decisionWait'],
      message: `must not exceed readiness.maxWait (${config.readiness.maxWait})`,
    });
  }
  return issues;
}

function addressIssues(config: Config): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  if (config.store.url !== undefined && config.store.port !== undefined) {
    issues.push({
      path: ['store', 'port'],
      message: 'is of the embedded engine, and store.url names a server instead of it; remove one of the two',
    });
  }
  const api = parseEndpoint(config.api.endpoint);
  if (!isLoopbackHost(api.host) && config.auth.tokens.length === 0) {
    issues.push({
      path: ['api', 'endpoint'],
      message: `${api.host} can be reached from other machines, and no tokens are set: add auth.tokens, or listen on 127.0.0.1`,
    });
  }
  return [...issues, ...sharedPortIssues(config)];
}

/** Every address listens for itself. */
function sharedPortIssues(config: Config): ConfigIssue[] {
  const { http, grpc } = config.receivers.otlp;
  const listening: [KeyPath, string][] = [
    [['receivers', 'otlp', 'http', 'endpoint'], http.endpoint],
    [['receivers', 'otlp', 'grpc', 'endpoint'], grpc.endpoint],
    [['api', 'endpoint'], config.api.endpoint],
    ...(config.store.port === undefined
      ? []
      : [[['store', 'port'], `127.0.0.1:${config.store.port}`] satisfies [KeyPath, string]]),
  ];
  return listening.flatMap(([path, address], index) => {
    const other = listening.slice(0, index).find(([, earlier]) => earlier === address);
    return other === undefined || parseEndpoint(address).port === 0
      ? []
      : [{ path, message: `is the same as ${other[0].join('.')}; give them different ports` }];
  });
}

function kafkaIssues({ receivers: { kafka } }: Config): ConfigIssue[] {
  const issues: ConfigIssue[] = (kafka?.logTopics ?? []).flatMap((topic, index) =>
    kafka?.topics.includes(topic) === true
      ? [
          {
            path: ['receivers', 'kafka', 'logTopics', index],
            message: `${topic} is in receivers.kafka.topics too; a topic holds either traces or logs`,
          },
        ]
      : [],
  );
  if ((kafka?.tls?.cert === undefined) !== (kafka?.tls?.key === undefined)) {
    issues.push({
      path: ['receivers', 'kafka', 'tls'],
      message: 'cert and key are given together or not at all',
    });
  }
  return issues;
}

/** Requests that could never be taken, however often they are sent. */
function limitIssues({ ingest: { limits } }: Config): ConfigIssue[] {
  return limits.requestBytes <= limits.inFlightBytes
    ? []
    : [
        {
          path: ['ingest', 'limits', 'requestBytes'],
          message: `must not exceed ingest.limits.inFlightBytes (${limits.inFlightBytes})`,
        },
      ];
}
