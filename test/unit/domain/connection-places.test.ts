import { describe, expect, it } from 'vitest';
import { ConnectionPlaces } from '../../../src/domain/connection-places.ts';

/** Takes places for connections named by their address and a letter; a name in capitals is busy. */
function placesOf(limits: { total: number; perAddress: number; kept: number }, ...names: string[]) {
  const places = new ConnectionPlaces(limits);
  const closed: string[] = [];
  const take = (name: string) => {
    const isBusy = () => name === name.toUpperCase();
    const connection = { address: name.slice(0, 1).toLowerCase(), isBusy, close: () => closed.push(name) };
    return { connection, place: places.take(connection) };
  };
  const taken = names.map(take);
  return { places, closed, take, taken };
}

describe('the places of connections', () => {
  it('are taken from the longest idle connection of the same address at its limit', () => {
    const { closed, take } = placesOf({ total: 9, perAddress: 2, kept: 0 }, 'bx', 'A1', 'a2');

    expect(take('a3').place).toBe('free');
    expect(closed).toEqual(['a2']);
  });

  it('are taken from the address with the most connections at the limit of all', () => {
    const { closed, take } = placesOf({ total: 4, perAddress: 3, kept: 0 }, 'bx', 'a1', 'a2', 'a3');

    expect(take('c1').place).toBe('free');
    expect(closed).toEqual(['a1']);
  });

  it('are refused or kept for probes when all are busy, and an idle probe gives way', () => {
    const { closed, take } = placesOf({ total: 9, perAddress: 1, kept: 1 }, 'A1');

    expect(['a2', 'A3', 'a4'].map((name) => take(name).place)).toEqual(['kept', 'kept', 'none']);
    expect(closed).toEqual(['a2']);
    expect(take('b1').place).toBe('free');
  });

  it('are free again when a connection has ended, and kept longer after work', () => {
    const { places, closed, take, taken } = placesOf({ total: 2, perAddress: 2, kept: 0 }, 'a1', 'a2');

    places.touch(taken[0]!.connection);
    take('a3');
    places.leave(taken[0]!.connection);
    expect(closed).toEqual(['a2']);
    expect(take('A4').place).toBe('free');
    expect(closed).toEqual(['a2']);
  });
});
