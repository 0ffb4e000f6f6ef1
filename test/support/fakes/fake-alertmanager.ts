import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Labels } from '../../../src/monitors/alert-event.ts';
import { labelFingerprint } from '../../../src/delivery/channels/prometheus.ts';
import type { Alertmanager } from '../collector/alertmanager.ts';

interface PostedAlert {
  readonly labels: Labels;
  readonly endsAt: string;
}

interface KnownAlert extends PostedAlert {
  readonly fingerprint: string;
  notified: 'firing' | 'resolved' | 'nothing';
}

/** Interval of the checks for ended alerts, milliseconds. */
const LOOK_EVERY_MS = 50;

/**
 * Starts a fake Alertmanager with its documented API v2. Identifies an alert by its labels. Notifies its web hook once when
 * the alert fires and once when the alert's `endsAt` has passed.
 */
export async function startFakeAlertmanager(webhookUrl: string): Promise<Alertmanager> {
  const known = new Map<string, KnownAlert>();

  async function notify(): Promise<void> {
    for (const alert of known.values()) {
      const status = Date.parse(alert.endsAt) > Date.now() ? 'firing' : 'resolved';
      const hasChanged = status === 'firing' ? alert.notified !== 'firing' : alert.notified === 'firing';
      if (hasChanged) {
        alert.notified = status;
        const { labels, fingerprint } = alert;
        const body = JSON.stringify({ status, alerts: [{ status, labels, fingerprint }] });
        await fetch(webhookUrl, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      }
    }
  }

  /** Accepts posted alerts. Returns the status that the API documents. */
  function take(request: IncomingMessage, body: string): number {
    if (request.headers['content-type'] !== 'application/json') {
      return 415;
    }
    const alerts = JSON.parse(body) as PostedAlert[];
    if (alerts.some(({ labels }) => Object.keys(labels).length === 0)) {
      return 400;
    }
    for (const { labels, endsAt } of alerts) {
      const fingerprint = labelFingerprint(labels);
      known.set(fingerprint, {
        labels,
        endsAt,
        fingerprint,
        notified: known.get(fingerprint)?.notified ?? 'nothing',
      });
    }
    return 200;
  }

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    if (request.url?.startsWith('/api/v2/alerts') !== true) {
      response.writeHead(404).end();
    } else if (request.method === 'POST') {
      response.writeHead(take(request, body)).end();
    } else {
      const active = [...known.values()].filter(({ endsAt }) => Date.parse(endsAt) > Date.now());
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(active));
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(request, response, Buffer.concat(chunks).toString('utf8')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let notifying = Promise.resolve();
  const timer = setInterval(() => {
    notifying = notifying.then(notify);
  }, LOOK_EVERY_MS);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      clearInterval(timer);
      await notifying;
      server.close();
      server.closeAllConnections();
    },
  };
}
