/** Paths of the pages of the dashboard: the server answers each with the one document, and the dashboard has a page for each. */
export const PAGE_PATHS = [
  '/',
  '/welcome',
  '/agents',
  '/agents/:agent',
  '/issues',
  '/issues/:issueId',
  '/traces',
  '/traces/:traceId',
  '/scores/:scorer',
  '/sessions',
  '/sessions/:sessionId',
  '/coverage',
  '/alerts',
  '/alerts/:incidentId',
  '/judges',
  '/rules',
  '/compare',
  '/labels',
  '/review',
  '/backfills',
  '/status',
] as const;

export type PagePath = (typeof PAGE_PATHS)[number];
