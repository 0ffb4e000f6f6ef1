import { describe, expect, it } from 'vitest';
import { cityHash128 } from '../../../../src/store/embedded/native/city-hash-128.ts';

/** Lengths around each border of the algorithm, with the hashes that ClickHouse's Go client (go-faster/city 1.0.1) gives. */
const KNOWN: readonly (readonly [length: number, hash: string])[] = [
  [0, '2b9ac064fc9df03d291ee592c340b53c'],
  [1, '6c3f2b804fab035a1ae9318a3c8aa858'],
  [3, '69053bb4846f8a36c545f97fb6add216'],
  [4, '851b233f6046ea40d53ad1363accf175'],
  [7, '13297cab5924bad760a43c510b43dd53'],
  [8, '9dc408594266b79f3b54556fbfb7e4c6'],
  [9, '6dc7aaa740bfe3a3fd7ab2912b216873'],
  [15, '0dcd2cee4c845b5f1c99b497dd137b48'],
  [16, 'c28438031f59074117f09fdb9937b82d'],
  [17, '8f029bf8fb1d4598fe7330ed3ff1a274'],
  [24, '160712c6cb473c2777285f4f2a8d7c8d'],
  [31, 'ee3dadbeb4df718cf965ea8a2e701684'],
  [32, 'b76081ed7ad2c17637e59c7559dfdf56'],
  [33, 'ba88f5dffad4efca3ea14de6c6e2ea96'],
  [48, '165cac05ce6dee7dd6c37bfff2a903a0'],
  [63, '7e2a84deb40754911ac47e5529e0abd1'],
  [64, '4ae382cb9950115a65ed9e951ca08998'],
  [65, 'c12a3d230ec62ea8eac397b89c5d378d'],
  [127, 'f675f6b1c31c538c072b3e47ccbe7fb6'],
  [128, '5923b539dbf0b6ed11810c6460ac64d9'],
  [143, 'f7c3ad6bf14590e26c7e6e336bda4aa1'],
  [144, 'd78b46281940befc7880294ccc54f00b'],
  [145, '37878f44830dc4d94544786d1054152c'],
  [159, 'd49a3e73bcdaadac3332ef7fca187250'],
  [160, 'd77f2c97f99c7430a163296815e65280'],
  [191, 'eddadcfeb76e0233fb40bcecefecfe63'],
  [192, '1aad91605678df8649cd492c2f052ff7'],
  [255, '7be61b40848dcc09890024d28e7a2c57'],
  [256, 'facfffa80ebdd2250fe5b90300ac5af1'],
  [271, 'e30384af7d47c0023db013a2a1d70d11'],
  [272, 'd9136112b67f502daaedac6cba53f5ac'],
  [300, 'a6c7643b15841c623925074ae5186eae'],
  [1000, '9f844d43528b5e2b641b2bf20eba4382'],
  [4096, '6d05d156971eedc126eb6c2f3928ab36'],
  [65537, '790eda099e1ab04f4b2e610fbaf4a9c0'],
];

function pattern(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (index * 31 + length) & 0xff));
}

describe('CityHash128 1.0.2', () => {
  it.each(KNOWN)('of %i bytes is the known one', (length, hash) => {
    expect(cityHash128(pattern(length)).toString('hex')).toBe(hash);
  });

  it('does not depend on where in memory the bytes lie', () => {
    const bytes = pattern(1000);
    const shifted = Buffer.concat([Buffer.from('abc'), bytes]).subarray(3);

    expect(cityHash128(shifted)).toEqual(cityHash128(bytes));
  });
});
