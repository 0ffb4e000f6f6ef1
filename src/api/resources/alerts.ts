import { IssueName } from './issues.ts';
import { z } from '@hono/zod-openapi';
import { VersionsReply } from './agents.ts';
import { createList, describePage, refuseCursor, describeList, CURSOR_FIELDS } from '../lists/cursors.ts';
import { anyOf, FILTER_FIELDS, NoQuery } from '../lists/fields.ts';
import { describeRoute, createRouter, describeJson, tenantStore, describeBody } from '../router.ts';
import type { TenantStore } from '../tenant-store.ts';
import { Series, Time, orNull, isoTime, BUDGET_FIELDS, budgetJson } from '../json/rows.ts';
import type { MonitorStanding } from '../../monitors/monitor-status.ts';
import { DURATION_PATTERN, durationMs, parseDurationMs } from '../../config/index.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { type AlertEvent, LIMIT_SIDES } from '../../monitors/alert-event.ts';
import { findEarlier, formatSummary } from '../../delivery/channels/alert-text.ts';
import type { AlertNote } from '../../store/contracts/monitors.ts';
import { findMute, isMuted, type Mute as StoredMute } from '../../monitors/mute.ts';
import { computeSeriesId } from '../../monitors/series-key.ts';
import type { AlertCause } from '../../monitors/attribution/explain-change.ts';
import type { Finding } from '../../monitors/detector.ts';

const SUBJECT =
  'Name of an alert, id of a series (`seriesId` of a monitor or an alert) or of an incident, or `*`: everything.';

export const Mute = z
  .object({
    tenant: z.string().describe('Tenant whose alerts are muted; `*`: all tenants.'),
    subject: z.string().describe(SUBJECT),
    until: Time.nullable(),
    by: z.string().nullable().describe('Name of the token; null without tokens.'),
    reason: z.string().describe("'' without a reason."),
  })
  .openapi('Mute');

const SegmentName = z.record(z.string(), z.string()).describe('Values of one or two dimensions.');

const CauseSegment = z
  .object({
    segment: SegmentName,
    kind: z
      .enum(['within', 'mix'])
      .describe('`within`: its scores moved; `mix`: its part of the traffic did.'),
    before: z.number().nullable().describe('Mean before; of a new segment, the mean of the same traffic.'),
    after: z.number().nullable(),
    n: z.number().describe('Scores since the change.'),
    share: z.number().describe('Part of the change.'),
    isNew: z.boolean().describe('True for a segment without scores before, as a new version.'),
    evidenceLog10: z.number(),
    same: z.array(SegmentName).readonly().describe('Segments that cannot be told apart from it.'),
  })
  .openapi('CauseSegment');

const Culprit = z.object({
  who: z
    .enum(['agent', 'judge', 'both', 'unknown', 'deciding'])
    .nullable()
    .describe(
      'Who changed. `deciding`: the judge is asked about its anchors, and the message waits. Null where no judge has anchors.',
    ),
  judge: orNull(
    z.object({ before: z.number(), after: z.number(), n: z.number(), evidenceLog10: z.number() }),
  ).describe('The judge on its anchors since the change: their mean first score, and their mean now.'),
});

const CauseHead = Culprit.extend({
  sentence: z.string().describe('The reason in one sentence.'),
  verdict: z
    .enum(['segment', 'mix', 'everywhere', 'none'])
    .describe(
      '`segment`: these segments moved further than the rest; `mix`: the traffic changed; `everywhere`: all moved alike; `none`: no change beyond chance.',
    ),
  segments: z.array(CauseSegment).readonly().describe('What the change comes from, the most first.'),
}).openapi('CauseHead');

const Side = orNull(
  z.object({ mean: z.number(), n: z.number(), part: z.number().describe('Part of the traffic.') }),
);

const Period = orNull(z.object({ mean: z.number(), n: z.number() }));

const Cause = CauseHead.extend({
  before: Period,
  after: Period,
  change: z.number().nullable(),
  within: z
    .number()
    .describe('Change within the values of the dimension that explains most; with `mix` the whole change.'),
  mix: z.number().describe('Change because its values grew or shrank.'),
  dimensions: z
    .array(
      z.object({
        dimension: z.string(),
        within: z.number(),
        mix: z.number(),
        segments: z
          .array(
            z.object({
              value: z.string(),
              before: Side,
              after: Side,
              isNew: z.boolean(),
              within: z.number(),
              share: z.number().describe('Part of the change within this value, against its own past.'),
            }),
          )
          .readonly(),
      }),
    )
    .readonly(),
}).openapi('Cause');

