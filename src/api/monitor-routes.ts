import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { checkValue, durationMs, parseDurationMs } from '../config/index.ts';
import type { AlertEvent } from '../monitors/alert-event.ts';
import { isMuted, type Mute } from '../monitors/mute.ts';
import type { MonitorStatus } from '../monitors/monitor-status.ts';
import type { VersionComparison } from '../monitors/version-compare.ts';
import type { AlertStore, MarkerStore, StatusQuery } from '../store/contracts/monitors.ts';
import { alertJson, type AlertReplies } from './alert-json.ts';
import { answerErrors } from './answer-errors.ts';
import type { Caller, Route } from './api.ts';
import { deployJson } from './deploy-json.ts';
import { markerJson } from './marker-json.ts';
import { monitorJson } from './monitor-json.ts';
import { sendJson } from './problem.ts';
import { requestJson } from './request-json.ts';
import { pageJson, pageQuery } from './request-query.ts';
import { isoTime } from './time-json.ts';

/** Stores and clock of these routes. An undefined tenant means all tenants. */
export interface MonitorRouteDeps {
  /** Returns the states of the configured rules. */
  readonly standings: (page: Omit<StatusQuery, 'ruleKeys'>) => Promise<readonly MonitorStatus[]>;
  readonly alerts: Pick<AlertStore, 'list' | 'mutes' | 'acknowledged'>;
  readonly markers: MarkerStore;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
  /** Returns the series that got worse with a version of a service or an agent, for each service that has it. */
  readonly compare: (
    version: string,
    tenant: string | undefined,
  ) => Promise<
    readonly {
      readonly deploy: Parameters<typeof deployJson>[0];
      readonly comparisons: readonly VersionComparison[];
    }[]
  >;
  readonly acknowledge: (incidentId: string, tenant: string | undefined) => Promise<AlertEvent>;
  readonly mute: (mute: { subject: string; untilMs: number; tenant: string | undefined }) => Promise<Mute>;
  readonly unmute: (subject: string, tenant: string | undefined) => Promise<Mute>;
}

/** Creates the routes for monitors, alerts and deploy markers. */
export function monitorRoutes(deps: MonitorRouteDeps): Route[] {
  return [
    get('/api/v1/monitors', (request, caller) => listMonitors(deps, request, caller)),
    get('/api/v1/alerts', (request, caller) => listAlerts(deps, request, caller)),
    get('/api/v1/markers', (request, caller) => listMarkers(deps, request, caller)),
    get('/api/v1/markers/compare', async (request, { tenant }) => {
      const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
      const { version } = checkValue(VERSION, Object.fromEntries(searchParams));
      const compared = await deps.compare(version, tenant);
      const items = compared.flatMap(({ deploy, comparisons }) =>
        comparisons.map((comparison) => deployJson(deploy, comparison)),
      );
      return { items };
    }),
    post('/api/v1/markers', 201, async (body, { tenant }) => {
      const { service, agent, version, agentVersion, at } = checkValue(MARKER, body);
      const atMs = at === undefined ? await deps.nowMs() : Date.parse(at);
      const marker = {
        tenant: tenant ?? '',
        service,
        agent,
        serviceVersion: version,
        agentVersion,
        origin: 'api',
        atMs,
      } as const;
      await deps.markers.record(marker);
      return markerJson(marker);
    }),
    post('/api/v1/alerts/ack', 200, async (body, { tenant }) => {
      const { alert, incidentId } = await deps.acknowledge(checkValue(INCIDENT, body).incident, tenant);
      return { acknowledged: incidentId, alert };
    }),
    post('/api/v1/alerts/mute', 200, async (body, { tenant }) => {
      const { subject, for: time } = checkValue(MUTE, body);
      const untilMs = (await deps.nowMs()) + durationMs(time);
      const muted = await deps.mute({ subject, untilMs, tenant });
      return { muted: muted.subject, until: isoTime(muted.untilMs) };
    }),
    post('/api/v1/alerts/unmute', 200, async (body, { tenant }) => {
      const { subject } = await deps.unmute(checkValue(SUBJECT, body).subject, tenant);
      return { unmuted: subject };
    }),
  ];
}

const name = z.string().min(1).max(1_000);
const optionalName = z.string().max(1_000).default('');
const MARKER = z
  .strictObject({
    service: name,
    agent: optionalName,
    version: optionalName,
    agentVersion: optionalName,
    at: z.iso.datetime({ offset: true }).optional(),
  })
  .refine(({ version, agentVersion }) => version !== '' || agentVersion !== '', {
    path: ['version'],
    error: 'give version (of the service), agentVersion or both',
  });
const VERSION = z.strictObject({ version: name });
const INCIDENT = z.strictObject({ incident: name });
const SUBJECT = z.strictObject({ subject: name });
const MUTE = z.strictObject({
  subject: name,
  for: z
    .string()
    .refine((text) => (parseDurationMs(text) ?? 0) > 0, { error: 'write a duration: 30m, 2h, 7d' }),
});

async function listMonitors(
  { standings, ...deps }: MonitorRouteDeps,
  request: IncomingMessage,
  caller: Caller,
) {
  const replies = await readReplies(deps);
  const page = pageQuery(request, replies.nowMs);
  const statuses = await standings({ tenant: caller.tenant, ...page });
  const items = statuses.map((status) => ({
    ...monitorJson(status),
    muted: isMuted({ ...status, incidentId: status.incidentId ?? '' }, replies.mutes, replies.nowMs),
  }));
  return pageJson(items, page);
}

async function listAlerts({ alerts, nowMs }: MonitorRouteDeps, request: IncomingMessage, caller: Caller) {
  const replies = await readReplies({ alerts, nowMs });
  const page = pageQuery(request, replies.nowMs);
  const events = await alerts.list({ tenant: caller.tenant, ...page });
  return pageJson(
    events.map((event) => alertJson(event, replies)),
    page,
  );
}

async function listMarkers({ markers, nowMs }: MonitorRouteDeps, request: IncomingMessage, caller: Caller) {
  const page = pageQuery(request, await nowMs());
  return pageJson((await markers.list({ tenant: caller.tenant, ...page })).map(markerJson), page);
}

async function readReplies({
  alerts,
  nowMs,
}: Pick<MonitorRouteDeps, 'alerts' | 'nowMs'>): Promise<AlertReplies> {
  const [mutes, acknowledged, now] = await Promise.all([alerts.mutes(), alerts.acknowledged(), nowMs()]);
  return { mutes, acknowledged, nowMs: now };
}

function get(path: string, answer: (request: IncomingMessage, caller: Caller) => Promise<unknown>): Route {
  return {
    method: 'GET',
    path,
    scope: 'read',
    handle: answerErrors(async (request, response, caller) =>
      sendJson(response, 200, await answer(request, caller)),
    ),
  };
}

function post(
  path: string,
  status: number,
  answer: (body: unknown, caller: Caller) => Promise<unknown>,
): Route {
  return {
    method: 'POST',
    path,
    scope: 'admin',
    handle: answerErrors(async (request, response, caller) =>
      sendJson(response, status, await answer(await requestJson(request), caller)),
    ),
  };
}
