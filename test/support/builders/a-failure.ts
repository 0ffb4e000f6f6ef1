import type { Failure, IssueRow } from '../../../src/domain/failure.ts';
import { newSpanId, newTraceId } from '../store/store-rows.ts';

/** Builds a failed tool call of a run. */
export function buildFailure(fields: Partial<Failure> = {}): Failure {
  const { traceId = newTraceId(), signatureId = '00000000000000aa', traceTimestamp = Date.now() } = fields;
  return {
    tenant: '',
    issueId: signatureId,
    signatureId,
    failureId: signatureId,
    traceId,
    targetId: traceId,
    spanId: newSpanId(),
    agent: 'weather-agent',
    agentVersion: '1.0',
    serviceVersion: '',
    userId: 'user-9',
    sessionId: 'sess-1',
    kind: 'tool-error',
    subject: { tool: 'get_weather', errorType: 'HTTP 504', text: 'no reply' },
    text: 'HTTP 504: no reply',
    evidence: null,
    scorer: '',
    source: '',
    day: new Date(traceTimestamp).toISOString().slice(0, 10),
    traceTimestamp,
    weight: 1,
    inclusionProbability: 1,
    stratum: 'uniform',
    revision: 1,
    evidenceUntil: traceTimestamp,
    isDeleted: false,
    ...fields,
  };
}

/** Builds the issue of one failure. */
export function buildIssueRow(
  { tenant, issueId, agent, kind, subject, traceTimestamp }: Failure,
  fields: Partial<IssueRow> = {},
): IssueRow {
  return {
    tenant,
    issueId,
    agent,
    kind,
    title: 'tool `get_weather` fails: HTTP 504',
    named: [],
    subject,
    state: 'open',
    resolvedVersion: '',
    firstSeen: traceTimestamp,
    aliases: [],
    split: [],
    apart: [],
    history: [],
    verification: null,
    isDeleted: false,
    ...fields,
  };
}
