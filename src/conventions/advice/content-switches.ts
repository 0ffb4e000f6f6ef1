import { findFirst } from '../attributes.ts';
import type { Span } from '../../domain/trace/span.ts';
import type { ContentSwitch } from '../normalised-span.ts';
import { CONVENTIONS } from '../registry.ts';

/** A span, and the conventions that read it. */
interface ReadSpan {
  readonly span: Span;
  readonly conventions: ReadonlyMap<string, number>;
}

export const CONTENT_SWITCHES: readonly ContentSwitch[] = CONVENTIONS.flatMap(({ name, switches = [] }) =>
  [switches].flat().map((one, index) => ({ conventions: index === 0 ? [name] : [], ...one })),
);

/** Writes the advice which setting makes these spans carry content; a general hint for unknown emitters. */
export function contentAdvice(spans: readonly ReadSpan[]): string {
  const known = findContentSwitch(spans);
  const scope = spans.find(({ span }) => span.scopeName !== '')?.span.scopeName;
  const where = scope === undefined ? '' : ` (scope ${scope})`;
  return `${known?.setting ?? 'switch on the capture of message content in the emitter'}${where}`;
}

/** Finds the switch of the emitter of these spans: by scope, else by a convention that only this emitter uses. */
export function findContentSwitch(spans: readonly ReadSpan[]): ContentSwitch | undefined {
  const scopes = [...new Set(spans.map(({ span }) => span.scopeName))];
  const isPossible = ({ requires }: ContentSwitch): boolean =>
    requires === undefined || spans.some(({ conventions }) => conventions.has(requires));
  const possible = CONTENT_SWITCHES.filter(isPossible);
  return (
    findFirst(scopes, (scope) => findByScope(scope, possible)) ??
    findFirst(spans, ({ conventions }) =>
      CONTENT_SWITCHES.find((one) => one.conventions?.some((name) => conventions.has(name))),
    )
  );
}

/** Finds the switch with the longest matching name, so that a single scope is preferred to its family. */
function findByScope(scope: string, switches: readonly ContentSwitch[]): ContentSwitch | undefined {
  const found = switches.flatMap((one) =>
    one.scopes.filter((name) => matches(name, scope)).map(({ length }) => ({ one, length })),
  );
  return found.toSorted((a, b) => b.length - a.length)[0]?.one;
}

function matches(name: string, scope: string): boolean {
  return name.endsWith('*') ? scope.startsWith(name.slice(0, -1)) : scope === name;
}
