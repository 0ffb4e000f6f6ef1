import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEVIATIONS } from './deviations.ts';
import { deviationsDocument } from './deviations-document.ts';
import { recordedCases } from './recorded-cases.ts';

const SECTIONS = ['code', 'utils', 'judge', 'framework', 'runEvals', 'trace', 'legacy'] as const;

describe('the list of deviations', () => {
  it('stands in the documentation as it is checked', () => {
    const document = readFileSync(new URL('../../docs/deviations.md', import.meta.url), 'utf8');
    expect(document).toBe(deviationsDocument());
  });

  it('names recorded cases only, each once', () => {
    const recorded = new Set(
      SECTIONS.flatMap((section) =>
        recordedCases(section).map(({ id }) => (section === 'utils' ? `utils/${id}` : id)),
      ),
    );
    const listed = Object.values(DEVIATIONS).flat();
    expect(listed.filter((id) => !recorded.has(id))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });
});
