import { writeFileSync } from 'node:fs';
import { scorersPage } from '../support/scorer-pages/scorers-page.ts';

/** Where the page is kept. */
export const SCORERS_PAGE = new URL('../../docs/scorers.md', import.meta.url);

if (import.meta.main) {
  writeFileSync(SCORERS_PAGE, await scorersPage());
}
