import { writeFileSync } from 'node:fs';
import { deviationsDocument } from './deviations-document.ts';

writeFileSync(new URL('../../docs/deviations.md', import.meta.url), deviationsDocument());
