import { expect, it } from 'vitest';
import { LruMap } from '../../../src/domain/lru-map.ts';

const keysOf = (map: LruMap<string>) => ['a', 'b', 'c', 'd'].filter((key) => map.get(key) !== undefined);

it('drops what was used least recently: by the number of entries, and by their size', () => {
  const map = new LruMap<string>({ maxEntries: 3, maxSize: 6 }, (text) => text.length);
  map.set('a', '1');
  map.set('b', '1');
  map.set('c', '1');
  map.get('a');
  map.set('d', '1');
  expect(keysOf(map)).toEqual(['a', 'c', 'd']);

  map.set('c', '12345');

  expect(keysOf(map)).toEqual(['c', 'd']);
});

it('counts the size of a key once, and keeps no value above the limit', () => {
  const map = new LruMap<string>({ maxSize: 4 }, (text) => text.length);
  map.set('a', '123');
  map.set('a', '12');
  map.set('b', '12');
  expect(keysOf(map)).toEqual(['a', 'b']);

  map.set('b', '12345');
  map.delete('c');

  expect(keysOf(map)).toEqual(['a']);
});
