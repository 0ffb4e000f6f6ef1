import {
  type AlertCause,
  explainChange,
  writeSentence,
} from '../../../src/monitors/attribution/explain-change.ts';
import { FactTable, type Period, type RunFacets } from '../../../src/monitors/attribution/fact-table.ts';
import {
  type AlertEvent,
  computeAlertEventId,
  computeIncidentId,
} from '../../../src/monitors/alert-event.ts';

/** Runs of equal facets in a period: how many, and their score. */
export type Runs = readonly [period: Period, facets: RunFacets, count: number, score: number];

/** Explains the change of these runs. */
export function explainRuns(runs: readonly Runs[], subject = 'faithfulness'): AlertCause {
  const table = new FactTable();
  for (const [period, facets, count, score] of runs) {
    table.add(facets, period, { count, weight: 1, sum: count * score, squares: count * score ** 2 });
  }
  const explanation = explainChange(table.read());
  return { ...explanation, sentence: writeSentence(explanation, subject) };
}

const CAUSE = explainRuns([
  ['before', { model: 'gpt-5-mini' }, 60, 0.91],
  ['before', { model: 'gpt-5' }, 40, 0.91],
  ['after', { model: 'gpt-5-mini' }, 41, 0.4],
  ['after', { model: 'gpt-5' }, 28, 0.91],
]);

/** Builds the event that begins an incident. Fields of `more` replace the defaults; the ids are computed from the fields. */
export function anAlert(more: Partial<AlertEvent> = {}): AlertEvent {
  const event = {
    status: 'firing' as const,
    alert: 'ScoreDrift',
    detector: 'drift',
    series: {
      tenant: '',
      scorer: 'faithfulness',
      fingerprint: 'f'.repeat(32),
      agent: 'support-agent',
      environment: 'production',
    },
    startsAtMs: Date.UTC(2026, 10, 21, 10, 10),
    endsAtMs: null,
    changeBeganMs: Date.UTC(2026, 10, 21, 6, 40),
    before: 0.91,
    after: 0.52,
    count: 69,
    lateScores: 0,
    evidenceLog10: 5.31,
    labels: { severity: 'page' },
    annotations: { runbook_url: 'https://example.com/runbook' },
    worstTraces: [
      {
        traceId: '0af7651916cd43dd8448eb211c80319c',
        scoreId: '5f2f3b1e-7f39-5c0e-9d3e-0f6f4b3c2a11',
        score: 0.1,
      },
    ],
    cause: CAUSE,
    serviceVersion: '',
    agentVersion: '',
    ...more,
  };
  const incidentId = more.incidentId ?? computeIncidentId(event);
  return { ...event, incidentId, id: more.id ?? computeAlertEventId(incidentId, event.status) };
}

/** Builds the event that ends an incident. */
export function resolvedEvent(event: AlertEvent, afterMs = 5 * 3_600_000): AlertEvent {
  const { id: _, ...rest } = event;
  return anAlert({ ...rest, status: 'resolved', endsAtMs: event.startsAtMs + afterMs });
}

/** Builds the alert that a part of a rule's budget is spent. */
export function budgetAlert(percent: number, spentUsd: number): AlertEvent {
  const series = { tenant: '', scorer: '', fingerprint: '', agent: '', environment: '' };
  return anAlert({
    alert: 'BudgetSpent',
    detector: 'budget',
    series,
    before: null,
    after: null,
    count: 0,
    evidenceLog10: null,
    labels: {
      severity: 'warning',
      budget: 'rule production',
      budget_period: 'day',
      budget_percent: `${percent}`,
    },
    annotations: {},
    worstTraces: [],
    cause: null,
    budget: {
      scope: { kind: 'rule', name: 'production' },
      period: 'day',
      capUsd: 5,
      percent,
      spentUsd,
      renewsAtMs: Date.UTC(2026, 10, 22),
    },
  });
}

/** Builds an alert of another scorer's series. */
export function alertOfScorer(scorer: string, more: Partial<AlertEvent> = {}): AlertEvent {
  return anAlert({ ...more, series: { ...anAlert().series, scorer } });
}
