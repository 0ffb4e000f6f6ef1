import { createRoute, z } from '@hono/zod-openapi';
import { DURATION_PATTERN, durationMs, parseDurationMs } from '../../config/index.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { muteJson, unmutedJson } from '../json/alert-json.ts';
import { createList, describeList } from '../lists/cursors.ts';
import { NoQuery } from '../lists/filters.ts';
import { createRouter, describeBody, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { Time } from './series-schema.ts';

const name = z.string().min(1).max(1_000);
/** Longest mute, milliseconds. */
const MAX_MUTE_MS = 3_650 * DAY_MS;

const duration = z
  .string()
  .refine((text) => (parseDurationMs(text) ?? 0) > 0, { error: 'write a duration: 30m, 2h, 7d' })
  .refine((text) => (parseDurationMs(text) ?? 0) <= MAX_MUTE_MS, { error: 'must be at most 3650d' })
  .openapi({ pattern: DURATION_PATTERN.source });
const SUBJECT =
  'Name of an alert, id of a series (`seriesId` of a monitor or an alert) or of an incident, or `*`: everything.';

export const Mute = z
  .object({
    tenant: z.string().describe('Tenant whose alerts are muted; `*`: all tenants.'),
    subject: z.string().describe(SUBJECT),
    until: Time.nullable(),
  })
  .openapi('Mute');

const NewMute = z
  .strictObject({ subject: name.describe(SUBJECT), for: duration.describe('`30m`, `2h`, `7d`.') })
  .openapi('NewMute');

const muteList = createList('mutes');

const listMutes = describeList('/mutes', {
  item: Mute,
  items: 'mutes',
  tag: 'alerts',
  summary: 'Mutes that are active, the latest begun first.',
});

const mute = createRoute({
  ...secureRoute('admin'),
  method: 'post',
  path: '/mutes',
  tags: ['alerts'],
  summary: 'Mutes an alert, a series, an incident or everything for a time.',
  request: { query: NoQuery, body: describeBody(NewMute) },
  responses: { 201: describeJson('The mute.', Mute), ...PROBLEMS },
});

const unmute = createRoute({
  ...secureRoute('admin'),
  method: 'delete',
  path: '/mutes',
  tags: ['alerts'],
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
  responses: { 200: describeJson('The subject.', z.object({ unmuted: z.string() })), ...PROBLEMS },
});

/** Creates the routes of mutes. */
export function createMuteRoutes() {
  return createRouter()
    .openapi(listMutes, async (c) => {
      const { alerts, nowMs } = tenantStore(c.var);
      const { page } = muteList.readQuery(c.req.valid('query'), await nowMs());
      return c.json(muteList.toReply(await alerts.listMutes(page), muteJson), 200);
    })
    .openapi(mute, async (c) => {
      const store = tenantStore(c.var);
      const { subject, for: time } = c.req.valid('json');
      const subjects = [{ kind: 'alert', id: subject }] as const;
      const { alerts } = await store.openWrites({ action: 'mute.set', subjects });
      const muted = await alerts.mute(subject, (await store.nowMs()) + durationMs(time));
      return c.json(muteJson(muted), 201);
    })
    .openapi(unmute, async (c) => {
      const { subject: id, tenant } = c.req.valid('query');
      const subjects = [{ kind: 'alert', id }] as const;
      const { alerts } = await tenantStore(c.var).openWrites({ action: 'mute.end', subjects });
      return c.json(unmutedJson(await alerts.unmute(id, tenant)), 200);
    });
}