export const Alert = z
  .object({
    id: z.string().describe('Id of this message: the beginning or the end of an incident.'),
    incidentId: z.string().describe('The same for the beginning and the end of an incident.'),
    status: z.enum(['firing', 'resolved']),
    alert: z.string(),
    summary: z.string().describe('The event in one sentence, without a full stop.'),
    detector: z.string(),
    series: Series,
    seriesId: z
      .string()
      .nullable()
      .describe('Subject of a mute of this series; null for an alert about a budget or an issue.'),
    startsAt: Time.nullable(),
    endsAt: Time.nullable(),
    changeBegan: Time.nullable().describe('Estimated begin of the change.'),
    before: z
      .number()
      .nullable()
      .describe(
        'Expected mean or rate. Of `floor` and `threshold`: mean of the week before the change; of other detectors with a limit null.',
      ),
    limit: z.number().nullable().describe('Limit of the rule, for a detector that has one.'),
    meanBefore: z
      .number()
      .nullable()
      .optional()
      .describe('Mean score of the week before the change, 1 is best.'),
    after: z.number().nullable().describe('Observed mean or rate since the change began.'),
    count: z.number().describe('Observations since the change began.'),
    lateScores: z
      .number()
      .describe(
        'Scores from the begin of the change to the begin of the incident that came more than an hour after their trace: they are no observations.',
      ),
    evidenceLog10: z.number().nullable(),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()),
    worstTraces: z
      .array(z.object({ traceId: z.string(), scoreId: z.string(), score: z.number() }))
      .readonly(),
    cause: orNull(CauseHead).describe('Reason of the change; null where the alert is not about scores.'),
    held: z
      .boolean()
      .describe(
        'True: no message is sent, because the judge changed, or is not certified as the rule requires.',
      ),
    serviceVersion: z.string(),
    agentVersion: z.string(),
    muted: z.boolean(),
    mute: orNull(Mute).describe('The mute that lasts longest; null while nothing mutes it.'),
    budget: z.object({ ...BUDGET_FIELDS, percent: z.number() }).optional(),
    issue: z
      .object({ id: z.string(), title: z.string(), state: z.enum(['new', 'escalating', 'regressed']) })
      .optional(),
    acknowledgedAt: Time.nullable(),
  })
  .openapi('Alert');

const Note = z
  .object({
    at: Time.nullable(),
    by: z.string().nullable().describe('Name of the token; null without tokens.'),
    text: z.string(),
  })
  .openapi('AlertNote');

export const AlertDetail = Alert.extend({
  cause: orNull(Cause).describe('Reason of the change; null where the alert is not about scores.'),
  versions: orNull(VersionsReply).describe(
    'The version in most of the scores beside the one before it; null without two versions of one agent.',
  ),
  issues: z
    .array(IssueName)
    .readonly()
    .describe('Issues of the agent whose share is greater since the change began than in the week before.'),
  messages: z
    .array(
      z.object({ channel: z.string(), at: Time.nullable(), state: z.enum(['sent', 'waiting', 'failed']) }),
    )
    .readonly()
    .describe('Messages about the incident, by time.'),
  notes: z.array(Note).readonly().describe('Notes of people, the oldest first.'),
}).openapi('AlertDetail');

const alertList = createList('alerts');

const SERIES_FIELDS = {
  agent: anyOf(z.string().min(1).max(1_000), 'Agent: what is about it, or about all agents.'),
  environment: anyOf(z.string().min(1).max(1_000), 'Environment: what is about it, or about all.'),
};

const listAlerts = describeRoute('get', '/alerts', {
  tag: 'alerts',
  summary: 'Beginnings and ends of incidents, newest first.',
  request: {
    query: z.strictObject({
      ...CURSOR_FIELDS,
      since: FILTER_FIELDS.since.describe(
        'Oldest time of the beginning or the end: `24h`, or a date and time.',
      ),
      until: FILTER_FIELDS.until.describe('First time that is too late.'),
      open: z
        .literal('true')
        .optional()
        .describe(
          '`true`: only the beginnings of incidents that have not ended; `since` and `until` do not count.',
        ),
      ...SERIES_FIELDS,
    }),
  },
  replies: { 200: describeJson('A page of alerts.', describePage(Alert)) },
});

const IncidentParams = z.strictObject({
  id: z.string().min(1).max(1_000).describe('`incidentId`, or `id` of an alert about the incident.'),
});

