import { expect, it } from 'vitest';
import { byteSize, parseByteSize } from '../../../src/config/units.ts';

it('reads sizes in powers of 1024', () => {
  const read = ['12B', '4KiB', '256MiB', '1GiB'].map((text) => byteSize(text));
  expect(read).toEqual([12, 4_096, 268_435_456, 1_073_741_824]);
});

it('takes nothing else for a size, and says how one is written', () => {
  expect(['256', '1.5GiB', '256MB', '-1B', ''].map((text) => parseByteSize(text))).toEqual(
    Array.from({ length: 5 }),
  );
  expect(() => byteSize('256MB')).toThrow('"256MB" is no size: write a number and a unit, like 256MiB');
});
