import type { ScopeSurvey } from '../../conventions/index.ts';
import { cleanLine } from './clean-text.ts';

/** Number of keys shown; `--json` shows more. */
const KEYS_SHOWN = 8;

/** Formats the emitter (service and scope) of a line. */
export function showScope({ service, scope }: Pick<ScopeSurvey, 'service' | 'scope'>): string {
  return `${cleanLine(service, 40) || '(no service)'} · ${cleanLine(scope, 60) || '(no scope)'}`;
}

/** Returns a line on attributes of an emitter that no convention read; empty when all were read. */
export function showUnread(one: Pick<ScopeSurvey, 'service' | 'scope' | 'unreadAttributes'>): string[] {
  const { unreadAttributes } = one;
  const shown = unreadAttributes.slice(0, KEYS_SHOWN).map(({ key }) => cleanLine(key, 60));
  const more = unreadAttributes.length > shown.length ? `, … (${unreadAttributes.length})` : '';
  return shown.length === 0
    ? []
    : [
        `${showScope(one)}: attributes that spanscore does not read, longest text first: ${shown.join(', ')}${more}`,
      ];
}
