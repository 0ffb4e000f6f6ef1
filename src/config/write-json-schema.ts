import { writeFileSync } from 'node:fs';
import { jsonSchemaText } from './json-schema.ts';

/** Run by hand after a change of the schema: `node src/config/write-json-schema.ts`. A test tells when it was forgotten. */
writeFileSync(new URL('../../schemas/json/config.schema.json', import.meta.url), jsonSchemaText());
