import { randomUUID } from 'node:crypto';
import { HOUR_MS } from '../../../src/domain/durations.ts';
import { computeIssueId } from '../../../src/domain/failure.ts';
import type { Store } from '../../../src/store/store.ts';
import { anAlert } from '../builders/an-alert.ts';
import { agentRunSpans, store as storeSpans } from '../store/stored-agent.ts';
import { buildRunRecord } from '../store/run-rows.ts';
import { buildFailure, buildIssueRow } from '../builders/a-failure.ts';
import { tokenOf } from './api-world.ts';
import { buildDecision, buildScore, newTraceId } from '../store/store-rows.ts';

/** Values for the parameters of routes, by their names. */
export type RouteValues = Readonly<Record<string, string>>;

/**
 * Stores rows of one tenant in every table that reads of the API use: a trace with its spans, a session, scores, decisions, calls of a
 * judge, an incident, a mute and a marker. Names begin with the tenant. Returns the values by which routes find them.
 */
export async function storeTenantRows(store: Store, tenant: string): Promise<RouteValues> {
  const traceId = newTraceId();
  const sessionId = `${tenant}-session`;
  const spans = agentRunSpans(traceId);
  const nowMs = await store.spans.nowMs();
  const names = { agent: `${tenant}-agent`, serviceName: `${tenant}-service`, userId: `${tenant}-user` };
  const own = { tenant, traceId, ...names };
  const ofSession = { tenant, target: 'session', targetId: sessionId, traceId: '' } as const;
  const { agent } = names;
  const score = buildScore({ ...own, sessionId, reason: `${tenant}-reason`, evidenceUntil: nowMs });
  const alert = anAlert({
    alert: `${tenant}-alert`,
    series: { ...anAlert().series, tenant, agent },
    startsAtMs: nowMs,
  });
  const [issueId, otherIssueId] = ['a', 'b'].map((text) => computeIssueId(tenant, agent, text)) as [
    string,
    string,
  ];
  const issueTraceId = newTraceId();
  const failures = [
    { signatureId: issueId, traceId },
    { signatureId: issueId, traceId: issueTraceId },
    { signatureId: otherIssueId, traceId },
  ].map(({ signatureId, traceId: ofTrace }) =>
    buildFailure({
      tenant,
      traceId: ofTrace,
      agent,
      signatureId,
      userId: names.userId,
      traceTimestamp: nowMs - 5_000,
    }),
  );
  const id = randomUUID();
  await Promise.all([
    storeSpans(store, spans, tenant),
    store.runs.write([
      buildRunRecord({
        ...own,
        sessionId,
        models: [`${tenant}-model`],
        startedAt: nowMs - 5_000,
        evidenceUntil: nowMs,
      }),
    ]),
    store.scores.write([score, buildScore({ ...ofSession, sessionId, agent, userId: names.userId })]),
    store.decisions.write([
      buildDecision({ ...own, rule: 'default', evidenceUntil: nowMs }),
      buildDecision({ ...ofSession, scorer: 'multi-turn-judge', evidenceUntil: nowMs }),
    ]),
    store.judgeCalls.write([
      {
        tenant,
        traceId,
        scoreId: score.scoreId,
        scorer: 'hallucination',
        step: 'analyze',
        model: `${tenant}/judge`,
        servedModel: '',
        status: 'success',
        prompt: `${tenant}-prompt`,
        reply: `${tenant}-reply`,
        error: '',
        inputTokens: 1,
        outputTokens: 1,
        costUsd: 0.1,
        durationMs: 5,
        calledAtMs: nowMs - 1_000,
      },
    ]),
    store.markers.record({
      tenant,
      service: names.serviceName,
      agent,
      serviceVersion: `${tenant}-v1`,
      agentVersion: '',
      origin: 'api',
      atMs: nowMs,
    }),
    store.failures.write(failures),
    store.failures.writeIssues(
      failures.slice(1).map((failure) => buildIssueRow(failure, { title: `${tenant}-title` })),
    ),
    store.alerts.write([alert]),
    store.alerts.mute({ tenant, subject: alert.alert, untilMs: nowMs + HOUR_MS }),
    store.jobs.create({ id, kind: 'backfill', tenant, spec: { rules: [`${tenant}-rule`] } }),
  ]);
  return {
    traceId,
    sessionId,
    scoreId: score.scoreId,
    spanId: spans[0]?.spanId ?? '',
    version: `${tenant}-v1`,
    scorer: 'keyword-coverage',
    agent,
    by: 'agent',
    left: 'keyword-coverage',
    right: 'tone',
    id,
    incidentId: alert.incidentId,
    issueId,
    issueTraceId,
    otherIssueId,
    subject: alert.alert,
    userId: names.userId,
    service: names.serviceName,
    tenant,
    token: tokenOf('admin', tenant),
  };
}