const readAlert = describeRoute('get', '/alerts/{id}', {
  tag: 'alerts',
  summary: 'One incident: its alert, the cause, the messages that were sent, and notes.',
  request: { query: NoQuery, params: IncidentParams },
  replies: { 200: describeJson('The incident.', AlertDetail) },
});

const addNote = describeRoute('post', '/alerts/{id}/notes', {
  tag: 'alerts',
  summary: 'Adds a note to an incident.',
  request: {
    query: NoQuery,
    params: IncidentParams,
    body: describeBody(z.strictObject({ text: z.string().trim().min(1).max(5_000) }).openapi('NewAlertNote')),
  },
  replies: { 201: describeJson('The note.', Note) },
});

const acknowledge = describeRoute('post', '/alerts/{id}/ack', {
  tag: 'alerts',
  summary: 'Accepts the change of an incident as normal: its series gets a new reference.',
  description: 'A write without a body: it needs the header `content-type: application/json` all the same.',
  request: {
    query: NoQuery,
    params: z.strictObject({
      id: z
        .string()
        .min(1)
        .max(1_000)
        .describe('`incidentId` of an open incident, or `id` of the alert about its beginning.'),
    }),
  },
  replies: {
    200: describeJson('The incident.', z.object({ acknowledged: z.string(), alert: z.string() })),
  },
});

export function createAlertRoutes() {
  return createRouter()
    .openapi(listAlerts, async (c) => {
      const store = tenantStore(c.var);
      const replies = await readReplies(store);
      const { open, ...query } = c.req.valid('query');
      const { filters, page } = alertList.readQuery(query, replies.nowMs);
      const found = await (open === undefined
        ? store.alerts.list(filters, page)
        : store.alerts.listOpen({ agent: filters.agent, environment: filters.environment }, page));
      return c.json(
        alertList.toReply(found, (event) => alertJson(event, replies)),
        200,
      );
    })
    .openapi(readAlert, async (c) => {
      const store = tenantStore(c.var);
      const found = await store.alerts.read(c.req.valid('param').id);
      return c.json(alertDetailJson(found, await readReplies(store)), 200);
    })
    .openapi(addNote, async (c) => {
      const { id } = c.req.valid('param');
      const store = tenantStore(c.var);
      const { alerts } = await store.openWrites('alert.note', { kind: 'incident', id });
      const note = await alerts.addNote({ id, text: c.req.valid('json').text });
      return c.json(noteJson({ ...note, atMs: await store.nowMs() }), 201);
    })
    .openapi(acknowledge, async (c) => {
      const { id } = c.req.valid('param');
      const { alerts } = await tenantStore(c.var).openWrites('alert.acknowledge', { kind: 'incident', id });
      return c.json(acknowledgedJson(await alerts.acknowledge(id)), 200);
    });
}

/** Reads mutes and acknowledgements, for the alerts of a reply. */
async function readReplies({ alerts, nowMs }: TenantStore): Promise<AlertReplies> {
  const [mutes, acknowledged, now] = await Promise.all([alerts.mutes(), alerts.acknowledged(), nowMs()]);
  return { mutes, acknowledged, nowMs: now };
}

const Finding = z
  .object({
    changeBegan: Time.nullable(),
    before: z.number().nullable().describe('Expected mean or rate since then.'),
    after: z.number().nullable().describe('Observed mean or rate since then.'),
    count: z.number().describe('Observations since then.'),
    evidenceLog10: z.number().nullable(),
    cut: z.number().optional().describe('`before` and `after` are shares of scores at or below this score.'),
  })
  .openapi('Finding');

export const Monitor = z
  .object({
    ruleKey: z.string(),
    group: z.string(),
    alert: z.string(),
    detector: z.string(),
    series: Series,
    seriesId: z.string().describe('Subject of a mute of this series.'),
    phase: z.enum(['learning', 'ok', 'pending', 'firing', 'recovering', 'no_data', 'scorer_error', 'paused']),
    since: Time.nullable().describe('Begin of the phase.'),
    incidentId: z.string().nullable(),
    finding: orNull(Finding),
    lacks: z.string().nullable().describe('Missing part of the reference.'),
    mean: z.number().nullable().describe('Directed mean of the latest bucket.'),
    baseline: z.number().nullable().describe('Mean that earlier scores let expect, directed.'),
    limit: z.number().nullable().describe('Limit of the rule, for a detector that has one.'),
    evidenceLog10: z.number().nullable(),
    scores: z.number(),
    bucket: Time.nullable().describe('Start of the latest bucket.'),
    lateScores: z
      .number()
      .describe(
        'Scores of the series in 24 hours that came more than an hour after their trace: monitors do not count them. Of a split series, those of all its parts.',
      ),
    lastLateBucket: Time.nullable().describe('Start of the latest bucket with such a score.'),
    muted: z.boolean(),
  })
  .openapi('Monitor');

