/** Paths of the pages of the dashboard: the server answers each with the one document, and the dashboard has a page for each. */
export const PAGE_PATHS = [
  '/',
  '/welcome',
  '/traces',
  '/traces/:traceId',
  '/scores/:scorer',
  '/sessions/:sessionId',
  '/coverage',
  '/alerts',
  '/judges',
  '/rules',
  '/compare',
  '/labels',
  '/backfills',
  '/status',
] as const;

export type PagePath = (typeof PAGE_PATHS)[number];
