import { listSentences } from './sentences.ts';

/** Most units in one question; in a longer answer a unit contains several sentences. */
const MAX_UNITS = 200;

const CODE_FENCE = /^\s*(```|~~~)/;
const TABLE_ROW = /^\s*\|.*\|\s*$/;
/** A label of what follows, as a heading, a list item or plain: `### Insurance:`, `- **Price**:`. */
const LABEL = /[:：][*_]{0,3}$/u;
const LABEL_CHARS = 80;
const WORD = /[\p{L}\p{N}]/u;

/**
 * Lists the units of an answer that have words, in order: sentences, headings, rows of tables, blocks of code. A label forms one unit
 * with what follows it.
 */
export function answerUnits(answer: string): string[] {
  return grouped(joinLabels(splitAnswer(answer)));
}

/** Puts each label before the unit after it: `### Insurance:` and `- No` say something together only. */
function joinLabels(units: readonly string[]): string[] {
  const joined: string[] = [];
  let label = '';
  for (const unit of units) {
    const whole = label === '' ? unit : `${label}\n${unit}`;
    label = LABEL.test(unit) && whole.length <= LABEL_CHARS ? whole : '';
    if (label === '') {
      joined.push(whole);
    }
  }
  return label === '' ? joined : [...joined, label];
}

function splitAnswer(answer: string): string[] {
  const units: string[] = [];
  let prose: string[] = [];
  let code: string[] | undefined;
  const endProse = (): void => {
    if (prose.length > 0) {
      units.push(...listSentences(prose.join('\n')));
      prose = [];
    }
  };
  for (const line of answer.split('\n')) {
    if (CODE_FENCE.test(line)) {
      endProse();
      if (code !== undefined) {
        units.push(code.join('\n'));
      }
      code = code === undefined ? [] : undefined;
    } else if (code !== undefined) {
      code.push(line);
    } else if (TABLE_ROW.test(line)) {
      endProse();
      units.push(line.trim());
    } else if (WORD.test(line)) {
      prose.push(line);
    }
  }
  endProse();
  units.push((code ?? []).join('\n'));
  return units.filter((unit) => WORD.test(unit));
}

function grouped(units: readonly string[]): string[] {
  const size = Math.ceil(units.length / MAX_UNITS);
  const groups: string[] = [];
  for (let start = 0; start < units.length; start += size) {
    groups.push(units.slice(start, start + size).join(' '));
  }
  return groups;
}
