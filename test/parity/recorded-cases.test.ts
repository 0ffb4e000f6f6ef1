import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { heldToDecision } from './allowed-difference.ts';
import { COMPARISONS } from './comparisons.ts';
import { DECISIONS } from './deviations.ts';
import { deviationsDocument } from './deviations-document.ts';
import { formatChange } from './outcome.ts';
import { CASES_FILE, recordedCases, SECTIONS } from './recorded-cases.ts';

const listed = new Map(DECISIONS.flatMap(({ number, cases }) => cases.map((id) => [id, number] as const)));
const compared = new Set<string>();
const changes = new Map<string, string>();

describe.each(SECTIONS.filter((section) => recordedCases(section).length > 0))('recorded: %s', (section) => {
  it.each(recordedCases(section))('$id', async (recorded) => {
    const comparison = await COMPARISONS[section](recorded);
    compared.add(recorded.id);
    const decision = listed.get(recorded.id);
    const isListed = decision !== undefined;
    if (isListed) {
      changes.set(recorded.id, formatChange(comparison));
    }
    const { ours, recorded: wanted } = isListed ? heldToDecision(decision, comparison) : comparison;
    expect(ours).toEqual(wanted);
  });
});

describe('the suite', () => {
  it('has compared every case that the fixture holds', () => {
    const fixture = JSON.parse(readFileSync(CASES_FILE, 'utf8')) as {
      sections: Record<string, { id: string }[]>;
    };
    const ids = Object.values(fixture.sections).flatMap((cases) => cases.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect([...compared].sort()).toEqual([...ids].sort());
  });

  it('lists recorded cases only, each once', () => {
    const ids = DECISIONS.flatMap(({ cases }) => cases);
    expect(ids.filter((id) => !compared.has(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has its list in the documentation, with what came of each case', async () => {
    const document = deviationsDocument(changes, compared.size);
    await expect(document).toMatchFileSnapshot('../../docs/evidence/deviations.md');
  });
});
