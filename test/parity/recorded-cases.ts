import { readFileSync } from 'node:fs';
import * as evals from '../../src/scorers/evals/index.ts';
import * as utils from '../../src/scorers/shared/utils.ts';
import { decode, encode } from '../fixtures/parity/codec.mjs';
import { makeFns } from '../fixtures/parity/fns.mjs';

/** One recorded call of the reference packages; fields by section. */
export interface RecordedCase {
  readonly id: string;
  readonly [field: string]: unknown;
}

export type Section = 'code' | 'utils' | 'judge' | 'framework' | 'runEvals' | 'trace' | 'sampling' | 'legacy';

/** Address of the recorded cases. */
export const CASES_FILE = new URL('../fixtures/parity/cases.json', import.meta.url);
const { sections } = JSON.parse(readFileSync(CASES_FILE, 'utf8')) as {
  sections: Record<Section, RecordedCase[]>;
};

/** The sections of the recording, empty ones too. */
export const SECTIONS = Object.keys(sections) as Section[];

/** The recorded cases of a section, still encoded. */
export function recordedCases(section: Section): RecordedCase[] {
  return sections[section];
}

const fns = makeFns(utils, evals);

/** A recorded value as it was, with functions by their name in the fixture. */
export function revive(value: unknown): unknown {
  return decode(value, fns);
}

/** A value as the recording would hold it, so that sets, dates and undefined compare. */
export function record(value: unknown): unknown {
  return encode(value);
}
