import { cleanLine } from './clean-text.ts';
import type { ScopeSurvey } from '../../conventions/index.ts';

/**
 * Formats the target for people: the session, or the trace, its run or span when there are several, and the tenant when there is one,
 * because two tenants may send the same trace id.
 */
export function showTarget(row: { tenant: string; traceId: string; targetId?: string }): string {
  const { tenant, traceId, targetId = '' } = row;
  const name = traceId === '' ? `session ${targetId}` : targetId.startsWith(traceId) ? targetId : traceId;
  return cleanLine(tenant === '' ? name : `${tenant} ${name}`, 120);
}

/** Formats numbers by reason as a list of at most one part, for a line of counts. */
export function showReasons(kind: string, reasons: Readonly<Record<string, number>>): string[] {
  const entries = Object.entries(reasons).map(([code, count]) => `${count} ${code}`);
  return entries.length === 0 ? [] : [`${kind}: ${entries.join(', ')}`];
}

/** Number of keys shown; `--json` shows more. */
const KEYS_SHOWN = 8;

/** Formats keys of attributes: the first ones, and the number of all. */
export function showKeys(keys: readonly string[]): string {
  const shown = keys.slice(0, KEYS_SHOWN).map((key) => cleanLine(key, 60));
  return `${shown.join(', ')}${keys.length > shown.length ? `, … (${keys.length})` : ''}`;
}

/** Formats the emitter (service and scope) of a line. */
export function showScope({ service, scope }: Pick<ScopeSurvey, 'service' | 'scope'>): string {
  return `${cleanLine(service, 40) || '(no service)'} · ${cleanLine(scope, 60) || '(no scope)'}`;
}

/** Returns a line on attributes of an emitter that no convention read; empty when all were read. */
export function showUnread(one: Pick<ScopeSurvey, 'service' | 'scope' | 'unreadAttributes'>): string[] {
  const keys = one.unreadAttributes.map(({ key }) => key);
  return keys.length === 0
    ? []
    : [`${showScope(one)}: attributes that spanscore does not read, longest text first: ${showKeys(keys)}`];
}
