/** Most units in one question; in a longer answer a unit contains several sentences. */
const MAX_UNITS = 200;

const CODE_FENCE = /^\s*(```|~~~)/;
const TABLE_ROW = /^\s*\|.*\|\s*$/;
const HEADING = /^\s*#{1,6}\s/;
const QUESTION = /[?？]["”»)]?$/u;
const WORD = /[\p{L}\p{N}]/u;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Lists the units of an answer that may state something, in order: sentences, rows of tables, blocks of code. Headings,
 * questions and lines without words are left out.
 */
export function answerUnits(answer: string): string[] {
  const stating = splitAnswer(answer, (line) => !HEADING.test(line));
  return grouped(stating.filter((unit) => !QUESTION.test(unit.trim())));
}

/** Lists all units of an answer that have words, in order, with its headings and questions. */
export function allUnits(answer: string): string[] {
  return grouped(splitAnswer(answer, () => true));
}

function splitAnswer(answer: string, isTaken: (line: string) => boolean): string[] {
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
    } else if (WORD.test(line) && isTaken(line)) {
      prose.push(line);
    }
  }
  endProse();
  units.push((code ?? []).join('\n'));
  return units.filter((unit) => WORD.test(unit));
}

/**
 * Lists sentences; each ends at the end of its line at the latest. Takes all lines at once, because starting the search costs
 * more than the search in a short line.
 */
function listSentences(lines: string): string[] {
  const sentences: string[] = [];
  let isNewLine = true;
  for (const { segment } of segmenter.segment(lines)) {
    // A bare number or bullet belongs to what follows it, a bare closing mark to what it closes.
    const last = isNewLine ? undefined : sentences.at(-1);
    if (last !== undefined && (!WORD.test(segment) || /^\W*\d+[.)]$/.test(last))) {
      sentences[sentences.length - 1] = `${last} ${segment.trim()}`.trim();
    } else {
      sentences.push(segment.trim());
    }
    isNewLine = segment.endsWith('\n');
  }
  return sentences;
}

function grouped(units: readonly string[]): string[] {
  const size = Math.ceil(units.length / MAX_UNITS);
  const groups: string[] = [];
  for (let start = 0; start < units.length; start += size) {
    groups.push(units.slice(start, start + size).join(' '));
  }
  return groups;
}
