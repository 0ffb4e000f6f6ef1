import { createHash } from 'node:crypto';
import { createAddressPolicy } from '../../config/private-addresses.ts';
import { createGuardedPost } from '../http/guarded-post.ts';
import type { AlertChannel, AlertLinks, ChannelDeps } from './alert-channel.ts';
import { createAlertmanagerChannel } from './alertmanager-channel.ts';
import { createPagerDutyChannel } from './pagerduty-channel.ts';
import { createSlackChannel } from './slack-channel.ts';
import { createWebhookChannel } from './webhook-channel.ts';

/** Alert receivers of the configuration. */
export interface AlertTargets extends AlertLinks {
  readonly alertmanager: readonly string[];
  readonly webhook: readonly { name?: string | undefined; url: string; secret?: string | undefined }[];
  readonly slack: readonly { name?: string | undefined; url: string }[];
  readonly pagerduty: readonly { name?: string | undefined; routingKey: string; url: string }[];
  /** Private addresses and networks that requests may go to. */
  readonly allowAddresses: readonly string[];
}

/** Longest time of one attempt, milliseconds. */
const TIMEOUT_MS = 10_000;

export function alertmanagerChannels(targets: AlertTargets): AlertChannel[] {
  return targets.alertmanager.map((url) =>
    createAlertmanagerChannel(
      { ...buildLinks(targets), name: nameChannel('alertmanager', undefined, url), url },
      // An Alertmanager usually runs in the same private network.
      buildDependencies(url, { allowed: targets.allowAddresses, inside: true }),
    ),
  );
}

export function webhookChannels(targets: AlertTargets): AlertChannel[] {
  return targets.webhook.map(({ name, url, secret }) =>
    createWebhookChannel(
      { ...buildLinks(targets), name: nameChannel('webhook', name, url), url, secret },
      buildDependencies(url, { allowed: targets.allowAddresses, inside: false }),
    ),
  );
}

export function slackChannels(targets: AlertTargets): AlertChannel[] {
  return targets.slack.map(({ name, url }) =>
    createSlackChannel(
      { ...buildLinks(targets), name: nameChannel('slack', name, url), url },
      buildDependencies(url, { allowed: targets.allowAddresses, inside: false }),
    ),
  );
}

export function pagerDutyChannels(targets: AlertTargets): AlertChannel[] {
  return targets.pagerduty.map(({ name, routingKey, url }) =>
    createPagerDutyChannel(
      { ...buildLinks(targets), name: nameChannel('pagerduty', name, routingKey), routingKey, url },
      buildDependencies(url, { allowed: targets.allowAddresses, inside: false }),
    ),
  );
}

function buildLinks({ traceUrl }: AlertTargets): AlertLinks {
  return { traceUrl };
}

/** Names a channel by its kind and its configured name, or by a hash of its address, which may be a secret. */
function nameChannel(kind: string, name: string | undefined, target: string): string {
  return `${kind}-${name ?? createHash('sha256').update(target).digest('hex').slice(0, 8)}`;
}

function buildDependencies(url: string, where: { allowed: readonly string[]; inside: boolean }): ChannelDeps {
  const permits = createAddressPolicy(new URL(url), where);
  return { post: createGuardedPost({ permits, timeoutMs: TIMEOUT_MS }), now: Date.now };
}
