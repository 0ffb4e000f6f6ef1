import { computed, signal } from '@preact/signals';
import { BASE_PATH } from './base-path.ts';
import { matchPath } from './view-models/paths/match-path.ts';
import { keepFrame, readFrame } from './view-models/frame.ts';
import { fillPath, type Query } from './view-models/paths/fill-path.ts';

const address = signal(readAddress());

function readAddress(): { path: string; search: string } {
  return { path: location.pathname.slice(BASE_PATH.length), search: location.search };
}

/** Page of the current address; undefined for a path of no page. */
export const place = computed(() => matchPath(address.value.path));

/** Path of the current address. */
export const path = computed(() => address.value.path);

/** Query of the current address. */
export const query = computed(() => new URLSearchParams(address.value.search));

/** Filters of the bar of the frame, as the routes of the API take them. */
export const frame = computed(() => readFrame(address.value.path, query.value));

/** Writes an address with the filters of the bar, unless it names them. */
export function framed(path: string, parameters: Query = {}): string {
  return keepFrame(fillPath(path, {}, parameters), query.value);
}

/** Goes to another address of the dashboard: the way back is a step of the browser's history. */
export function push(url: string): void {
  history.pushState(null, '', url);
  address.value = readAddress();
  scrollTo(0, 0);
}

/** Sets parameters of the query as an adjustment of the current page; '' and undefined remove one. */
export function adjustQuery(changes: Query): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) {
      if (one !== undefined && one !== '') {
        next.append(name, String(one));
      }
    }
  }
  history.replaceState(null, '', next.size === 0 ? location.pathname : `?${next.toString()}`);
  address.value = readAddress();
}

/** Follows links to pages of the dashboard without loading the document again. */
export function startRouter(): void {
  if (path.peek() === '/labels') {
    history.replaceState(null, '', `${BASE_PATH}/review${location.search}`);
    address.value = readAddress();
  }
  addEventListener('popstate', () => (address.value = readAddress()));
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link !== null && isPlainClick(event) && isPageLink(link)) {
      event.preventDefault();
      push(keepFrame(link.href, query.peek()));
    }
  });
}

function isPlainClick({ button, metaKey, ctrlKey, shiftKey, altKey, defaultPrevented }: MouseEvent): boolean {
  return button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey && !defaultPrevented;
}

function isPageLink({ href, target, origin, pathname, hash }: HTMLAnchorElement): boolean {
  return (
    href !== '' &&
    target === '' &&
    hash === '' &&
    origin === location.origin &&
    pathname.startsWith(`${BASE_PATH}/`) &&
    matchPath(pathname.slice(BASE_PATH.length)) !== undefined
  );
}
