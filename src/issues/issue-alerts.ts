import type { IssueRow, ShareRate } from '../domain/failure.ts';
import {
  type AlertEvent,
  computeAlertEventId,
  computeIssueIncidentId,
  ISSUE_ALERTS,
} from '../monitors/alert-event.ts';
import { buildEndEvent } from '../monitors/build-alert-event.ts';
import type { AlertStore } from '../store/monitors/alert-events.ts';
import { formatTitle } from './group-failures.ts';
import type { IssueState } from './read-issues.ts';

/** State of an issue that may be told. */
export interface IssueNews {
  readonly issue: IssueRow;
  readonly shown: IssueState;
  /** Share before the change; null where it is not known. */
  readonly before: number | null;
  /** Share of the last day; null without a run. */
  readonly share: ShareRate | null;
}

interface AlertTerms {
  readonly alertAbove: number | null;
  readonly nowMs: number;
}

/**
 * Writes the beginnings and ends of the incidents of issues: one while an issue is escalating or regressed, and while a frequent one is
 * new. They are planned from stored issues, so a process writes what a killed one did not write, under the same ids.
 */
export async function writeIssueAlerts(
  alerts: Pick<AlertStore, 'open' | 'known' | 'write'>,
  news: readonly IssueNews[],
  terms: AlertTerms,
): Promise<void> {
  const open = (await alerts.open()).filter(({ issue }) => issue !== undefined);
  const wanted = news.flatMap((each) => buildBegin(each, terms) ?? []);
  const keys = new Set(wanted.map(nameIncident));
  const told = new Set(open.map(nameIncident));
  const events = [
    ...open
      .filter((event) => !keys.has(nameIncident(event)))
      .map((event) => buildEndEvent(event, terms.nowMs)),
    ...wanted.filter((event) => !told.has(nameIncident(event))),
  ];
  if (events.length > 0) {
    const known = await alerts.known(events.map(({ id }) => id));
    await alerts.write(events.filter(({ id }) => !known.has(id)));
  }
}

function nameIncident({ series, issue }: AlertEvent): string {
  return JSON.stringify([series.tenant, issue?.id, issue?.state]);
}

function buildBegin(
  { issue, shown, before, share }: IssueNews,
  { alertAbove }: AlertTerms,
): AlertEvent | undefined {
  const isFrequent = alertAbove !== null && (share?.value ?? 0) >= alertAbove;
  if (shown !== 'escalating' && shown !== 'regressed' && !(shown === 'new' && isFrequent)) {
    return undefined;
  }
  const { tenant, agent, kind, subject, issueId: id } = issue;
  const entry = issue.history.findLast(({ what }) => what.startsWith(shown));
  const startsAtMs = entry === undefined ? issue.firstSeen : Date.parse(entry.at);
  const incidentId = computeIssueIncidentId(tenant, { id, state: shown }, startsAtMs);
  // Masked words of a run would outlive the deletion of the run.
  const title = formatTitle(kind, { ...subject, text: '' }).replace(/:\s*$/, '');
  return {
    id: computeAlertEventId(incidentId, 'firing'),
    incidentId,
    status: 'firing',
    alert: ISSUE_ALERTS[shown],
    detector: 'issue',
    series: { tenant, scorer: '', fingerprint: '', agent, environment: '' },
    startsAtMs,
    endsAtMs: null,
    changeBeganMs: startsAtMs,
    before: shown === 'new' ? null : before,
    after: share?.value ?? null,
    count: Math.round(share?.n ?? 0),
    lateScores: 0,
    evidenceLog10: null,
    labels: { severity: shown === 'new' ? 'info' : 'warning', issue: id },
    annotations: {},
    worstTraces: [],
    serviceVersion: '',
    agentVersion: '',
    issue: { id, title, state: shown },
  };
}
