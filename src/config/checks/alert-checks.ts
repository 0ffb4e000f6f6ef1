import { createAddressPolicy, writtenAddress } from '../private-addresses.ts';
import type { ConfigIssue } from '../faults/config-issue.ts';
import type { KeyPath } from '../key-path.ts';
import type { Config } from '../schema.ts';

interface Target {
  readonly path: KeyPath;
  readonly url: string;
  /** Identity of the receiver; two receivers of one kind must differ. */
  readonly identity: string;
  /** True when the receiver has a configured name. */
  readonly hasName: boolean;
  readonly inside: boolean;
}

/** Reports alert receivers with the same identity, and receivers with a forbidden address. */
export function alertIssues({ alerts }: Config): ConfigIssue[] {
  const kinds: Target[][] = [
    alerts.alertmanager.map((url, index) => ({
      path: ['alerts', 'alertmanager', index],
      url,
      identity: url,
      hasName: false,
      inside: true,
    })),
    ...(['webhook', 'slack'] as const).map((kind) =>
      alerts[kind].map(({ name, url }, index) => ({
        path: ['alerts', kind, index, name === undefined ? 'url' : 'name'],
        url,
        identity: name ?? url,
        hasName: name !== undefined,
        inside: false,
      })),
    ),
    alerts.pagerduty.map(({ name, routingKey, url }, index) => ({
      path: ['alerts', 'pagerduty', index, name === undefined ? 'routingKey' : 'name'],
      url,
      identity: name ?? routingKey,
      hasName: name !== undefined,
      inside: false,
    })),
  ];
  return kinds.flatMap((targets) => [
    ...targets.flatMap((target, index) => doubleIssues(target, targets.slice(0, index))),
    ...targets.flatMap((target) => addressIssues(target, alerts.allowAddresses)),
  ]);
}

function doubleIssues({ path, identity, hasName }: Target, earlier: readonly Target[]): ConfigIssue[] {
  return earlier.some((other) => other.identity === identity)
    ? [
        {
          path,
          message: hasName
            ? 'another channel of this kind has this name; give each a different name'
            : 'is configured twice; remove one, or name both',
        },
      ]
    : [];
}

function addressIssues({ path, url, inside }: Target, allowed: readonly string[]): ConfigIssue[] {
  const parsed = new URL(url);
  const address = writtenAddress(parsed);
  if (address === undefined || createAddressPolicy(parsed, { allowed, inside })(address)) {
    return [];
  }
  const message = `${address} is a private address; add it to alerts.allowAddresses if it is meant`;
  return [{ path: path.slice(0, 3), message }];
}
