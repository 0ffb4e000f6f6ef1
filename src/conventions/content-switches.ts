import type { Span } from '../domain/span.ts';
import { CONTENT_SWITCHES, type ContentSwitch } from './content-switch-table.ts';

/** A span, and what it was read by. */
interface ReadSpan {
  readonly span: Span;
  readonly conventions: ReadonlyMap<string, number>;
}

/** What to switch on so that these spans carry content; a general hint for emitters that are not known. */
export function contentAdvice(spans: readonly ReadSpan[]): string {
  const known = contentSwitchOf(spans);
  const scope = spans.find(({ span }) => span.scopeName !== '')?.span.scopeName;
  const where = scope === undefined ? '' : ` (scope ${scope})`;
  return `${known?.setting ?? 'switch on the capture of message content in the emitter'}${where}`;
}

/** The switch of the emitter of these spans: told by a scope, else by a convention that only it speaks. */
export function contentSwitchOf(spans: readonly ReadSpan[]): ContentSwitch | undefined {
  const scopes = [...new Set(spans.map(({ span }) => span.scopeName))];
  return (
    find(scopes, (scope) => CONTENT_SWITCHES.find((one) => isOf(one, scope))) ??
    find(spans, ({ conventions }) =>
      CONTENT_SWITCHES.find((one) => one.conventions?.some((name) => conventions.has(name))),
    )
  );
}

function find<T, R>(items: readonly T[], pick: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = pick(item);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

function isOf({ scopes }: ContentSwitch, scope: string): boolean {
  return scopes.some((name) => (name.endsWith('*') ? scope.startsWith(name.slice(0, -1)) : scope === name));
}
