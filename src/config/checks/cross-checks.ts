import { DAY_MS } from '../../domain/durations.ts';
import { findJudgeFault } from '../../domain/judge-kinds.ts';
import { nearest } from '../../domain/nearest.ts';
import { isLoopbackHost, parseEndpoint } from '../addresses/endpoints.ts';
import { createAddressPolicy, writtenAddress } from '../addresses/private-addresses.ts';
import { type ConfigIssue, issueIf } from '../faults/config-issue.ts';
import { type KeyPath, toPath } from '../key-path.ts';
import type { Config } from '../schema.ts';
import {
  type ChannelSection,
  type Components,
  listConfiguredOnly,
  listEndpoints,
  listReceivers,
  readOptions,
  type ReceiverSection,
} from '../schema/components.ts';
import { REDACTION_PATTERNS } from '../schema/judges.ts';
import { DEFAULT_CATCH_UP } from '../schema/scoring.ts';
import { LABEL_KINDS } from '../schema/sources.ts';
import { durationMs } from '../units.ts';
import { budgetIssues, judgeIssues } from './judge-checks.ts';
import { entryIssues, type Known, ruleIssues } from './scorer-checks.ts';

/** Reports faults between keys: names that refer to nothing, and values that exclude each other. */
export function crossIssues(
  config: Config,
  { known, components: { receivers, channels } }: { known: Known; components: Components },
): ConfigIssue[] {
  return [
    ...ruleIssues(config, known),
    ...entryIssues(config, known),
    ...judgeIssues(config),
    ...budgetIssues(config, known),
    ...namingIssues(config),
    ...redactionIssues(config),
    ...contradictions(config),
    ...foreignSpansIssues(config, receivers),
    ...tokenIssues(config),
    ...sharedPortIssues(config, receivers),
    ...receiverIssues(config, receivers),
    ...alertIssues(config, channels),
    ...labelIssues(config),
  ];
}

/** Reports titles by a judge where there is none that writes text. */
function namingIssues({ issues, judges }: Config): ConfigIssue[] {
  const message = findJudgeFault('naming', { needsJudge: issues.name === 'judge' }, judges.default, judges);
  return message === undefined
    ? []
    : [{ path: ['issues', 'name'], message, dependsOn: [['judges', 'default']] }];
}

/** Reports values that exclude each other: the one to change, and the one that it contradicts. */
function contradictions({ store, scoring, readiness, api, auth, ingest }: Config): ConfigIssue[] {
  const { retention } = store;
  const { session } = readiness;
  const { limits } = ingest;
  const { host } = parseEndpoint(api.endpoint);
  const exceeds = (value: string, limit: string) => durationMs(value) > durationMs(limit);
  const rows: readonly (readonly [isFault: boolean, path: string, other: string, message: string])[] = [
    [
      exceeds(retention.spans, retention.scores),
      'store.retention.spans',
      'store.retention.scores',
      `must not exceed retention.scores (${retention.scores}): a trace without its old decisions would be scored again`,
    ],
    [
      // The default is cut to the retention.
      scoring.catchUp !== DEFAULT_CATCH_UP && exceeds(scoring.catchUp, retention.spans),
      'scoring.catchUp',
      'store.retention.spans',
      `must not exceed store.retention.spans (${retention.spans}): the spans of a trace are deleted then`,
    ],
    [
      exceeds(readiness.decisionWait, readiness.maxWait),
      'readiness.decisionWait',
      'readiness.maxWait',
      `must not exceed readiness.maxWait (${readiness.maxWait})`,
    ],
    [
      exceeds(session.idle, session.maxAge),
      'readiness.session.idle',
      'readiness.session.maxAge',
      `must not exceed readiness.session.maxAge (${session.maxAge})`,
    ],
    [
      store.url !== undefined && store.port !== undefined,
      'store.port',
      'store.url',
      'belongs to the embedded engine, but store.url names a server; remove one of the two',
    ],
    [
      store.replicated && store.url === undefined,
      'store.replicated',
      'store.url',
      'the embedded engine has no replicas; set store.url, or remove store.replicated',
    ],
    [
      !isLoopbackHost(host) && auth.tokens.length === 0,
      'api.endpoint',
      'auth.tokens',
      `other machines can reach ${host}, and no tokens are set: add auth.tokens, or listen on 127.0.0.1`,
    ],
    [
      // An allowed request would never fit.
      limits.requestBytes > limits.inFlightBytes,
      'ingest.limits.requestBytes',
      'ingest.limits.inFlightBytes',
      `must not exceed ingest.limits.inFlightBytes (${limits.inFlightBytes})`,
    ],
  ];
  return rows.flatMap(([isFault, path, other, message]) =>
    issueIf(isFault, toPath(path), message, toPath(other)),
  );
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
      return issueIf(first !== index, path, messages[key], ['auth', 'tokens', first, key]);
    }),
  );
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
      return issueIf(
        new RegExp(pattern, 'u').test(''),
        path,
        'matches empty text, so it would hide nothing or everything; write a pattern that matches at least one character',
      );
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      return [{ path, message: `not a regular expression: ${reason}` }];
    }
  });
}

