import { describe, expect, it } from 'vitest';
import { DEFAULT_FLEET } from '../../../bench/fleet/fleet-settings.ts';
import { readFleetOptions } from '../../../bench/fleet/read-fleet-options.ts';

describe('the options of the simulation', () => {
  it('are the defaults without arguments', () => {
    expect(readFleetOptions([])).toEqual(DEFAULT_FLEET);
  });

  it('replace the numbers that they name', () => {
    expect(readFleetOptions(['--scorers', '8', '--newest-share', '0.25', '--kill-every-s', '0'])).toEqual({
      ...DEFAULT_FLEET,
      scorers: 8,
      newestShare: 0.25,
      killEveryS: 0,
    });
  });

  it.each([
    [['--scorers', '1.5'], '--scorers is "1.5": write a whole number, from 1 to 1024'],
    [['--scorers', '0'], '--scorers is "0": write a whole number, from 1 to 1024'],
    [['--judge-ms', 'slow'], '--judge-ms is "slow": write a number, 1 or more'],
    [['--judge-ms', ''], '--judge-ms is "": write a number, 1 or more'],
    [['--newest-share', '2'], '--newest-share is "2": write a number, from 0 to 1'],
    [['--shards', '3'], "Unknown option '--shards'"],
  ])('refuse %j with the option and its range', (args, message) => {
    expect(() => readFleetOptions(args)).toThrow(message);
  });
});
