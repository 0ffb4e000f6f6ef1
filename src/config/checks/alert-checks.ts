import { createAddressPolicy, writtenAddress } from '../addresses/private-addresses.ts';
import type { ConfigIssue } from '../faults/config-issue.ts';
import type { KeyPath } from '../key-path.ts';
import type { Config } from '../schema.ts';
import { type ChannelSection, readOptions } from '../schema/components.ts';

interface Target {
  readonly path: KeyPath;
  readonly url: string;
  /** Identity of the receiver; two receivers of one kind must differ. */
  readonly identity: string;
  /** True when the receiver has a configured name. */
  readonly hasName: boolean;
}

/** Reports alert receivers with the same identity, and receivers with a forbidden address. */
export function alertIssues({ alerts }: Config, channels: readonly ChannelSection[]): ConfigIssue[] {
  return channels.flatMap((channel) => {
    const targets = listTargets(channel, readOptions(alerts, channel.name) as readonly unknown[]);
    const addresses = { allowed: alerts.allowAddresses, inside: channel.mayBePrivate };
    return [
      ...targets.flatMap((target, index) => doubleIssues(target, targets.slice(0, index))),
      ...targets.flatMap((target) => addressIssues(target, addresses)),
    ];
  });
}

function listTargets(channel: ChannelSection, entries: readonly unknown[]): Target[] {
  return entries.map((entry, index) => {
    const { url, name, identity } = channel.readTarget(entry);
    const key = name === undefined ? identity.key : 'name';
    return {
      path: ['alerts', channel.name, index, ...(key === undefined ? [] : [key])],
      url,
      identity: name ?? identity.value,
      hasName: name !== undefined,
    };
  });
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

function addressIssues(
  { path, url }: Target,
  addresses: { readonly allowed: readonly string[]; readonly inside: boolean },
): ConfigIssue[] {
  const parsed = new URL(url);
  const address = writtenAddress(parsed);
  if (address === undefined || createAddressPolicy(parsed, addresses)(address)) {
    return [];
  }
  const message = `${address} is a private address; add it to alerts.allowAddresses if it is meant`;
  return [{ path: path.slice(0, 3), message }];
}