/** Reports addresses with the same port: each address needs its own. */
function sharedPortIssues(config: Config, receivers: readonly ReceiverSection[]): ConfigIssue[] {
  const addresses: [KeyPath, string][] = [
    ...listEndpoints(config, receivers).map(({ path, endpoint }): [KeyPath, string] => [
      [...path, 'endpoint'],
      endpoint,
    ]),
    ...(config.store.port === undefined
      ? []
      : [[['store', 'port'], `127.0.0.1:${config.store.port}`] satisfies [KeyPath, string]]),
  ];
  const listening = addresses.filter(([, address]) => parseEndpoint(address).port !== 0);
  return listening.flatMap(([path, address], index) => {
    const first = listening.findIndex(([, earlier]) => earlier === address);
    const other = listening[first]?.[0] ?? path;
    return issueIf(
      first < index,
      path,
      `is the same as ${other.join('.')}; give them different ports`,
      other,
    );
  });
}

function receiverIssues(config: Config, receivers: readonly ReceiverSection[]): ConfigIssue[] {
  return listReceivers(config, receivers).flatMap(({ section, path, options }) =>
    (section.findFaults?.(options) ?? []).map((fault) => ({ ...fault, path: [...path, ...fault.path] })),
  );
}

/** Reports names of `labels.from` that have no connection, or one without annotations of people. */
function labelIssues({ labels, sources, exporters }: Config): ConfigIssue[] {
  const isKnown = (name: string) =>
    LABEL_KINDS.some(
      (kind) =>
        sources[name]?.[kind] !== undefined ||
        (sources[name] === undefined && name === kind && readOptions(exporters, kind) !== undefined),
    );
  const message = `is neither a source nor an exporter of ${LABEL_KINDS.join(', ')}: add one with this name`;
  return labels.from.flatMap((name, index) => issueIf(!isKnown(name), ['labels', 'from', index], message));
}

/** Longest look-back. Arrivals are kept for three days, and a span must be known for its whole look-back. */
const LONGEST_LOOKBACK_MS = DAY_MS;

/** The tables of spanscore, which are read without `store.spans`. */
const OWN_TABLES = ['otel_traces', 'otel_logs'];

/** Reports keys that do not go together with foreign span tables. */
function foreignSpansIssues(
  { store, ...config }: Config,
  receivers: readonly ReceiverSection[],
): ConfigIssue[] {
  const { spans, database } = store;
  if (spans === undefined) {
    return [];
  }
  const lookbackMs = durationMs(spans.lookback);
  return [
    ...(['table', 'logs'] as const).flatMap((key) => {
      const table = spans[key] ?? '';
      const name = table.includes('.') ? table : `${database}.${table}`;
      return issueIf(
        OWN_TABLES.some((own) => name === `${database}.${own}`),
        ['store', 'spans', key],
        `${name} is a table of spanscore itself; name the database of the Collector's exporter, like otel.${table.split('.').at(-1)}, or remove store.spans`,
      );
    }),
    ...issueIf(
      lookbackMs <= 0 || lookbackMs > LONGEST_LOOKBACK_MS,
      ['store', 'spans', 'lookback'],
      'must be more than 0s and at most 24h',
    ),
    ...listConfiguredOnly(config, receivers).map(({ path }) => ({
      path,
      message: 'receivers do not run when store.spans names a table to read; remove one of the two',
    })),
    ...Object.keys(config.sources).map((name) => ({
      path: ['sources', name],
      message: 'sources are not read when store.spans names a table to read; remove one of the two',
    })),
  ];
}

/** Reports alert receivers with the same identity, and receivers with a forbidden address. */
function alertIssues({ alerts }: Config, channels: readonly ChannelSection[]): ConfigIssue[] {
  return channels.flatMap((channel) => {
    const targets = (readOptions(alerts, channel.name) as readonly unknown[]).map((entry) =>
      channel.readTarget(entry),
    );
    const addresses = { allowed: alerts.allowAddresses, inside: channel.mayBePrivate };
    const identities = targets.map(({ name, identity }) => name ?? identity.value);
    return targets.flatMap(({ url, name, identity }, index): ConfigIssue[] => {
      const path = ['alerts', channel.name, index];
      const key = name === undefined ? identity.key : 'name';
      const isTwice = identities.indexOf(name ?? identity.value) < index;
      const parsed = new URL(url);
      const address = writtenAddress(parsed);
      const isForbidden = address !== undefined && !createAddressPolicy(parsed, addresses)(address);
      const twice =
        name === undefined
          ? 'is configured twice; remove one, or name both'
          : 'another channel of this kind has this name; give each a different name';
      return [
        ...issueIf(isTwice, key === undefined ? path : [...path, key], twice),
        ...issueIf(
          isForbidden,
          path,
          `${address} is a private address; add it to alerts.allowAddresses if it is meant`,
        ),
      ];
    });
  });
}
