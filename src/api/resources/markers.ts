import { z } from '@hono/zod-openapi';
import { DATE_WORDS, parseMomentMs } from '../../config/index.ts';
import { createList, describePage, CURSOR_FIELDS } from '../lists/cursors.ts';
import { FILTER_FIELDS, NoQuery } from '../lists/fields.ts';
import { describeRoute, createRouter, describeBody, describeJson, tenantStore } from '../router.ts';
import { Series, Time, isoTime } from '../json/rows.ts';
import type { DeployMarker, Deploy } from '../../domain/deploy-marker.ts';
import type { VersionComparison } from '../../monitors/version-compare.ts';

const name = z.string().min(1).max(1_000);
const optionalName = z.string().max(1_000).default('');

const Marker = z
  .object({
    tenant: z.string(),
    service: z.string(),
    agent: z.string().describe("'' for all agents of the service."),
    version: z.string().describe("Version of the service; '' when only that of the agent is known."),
    agentVersion: z.string(),
    origin: z.enum(['seen', 'api']),
    at: Time.nullable(),
  })
  .openapi('Marker');

const NewMarker = z
  .strictObject({
    service: name,
    agent: optionalName,
    version: optionalName,
    agentVersion: optionalName,
    at: z.iso
      .datetime({ offset: true, abort: true, error: `write ${DATE_WORDS}` })
      .refine((text) => parseMomentMs(text, 0) !== undefined, { error: `write ${DATE_WORDS}` })
      .optional()
      .describe('From 1970-01-01 to 2262-04-11. Default: now.'),
  })
  .refine(({ version, agentVersion }) => version !== '' || agentVersion !== '', {
    path: ['version'],
    error: 'give version (of the service), agentVersion or both',
  })
  .openapi('NewMarker');

const Side = z.object({ mean: z.number().nullable(), count: z.number() });
const Comparison = z
  .object({
    service: z.string(),
    version: z.string(),
    deployedAt: Time.nullable(),
    series: Series,
    verdict: z.enum(['learning', 'worse', 'not_shown']),
    before: Side,
    after: Side,
    evidenceLog10: z.number().nullable(),
  })
  .openapi('VersionComparison');

const markerList = createList('markers');

const listMarkers = describeRoute('get', '/markers', {
  tag: 'markers',
  summary: 'First uses of versions, newest first.',
  request: { query: z.strictObject({ ...CURSOR_FIELDS, since: FILTER_FIELDS.since }) },
  replies: { 200: describeJson('A page of markers.', describePage(Marker)) },
});

const recordMarker = describeRoute('post', '/markers', {
  tag: 'markers',
  summary: 'Announces a version.',
  request: { query: NoQuery, body: describeBody(NewMarker) },
  replies: { 201: describeJson('The marker.', Marker) },
});

const compareVersion = describeRoute('get', '/markers/compare', {
  tag: 'markers',
  summary: 'Effect of a version on each series.',
  request: { query: z.strictObject({ version: name }) },
  replies: { 200: describeJson('The series.', describePage(Comparison)) },
});

export function createMarkerRoutes() {
  return createRouter()
    .openapi(listMarkers, async (c) => {
      const { markers, nowMs } = tenantStore(c.var);
      const { filters, page } = markerList.readQuery(c.req.valid('query'), await nowMs());
      return c.json(markerList.toReply(await markers.list(filters, page), markerJson), 200);
    })
    .openapi(recordMarker, async (c) => {
      const store = tenantStore(c.var);
      const { service, agent, version, agentVersion, at } = c.req.valid('json');
      const atMs = at === undefined ? await store.nowMs() : Date.parse(at);
      const marker = { service, agent, serviceVersion: version, agentVersion, origin: 'api', atMs } as const;
      const { markers } = await store.openWrites('marker.record', { kind: 'service', id: service });
      return c.json(markerJson(await markers.record(marker)), 201);
    })
    .openapi(compareVersion, async (c) => {
      const compared = await tenantStore(c.var).markers.compare(c.req.valid('query').version);
      const items = compared.flatMap(({ deploy, comparisons }) =>
        comparisons.map((comparison) => deployJson(deploy, comparison)),
      );
      return c.json({ items, next: null }, 200);
    });
}

/** Formats a deploy marker as JSON; times in ISO 8601. */
export function markerJson({ atMs, serviceVersion, ...rest }: DeployMarker) {
  return { ...rest, version: serviceVersion, at: isoTime(atMs) };
}

/** Formats the effect of a deploy on a series as JSON; times in ISO 8601. */
export function deployJson(
  { service, version, atMs }: Pick<Deploy, 'service' | 'version' | 'atMs'>,
  { series, effect, ...numbers }: VersionComparison,
) {
  return { service, version, deployedAt: isoTime(atMs), series, verdict: effect, ...numbers };
}
