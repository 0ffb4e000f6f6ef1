import { expect, it } from 'vitest';
import { conventionsDocument } from '../../../tools/docs/conventions-document.ts';
import { DESCRIBED_EMITTERS, EMITTERS } from '../../support/recordings/emitters.ts';
import { listExpectations } from '../../support/recordings/recorded-spans.ts';

it('docs/conventions.md lists the facts read from each emitter', async () => {
  await expect(conventionsDocument()).toMatchFileSnapshot('../../../docs/conventions.md');
});

it('names the emitter of every recording', () => {
  const names = (['spans', 'spans-multi'] as const).flatMap((folder) =>
    listExpectations<unknown>(folder).map(([name]) => name),
  );
  const starts = EMITTERS.flatMap((emitter) => emitter.cases);
  expect(names.filter((name) => !starts.some((start) => name.startsWith(start)))).toEqual([]);
});

it('has a described case for every emitter that it calls described', () => {
  const names = listExpectations<unknown>('spans-spec').map(([name]) => name);
  const starts = DESCRIBED_EMITTERS.flatMap((emitter) => emitter.cases);
  expect(starts.filter((start) => !names.some((name) => name.startsWith(start)))).toEqual([]);
});