const NotCounted = z.object({
  scorer: z.string(),
  refused: z.number().describe('Scores without a range or a direction.'),
  late: z.number().describe('Scores that came more than an hour after their trace.'),
});

/** Scorer with scores of 24 hours that no monitor counts. */
export type NotCounted = z.output<typeof NotCounted>;

const monitorList = createList('monitors');

const listMonitors = describeRoute('get', '/monitors', {
  tag: 'monitors',
  summary: 'States of the configured monitors, in the order of their alerts and series.',
  request: {
    query: z.strictObject({
      ...CURSOR_FIELDS,
      since: FILTER_FIELDS.since.describe('Earliest begin of the phase: `24h`, or a date and time.'),
      order: z
        .enum(['alert', 'firing'])
        .default('alert')
        .describe('`firing`: the states that fire first; at most 500, without a cursor.'),
      ...SERIES_FIELDS,
    }),
  },
  replies: {
    200: describeJson(
      'A page of states.',
      describePage(Monitor).extend({
        notCounted: z
          .array(NotCounted)
          .optional()
          .describe('With `order=firing`: scorers with scores of 24 hours that no monitor counts.'),
      }),
    ),
  },
});

export function createMonitorRoutes() {
  return createRouter().openapi(listMonitors, async (c) => {
    const store = tenantStore(c.var);
    const replies = await readReplies(store);
    const { order, ...query } = c.req.valid('query');
    const { filters, page } = monitorList.readQuery(query, replies.nowMs);
    const toJson = (status: MonitorStanding) => monitorJson(status, replies);
    if (order === 'firing') {
      refuseCursor(order, query);
      const [items, aside] = await Promise.all([
        store.standings.listFiring(filters, page.limit),
        store.standings.setAside(replies.nowMs),
      ]);
      const notCounted = aside.map(({ scorer, refused, late }) => ({ scorer, refused, late }));
      return c.json({ items: items.map(toJson), next: null, notCounted }, 200);
    }
    return c.json(monitorList.toReply(await store.standings.list(filters, page), toJson), 200);
  });
}

const name = z.string().min(1).max(1_000);
/** Longest mute, milliseconds. */
const MAX_MUTE_MS = 3_650 * DAY_MS;

const duration = z
  .string()
  .refine((text) => (parseDurationMs(text) ?? 0) > 0, { error: 'write a duration: 30m, 2h, 7d' })
  .refine((text) => (parseDurationMs(text) ?? 0) <= MAX_MUTE_MS, { error: 'must be at most 3650d' })
  .openapi({ pattern: DURATION_PATTERN.source });
const NewMute = z
  .strictObject({
    subject: name.describe(SUBJECT),
    for: duration.describe('`30m`, `2h`, `7d`.'),
    reason: z.string().trim().max(500).default('').describe('Reason, for others.'),
  })
  .openapi('NewMute');

const muteList = createList('mutes');

const listMutes = describeList('/mutes', {
  item: Mute,
  items: 'mutes',
  tag: 'alerts',
  summary: 'Mutes that are active, the latest begun first.',
});

const mute = describeRoute('post', '/mutes', {
  tag: 'alerts',
  summary: 'Mutes an alert, a series, an incident or everything for a time.',
  request: { query: NoQuery, body: describeBody(NewMute) },
  replies: { 201: describeJson('The mute.', Mute) },
});

const unmute = describeRoute('delete', '/mutes', {
  tag: 'alerts',
  summary: 'Ends a mute.',
  request: {
    query: z.strictObject({
      subject: name.describe('Subject of the mute.'),
      tenant: z
        .string()
        .optional()
        .describe('Tenant of the mute, where several have muted the subject; `*`: the mute of all tenants.'),
    }),
  },
  replies: { 200: describeJson('The subject.', z.object({ unmuted: z.string() })) },
});

