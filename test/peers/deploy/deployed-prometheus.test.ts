import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startHttpReceiver } from '../../support/fakes/http-receiver.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { hasProgram } from '../../support/processes/installed-program.ts';
import { startProgram } from '../../support/processes/running-program.ts';

const deploy = new URL('../../../deploy/prometheus/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, deploy), 'utf8');

const DOCS = 'https://git.example.com/spanscore/docs';
const TIMEOUT_MS = 60_000;

interface SentAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const hasPrometheus = hasProgram(
  'prometheus',
  'the alerts that Prometheus sends',
  'apt-get install prometheus',
);

describe.skipIf(!hasPrometheus)('a real Prometheus with the configuration of deploy/prometheus', () => {
  it('sends an alert with a link to its section, and without the label of the address', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'spanscore-prometheus-'));
    const alertmanager = await startHttpReceiver();
    const [port = 0] = await freePorts(1);
    // Nothing is scraped, so SpanscoreNotScraped has a reason, and does not wait its five minutes here.
    writeFileSync(join(folder, 'alerts.yml'), read('rules/alerts.yml').replaceAll(/^ {8}for: .*\n/gm, ''));
    const config = read('prometheus.yml')
      .replace('rules/*.yml', 'alerts.yml')
      .replace('alertmanager:9093', new URL(alertmanager.url).host)
      .replace('evaluation_interval: 15s', 'evaluation_interval: 1s')
      .replace(/^scrape_configs:[^]*/m, '');
    writeFileSync(join(folder, 'prometheus.yml'), config);

    const prometheus = await startProgram({
      name: 'Prometheus',
      binary: 'prometheus',
      args: [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        // Prometheus 3 does it without being asked.
        '--enable-feature=expand-external-labels',
        // The first attempt comes before Prometheus knows the address of its Alertmanager.
        '--rules.alert.resend-delay=1s',
      ],
      variables: { SPANSCORE_DOCS: DOCS },
      folder,
      isReady: (log) => log.includes('Server is ready'),
      timeoutMs: TIMEOUT_MS,
    });
    try {
      await expect.poll(() => alertmanager.requests.length).toBeGreaterThan(0);
    } finally {
      await prometheus.stop();
      await alertmanager.close();
    }

    const alerts = alertmanager.requests.flatMap(({ body }) => JSON.parse(body) as SentAlert[]);
    expect(alerts[0]).toMatchObject({
      labels: { alertname: 'SpanscoreNotScraped', severity: 'critical' },
      annotations: { runbook_url: `${DOCS}/operations.md#spanscorenotscraped` },
    });
    expect(alerts.filter(({ labels }) => 'spanscore_docs' in labels)).toEqual([]);
  });
});
