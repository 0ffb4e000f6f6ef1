import { showUsd } from '../../domain/money/usd.ts';
import {
  type AlertBudget,
  type AlertEvent,
  LIMIT_SIDES,
  type Labels,
  withoutEmptyLabels,
} from '../../monitors/alert-event.ts';
import { formatFinding, numberText, listCauses, formatSummary, traceLink } from './alert-text.ts';
import type { AlertLinks } from './channel.ts';

/** Builds the annotations of an alert. Annotations of the rule replace these. */
export function buildAnnotations(event: AlertEvent, links: AlertLinks): Labels {
  const { budget, issue, incidentId } = event;
  const facts =
    budget !== undefined
      ? buildBudgetFacts(budget)
      : issue !== undefined
        ? { issue_title: issue.title, share_before: optional(event.before), share: optional(event.after) }
        : buildSeriesFacts(event, links);
  return withoutEmptyLabels({
    summary: formatSummary(event),
    description: formatDescription(event),
    ...facts,
    incident_id: incidentId,
    ...event.annotations,
  });
}

function buildBudgetFacts({ capUsd, spentUsd, renewsAtMs }: AlertBudget): Labels {
  return {
    budget_cap_usd: showUsd(capUsd),
    budget_spent_usd: showUsd(spentUsd),
    budget_renews_at: new Date(renewsAtMs).toISOString(),
  };
}

function buildSeriesFacts(event: AlertEvent, links: AlertLinks): Labels {
  const { before, after, evidenceLog10, count, lateScores, changeBeganMs, worstTraces } = event;
  const urls = worstTraces.flatMap(({ traceId }) => traceLink(traceId, event, links) ?? []);
  return {
    [LIMIT_SIDES.has(event.detector) ? 'limit' : 'baseline_mean']: optional(before),
    current_mean: optional(after),
    n: String(count),
    late_scores: lateScores === 0 ? '' : String(lateScores),
    change_started_at: new Date(changeBeganMs).toISOString(),
    log10_evidence: optional(evidenceLog10),
    sample_trace_ids: worstTraces.map(({ traceId }) => traceId).join(', '),
    sample_trace_urls: urls.join(' '),
    cause: listCauses(event).join(' '),
    service_version: event.serviceVersion,
    agent_version: event.agentVersion,
  };
}

function formatDescription(event: AlertEvent): string {
  return [formatFinding(event), ...listCauses(event).slice(0, 1)].join(' ');
}

function optional(value: number | null): string {
  return value === null ? '' : numberText(value);
}

/** Returns the labels that have the same value in all sets. */
export function commonLabels(all: readonly Labels[]): Labels {
  const [first = {}, ...rest] = all;
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) =>
      rest.every((labels) => Object.hasOwn(labels, name) && labels[name] === value),
    ),
  );
}

const FNV_OFFSET = 14_695_981_039_346_656_037n;
const FNV_PRIME = 1_099_511_628_211n;
const SEPARATOR = 255;

/** Computes Prometheus' fingerprint of a set of labels: FNV-1a over its sorted names and values, 16 hex digits. */
export function labelFingerprint(labels: Labels): string {
  let hash = FNV_OFFSET;
  const add = (byte: number) => {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * FNV_PRIME);
  };
  for (const [name, value] of Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const text of [name, value]) {
      Buffer.from(text, 'utf8').forEach(add);
      add(SEPARATOR);
    }
  }
  return hash.toString(16).padStart(16, '0');
}

/** Writes JSON as Go programs do: `<`, `>`, `&` and line separators escaped, with a newline at the end. */
export function goJson(value: unknown): string {
  const text = JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `${text}\n`;
}

/** Writes a time in RFC 3339 as Go programs do: without trailing zeros. */
export function goTime(unixMs: number): string {
  return new Date(unixMs).toISOString().replace(/\.?0+Z$/, 'Z');
}

/** Go's zero time, which means "not yet". */
export const GO_ZERO_TIME = '0001-01-01T00:00:00Z';
