import type { HttpReceiver } from './http-receiver.ts';

interface Body {
  readonly alerts: readonly ReceivedAlert[];
}

interface ReceivedAlert {
  readonly status: string;
  readonly fingerprint: string;
  readonly startsAt: string;
}

/** Requests to a web hook receiver that accepts every `webhook-id` once. */
export interface ReceivedWebhooks {
  /** Alerts of each incident, in order of arrival. */
  readonly incidents: Readonly<Record<string, readonly ReceivedAlert[]>>;
  /** Ids that arrived again with another body. */
  readonly changed: readonly string[];
}

export function receivedWebhooks(
  { requests }: Pick<HttpReceiver, 'requests'>,
  path: string,
): ReceivedWebhooks {
  const bodies = new Map<string, string>();
  const changed = new Set<string>();
  for (const { headers, body } of requests.filter((request) => request.path === path)) {
    const id = String(headers['webhook-id']);
    if ((bodies.get(id) ?? body) !== body) {
      changed.add(id);
    }
    bodies.set(id, bodies.get(id) ?? body);
  }
  const alerts = [...bodies.values()].flatMap((body) => (JSON.parse(body) as Body).alerts);
  const incidents = Map.groupBy(alerts, ({ fingerprint, startsAt }) => `${fingerprint} ${startsAt}`);
  return { incidents: Object.fromEntries(incidents), changed: [...changed] };
}
