import { fc } from '../fast-check.ts';

const SUBJECTS = [
  'I',
  'you',
  'we',
  'they',
  'she',
  'the customer',
  'our support team',
  'nobody',
  'Mary Johnson',
  'Dr. Smith',
  'the Bank of England',
  'Order 4711',
  'two parcels from Paris',
  'Will',
  'the people who waited',
  'UNESCO',
  'a very old house',
];
const AUXILIARIES = [
  '',
  'will',
  'would have',
  'has been',
  'were',
  'does not',
  "didn't",
  'can',
  'is going to',
  'had never',
  'should really',
  "won't",
];
const VERBS = [
  'ship',
  'shipped',
  'shipping',
  'ships',
  'walk away',
  'gave up',
  'thought about',
  'taken care of',
  'is',
  'be',
  'told',
  'wants to see',
  'help fix',
  'run',
  'lying',
  'retries',
  'marked',
  'overpaid',
];
const OBJECTS = [
  '',
  'the parcel',
  'it',
  'himself',
  'a full refund of 20 euros',
  'in New York, France and the west of Germany',
  'on Monday, July 6, 2021',
  "John's brother",
  'the well-known answer (which was wrong)',
  '"everything is fine"',
  'https://example.com/orders',
  'quickly and quietly',
  'ESTABLISHED RULES OF THE HOUSE',
  'café au lait',
];
const LINKS = [
  ' and ',
  ', but ',
  ' because ',
  '; ',
  ' if ',
  ', said ',
  ' while ',
  ' although ',
  ' - ',
  ' then ',
];
const ENDS = ['.', '!', '?', '...', '', ':'];

const clause = fc
  .tuple(
    fc.constantFrom(...SUBJECTS),
    fc.constantFrom(...AUXILIARIES),
    fc.constantFrom(...VERBS),
    fc.constantFrom(...OBJECTS),
  )
  .map((parts) => parts.filter((part) => part !== '').join(' '));

/**
 * Generates sentences of one to three clauses as people and agents write them, with names, places, contractions, questions
 * and mistakes.
 */
export const englishSentence: fc.Arbitrary<string> = fc
  .tuple(
    clause,
    fc.array(fc.tuple(fc.constantFrom(...LINKS), clause), { maxLength: 2 }),
    fc.constantFrom(...ENDS),
    fc.boolean(),
  )
  .map(([first, more, end, isTitled]) => {
    const text = `${first}${more.flat().join('')}${end}`;
    return isTitled ? `${text.slice(0, 1).toUpperCase()}${text.slice(1)}` : text;
  });
