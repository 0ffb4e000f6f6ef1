import { writeFileSync } from 'node:fs';
import { scorersPage } from '../support/scorer-pages.ts';

writeFileSync(new URL('../../docs/scorers.md', import.meta.url), scorersPage());
