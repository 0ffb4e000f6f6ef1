import { describe, expect, it } from 'vitest';
import { DEVIATIONS } from './deviations.ts';
import { deviationsDocument } from './deviations-document.ts';
import { recordedCases } from './recorded-cases.ts';

const SECTIONS = ['code', 'utils', 'judge', 'framework', 'runEvals', 'trace', 'legacy'] as const;

describe('the list of deviations', () => {
  it('stands in the documentation as it is checked', async () => {
    await expect(deviationsDocument()).toMatchFileSnapshot('../../docs/deviations.md');
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
