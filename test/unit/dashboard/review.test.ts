import { describe, expect, it } from 'vitest';
import { findLabelAction, listActions } from '../../../src/dashboard/view-models/label-keys.ts';

const OPEN = { isStored: false, isSending: false };
const STORED = { isStored: true, isSending: false };
const SENDING = { isStored: false, isSending: true };

describe('the keys of a reviewer', () => {
  it.each([
    ['p', OPEN, 'pass'],
    ['f', OPEN, 'fail'],
    ['e', OPEN, 'note'],
    ['s', OPEN, 'skip'],
    ['n', OPEN, undefined],
    ['x', OPEN, undefined],
    ['n', STORED, 'next'],
    ['p', STORED, undefined],
    ['p', SENDING, undefined],
  ])('%s does what fits the state of the target %o', (key, state, action) => {
    expect(findLabelAction(key, state)).toBe(action);
  });

  it('are shown as buttons while they do something', () => {
    expect(listActions(STORED)).toEqual(['next']);
    expect(listActions(SENDING)).toEqual([]);
  });
});
