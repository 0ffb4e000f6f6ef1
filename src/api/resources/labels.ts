import { createRoute } from '@hono/zod-openapi';
import { checkAuthor } from '../access/request-access.ts';
import type { AuditSubject } from '../writes/audit.ts';
import { agreementJson } from '../json/agreement-json.ts';
import { readFilters } from '../lists/filters.ts';
import type { LabelQueueView } from '../reads/labels.ts';
import { createRouter, describeBody, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { AgreementQuery, ScorerAgreement } from '../schemas/agreement-schema.ts';
import { LabelQueue, NewLabel, QueueQuery, StoredLabel } from '../schemas/label-schema.ts';
import { TenantQuery } from '../schemas/target-fields.ts';
import { scoreJson } from '../json/score-json.ts';
import { isoTime } from '../json/time-json.ts';

const readQueue = createRoute({
  ...secureRoute('read', 'label'),
  method: 'get',
  path: '/labels/queue',
  tags: ['labels'],
  summary: 'Targets for a reviewer to label, without the scores of the scorer.',
  request: { query: QueueQuery },
  responses: { 200: describeJson('The queue.', LabelQueue), ...PROBLEMS },
});

const readAgreement = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/labels/agreement',
  tags: ['labels'],
  summary: 'Agreement of each version of a scorer with people, and of reviewers with each other.',
  request: { query: AgreementQuery },
  responses: { 200: describeJson('The agreement.', ScorerAgreement), ...PROBLEMS },
});

const postLabel = createRoute({
  ...secureRoute('label'),
  method: 'post',
  path: '/labels',
  tags: ['labels'],
  summary: 'Stores a label. The reply shows the scores of the scorer.',
  request: { query: TenantQuery, body: describeBody(NewLabel) },
  responses: { 201: describeJson('The label, and what it is compared with.', StoredLabel), ...PROBLEMS },
});

/** Creates the routes of labels. */
export function createLabelRoutes() {
  return createRouter()
    .openapi(readQueue, async (c) => {
      const { labels, nowMs } = tenantStore(c.var);
      const { scorer, strategy, reviewer, since, limit } = c.req.valid('query');
      const { sinceMs = 0 } = readFilters({ since }, await nowMs());
      const { items, ...queue } = await labels.queue({ scorer, reviewer, sinceMs, limit });
      const { scoreMin = null, scoreMax = null, higherIsBetter = null } = items[0]?.target ?? {};
      const scale = { higherIsBetter, scoreMin, scoreMax };
      return c.json({ scorer, strategy, ...queue, ...scale, items: items.map(itemJson) }, 200);
    })
    .openapi(readAgreement, async (c) => {
      const { labels, nowMs } = tenantStore(c.var);
      const { scorer, since } = c.req.valid('query');
      const untilMs = await nowMs();
      const { sinceMs = 0 } = readFilters({ since }, untilMs);
      const reading = await labels.agreement({ scorer, sinceMs, nowMs: untilMs });
      return c.json(agreementJson({ scorer, sinceMs, untilMs, reading }), 200);
    })
    .openapi(postLabel, async (c) => {
      const { traceId = '', spanId = '', sessionId = '', passes, score, ...given } = c.req.valid('json');
      const subject: AuditSubject =
        traceId === '' ? { kind: 'session', id: sessionId } : { kind: 'trace', id: traceId };
      checkAuthor(c.var.sender, given.reviewer);
      const write = { action: 'label.post', subjects: [subject] } as const;
      const { labels } = await tenantStore(c.var).openWrites(write);
      const answer = passes ?? score ?? false;
      const { tenant } = c.req.valid('query');
      const stored = await labels.store({ ...given, traceId, spanId, sessionId, answer }, tenant);
      return c.json({ ...stored, scores: stored.scores.map(scoreJson) }, 201);
    });
}

/** Formats a target without anything that tells its score. */
function itemJson({ target: found, run }: LabelQueueView['items'][number]) {
  const { tenant, target, targetId, traceId, spanId, sessionId, agent, service, environment } = found;
  return {
    tenant,
    target,
    targetId,
    traceId,
    spanId,
    sessionId,
    agent,
    service,
    environment,
    startedAt: isoTime(found.startMs),
    run,
  };
}
