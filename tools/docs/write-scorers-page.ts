import { writeFileSync } from 'node:fs';
import { scorersPage } from './scorer-pages/scorers-page.ts';

/** Address of the page. */
export const SCORERS_PAGE = new URL('../../docs/scorers.md', import.meta.url);

if (import.meta.main) {
  writeFileSync(SCORERS_PAGE, await scorersPage());
}