export function createMuteRoutes() {
  return createRouter()
    .openapi(listMutes, async (c) => {
      const { alerts, nowMs } = tenantStore(c.var);
      const { page } = muteList.readQuery(c.req.valid('query'), await nowMs());
      return c.json(muteList.toReply(await alerts.listMutes(page), muteJson), 200);
    })
    .openapi(mute, async (c) => {
      const store = tenantStore(c.var);
      const { subject, for: time, reason } = c.req.valid('json');
      const { alerts } = await store.openWrites('mute.set', { kind: 'alert', id: subject });
      const muted = await alerts.mute(subject, (await store.nowMs()) + durationMs(time), reason);
      return c.json(muteJson(muted), 201);
    })
    .openapi(unmute, async (c) => {
      const { subject: id, tenant } = c.req.valid('query');
      const { alerts } = await tenantStore(c.var).openWrites('mute.end', { kind: 'alert', id });
      return c.json(unmutedJson(await alerts.unmute(id, tenant)), 200);
    });
}

type FoundIncident = Awaited<ReturnType<TenantStore['alerts']['read']>>;

interface AlertReplies {
  readonly mutes: readonly StoredMute[];
  /** Time of the acknowledgement by incident, Unix milliseconds. */
  readonly acknowledged: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

/** Formats the beginning or end of an incident as JSON; times in ISO 8601. */
export function alertJson(event: AlertEvent, { mutes, acknowledged, nowMs }: AlertReplies) {
  const { startsAtMs, endsAtMs, changeBeganMs, budget, before, cause, culprit, held, ...rest } = event;
  const found = findMute(event, mutes, nowMs);
  const hasLimit = LIMIT_SIDES.has(event.detector);
  return {
    ...rest,
    summary: formatSummary(event),
    cause: cause ? causeHeadJson(cause, culprit) : null,
    held: held === true,
    before: hasLimit ? findEarlier(event) : before,
    limit: hasLimit ? before : null,
    seriesId: budget === undefined && event.issue === undefined ? computeSeriesId(event.series) : null,
    startsAt: isoTime(startsAtMs),
    endsAt: isoTime(endsAtMs),
    changeBegan: isoTime(changeBeganMs),
    muted: found !== undefined,
    mute: found === undefined ? null : muteJson(found),
    ...(budget === undefined ? {} : { budget: { ...budgetJson(budget), percent: budget.percent } }),
    acknowledgedAt: isoTime(acknowledged.get(event.incidentId) ?? null),
  };
}

function causeHeadJson({ sentence, verdict, causes }: AlertCause, culprit: AlertEvent['culprit']) {
  return { sentence, verdict, segments: causes, ...culpritJson(culprit) };
}

function causeJson({ causes: segments, ...rest }: AlertCause, culprit: AlertEvent['culprit']) {
  return { ...rest, segments, ...culpritJson(culprit) };
}

function culpritJson(culprit: AlertEvent['culprit']) {
  return { who: culprit?.who ?? null, judge: culprit?.judge ?? null };
}

export function muteJson({ tenant, subject, untilMs, by, reason = '' }: StoredMute) {
  return { tenant, subject, until: isoTime(untilMs), by: by || null, reason };
}

function alertDetailJson({ event, notes, messages, versions, issues }: FoundIncident, replies: AlertReplies) {
  return {
    ...alertJson(event, replies),
    cause: event.cause ? causeJson(event.cause, event.culprit) : null,
    versions,
    issues,
    messages: messages.map(({ channel, atMs, state }) => ({
      channel,
      at: isoTime(atMs),
      state: MESSAGE_STATES[state],
    })),
    notes: notes.map(noteJson),
  };
}

/** Words for what became of a message. */
const MESSAGE_STATES = { planned: 'waiting', delivered: 'sent', dead: 'failed' } as const;

function noteJson({ atMs, by, text }: AlertNote) {
  return { at: isoTime(atMs), by: by || null, text };
}

export function unmutedJson({ subject }: StoredMute) {
  return { unmuted: subject };
}

export function acknowledgedJson({ incidentId, alert }: AlertEvent) {
  return { acknowledged: incidentId, alert };
}

/** Formats the state of a rule on a series as JSON; times in ISO 8601. */
export function monitorJson(status: MonitorStanding, replies: Pick<AlertReplies, 'mutes' | 'nowMs'>) {
  const { sinceMs, finding, bucketMs, lastLateBucketMs, ...rest } = status;
  return {
    ...rest,
    seriesId: computeSeriesId(status.series),
    muted: isMuted({ ...status, incidentId: status.incidentId ?? '' }, replies.mutes, replies.nowMs),
    since: isoTime(sinceMs),
    finding: finding === null ? null : findingJson(finding),
    bucket: isoTime(bucketMs),
    lastLateBucket: isoTime(lastLateBucketMs),
  };
}

function findingJson({ changeBeganMs, ...rest }: Finding) {
  return { changeBegan: isoTime(changeBeganMs), ...rest };
}
