import { isoTime, type JobJson } from '../../api/json/rows.ts';
import type { ScorerStatus, ServeStatus } from '../../api/serve-status.ts';
import type { ServeFile } from '../../config/serve-file.ts';
import { showBytes } from '../../domain/byte-sizes.ts';
import { showUsd } from '../../domain/money/usd.ts';
import { cleanLine } from './clean-text.ts';

/** Status for `--json`: the reply of the API, and what this machine knows. Without an API, the store's part of the reply. */
export interface StatusReport extends Partial<ServeStatus> {
  readonly serve:
    | (Pick<ServeFile, 'pid' | 'otlpHttp' | 'otlpGrpc' | 'api'> & { readonly ready: boolean | null })
    | null;
  /** Parts that are not ready, with the reason. */
  readonly notReady: Readonly<Record<string, string>>;
}

const PERIODS = { day: 'on this UTC day', month: 'in this UTC month' };

export function showStatus(report: StatusReport): string {
  const { store, jobs = [], budgets = [] } = report;
  return [
    ...showServe(report),
    ...showScoring(report),
    ...showJudges(report),
    ...showTools(report),
    ...jobs.map(showJob),
    ...budgets.map(({ scope, rule, tenant, period, ...usd }) =>
      line(
        'budget',
        `${[scope, rule ?? tenant ?? ''].join(' ').trim()}: ${showUsd(usd.spentUsd)} of ${showUsd(usd.capUsd)} USD spent ${PERIODS[period]}, ${showUsd(usd.reservedUsd)} USD reserved`,
      ),
    ),
    ...(store === undefined
      ? []
      : [
          line(
            'store',
            `${store.kind}, ${showBytes(store.bytes)} on disk; ${store.rows.spans} spans, ${store.rows.scores} scores, ${store.rows.decisions} decisions`,
          ),
        ]),
  ].join('\n');
}

function showJob({ kind, id, status, owner, error, left }: JobJson): string {
  const by = status === 'running' ? ` by ${owner}` : '';
  const why = error ?? left;
  return line('job', `${kind} ${id}: ${status}${by}${why === null ? '' : `; ${cleanLine(why, 200)}`}`);
}

function line(label: string, text: string): string {
  return `${label.padEnd(10)} ${text}`;
}

function showServe({ serve, version, startedAtMs, roles, notReady }: StatusReport): string[] {
  if (serve === null) {
    return [line('serve', 'no serve runs in this folder; the status comes from the store only')];
  }
  const { otlpHttp, otlpGrpc, api, ready } = serve;
  const since =
    version === undefined ? '' : `, version ${version}, since ${isoTime(startedAtMs ?? null) ?? '?'}`;
  const addresses = Object.entries({ 'OTLP/HTTP': otlpHttp, 'OTLP/gRPC': otlpGrpc, API: api });
  const faults = Object.entries(notReady).map(([part, reason]) => `${part}: ${cleanLine(reason, 200)}`);
  return [
    line('serve', `pid ${serve.pid}${since}${roles === undefined ? '' : `, roles ${roles.join(', ')}`}`),
    ...addresses.flatMap(([label, url]) => (url === null ? [] : [line(label, url)])),
    ...(ready === null ? [] : [line('ready', ready ? 'yes' : `no; ${faults.join('; ')}`)]),
  ];
}

function showScoring({ scoring }: StatusReport): string[] {
  if (scoring === undefined) {
    return [];
  }
  const { waiting, queued, waitingForRoom, inFlight, retries, oldestWaitMs, oldestQueuedMs, lagMs, fault } =
    scoring;
  const { unpriced } = scoring;
  const oldest = oldestWaitMs === null ? '' : ` (the oldest for ${showSeconds(oldestWaitMs)})`;
  const forJudges = waitingForRoom === 0 ? '' : `, ${waitingForRoom} of them for a judge`;
  const queuedFor =
    oldestQueuedMs === null ? '' : ` (the oldest for ${showSeconds(oldestQueuedMs)}${forJudges})`;
  const lag = lagMs === null ? '' : `; arrivals were read ${showSeconds(lagMs)} ago`;
  return [
    line(
      'scoring',
      `traces: ${waiting} still arriving${oldest}, ${queued} queued${queuedFor}, ${inFlight} running, ${retries} waiting for a retry${lag}`,
    ),
    ...(unpriced > 0
      ? [
          line(
            'costly',
            `the cost of ${unpriced} traces is unknown, so they are not costly: give their models a price (judges.prices)`,
          ),
        ]
      : []),
    ...(fault === null ? [] : [line('', `waiting for the store: ${cleanLine(fault, 200)}`)]),
  ];
}

function showJudges({ judges = [], scoring }: StatusReport): string[] {
  if (scoring === undefined) {
    return [];
  }
  const failing = judges.filter(({ state }) => state === 'failing');
  return failing.length === 0
    ? [line('judges', judges.length === 0 ? 'no scorer has run yet' : 'all scorers work')]
    : failing.map(showFailing);
}

function showFailing({ judge, scorer, ...state }: ScorerStatus['judges'][number]): string {
  const kinds = Object.entries(state.kinds).map(([kind, count]) => `${count} × ${kind}`);
  const who = judge === '' ? scorer : `${judge} for ${scorer}`;
  const reason =
    state.lastFailure === null ? '' : `; last reason: ${cleanLine(state.lastFailure.reason, 200)}`;
  return line(
    'judges',
    `${who} fails since ${isoTime(state.failingSinceMs) ?? '?'}: ${state.deferred} deferred, ${state.failed} failed (${kinds.join(', ')})${reason}`,
  );
}

/** Shows each source of spans, and each exporter. */
function showTools({ sources = [], exporters = [] }: StatusReport): string[] {
  const fault = (text: string | null) => (text === null ? '' : `; ${cleanLine(text, 200)}`);
  return [
    ...sources.map(({ name, spans, lag, lastError }) => {
      const age = lag === null ? 'not read to its end yet' : `read to its end ${lag} s ago`;
      return line('source', `${name}: ${spans} spans, ${age}${fault(lastError)}`);
    }),
    ...exporters.map(({ name, sent, waiting, deadLetters, lastError }) => {
      const dead = deadLetters === 0 ? '' : `, ${deadLetters} were given up (spanscore dlq list)`;
      return line('exporter', `${name}: ${sent} scores sent, ${waiting} wait${dead}${fault(lastError)}`);
    }),
  ];
}

function showSeconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
