import { describe, expect, it } from 'vitest';
import { listKeywords } from '../../../../src/scorers/prebuilt/keyword-coverage.ts';

describe('keywords', () => {
  it('are cut out of scripts that write without spaces, grammar left out', () => {
    expect([...listKeywords('東京の人口は何人ですか')]).toEqual(['東京', '人口', '何人']);
  });

  it('keep web addresses as they are and drop markup', () => {
    expect([...listKeywords('See <b>the</b> https://example.com/A?x=1 <> "page"')]).toEqual([
      'https://example.com/A?x=1',
      'page',
    ]);
  });

  it('of hostile text take one pass over it', () => {
    const hostile = '<'.repeat(2_000_000);
    expect([...listKeywords(hostile)]).toEqual([]);
  });
});
