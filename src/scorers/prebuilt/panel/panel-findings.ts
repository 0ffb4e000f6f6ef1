import type { Verdict } from '../../../domain/score.ts';
import type { EvidenceSource } from '../shared/evidence/evidence.ts';
import { findHolder, listVerdicts, verifySentence } from '../shared/evidence/grounded-sentence.ts';
import type { GroundedSentence, GroundingVerdict } from '../shared/evidence/grounded-sentence.ts';
import { buildFinding } from '../shared/build-finding.ts';
import type { PanelQuality } from './panel-options.ts';
import type { PanelReply, SentenceEntry } from './panel-reply.ts';
import type { PanelFindings } from './panel-rows.ts';

/** Content of a run that verdicts are checked against. */
export interface PanelReading {
  readonly sentences: readonly string[];
  /** Sources that back a sentence, by number. */
  readonly sources: ReadonlyMap<number, EvidenceSource>;
  /** True when passages of the evidence did not fit into the question. */
  readonly isCut: boolean;
  /** Instructions of the operator and words of the user. */
  readonly spoken: ReadonlyMap<number, EvidenceSource>;
}

/** Builds the findings of a reply. Quotes are searched in code: the judge's word alone backs no claim and sets no instruction. */
export function buildPanelFindings(
  reply: PanelReply,
  qualities: readonly PanelQuality[],
  reading: PanelReading,
): PanelFindings {
  const build = (quality: PanelQuality): Verdict[] => {
    if (quality === 'grounding') {
      return listVerdicts(reply.sentences.map((entry, index) => ground(entry, index, reading)));
    }
    return quality === 'instructions'
      ? listInstructions(reply, reading)
      : reply.sentences.map(({ words, reasons }, index) =>
          buildFinding(reading.sentences[index] ?? '', words[quality] ?? '', reasons[quality] ?? ''),
        );
  };
  return Object.fromEntries(qualities.map((quality) => [quality, build(quality)]));
}

/** Checks one sentence against the evidence. What only unread evidence could back stays unchecked. */
function ground(
  { words, quotes, reasons }: SentenceEntry,
  index: number,
  reading: PanelReading,
): GroundedSentence {
  const judged = {
    verdict: words.grounding as GroundingVerdict,
    quotes,
    reason: reasons['grounding'] ?? '',
  };
  const checked = verifySentence(reading.sentences[index] ?? '', judged, reading.sources);
  return reading.isCut && checked.verdict === 'unsupported'
    ? { ...checked, verdict: 'unchecked', reason: '' }
    : checked;
}

function listInstructions({ instructions }: PanelReply, { spoken }: PanelReading): Verdict[] {
  return instructions.map(({ quote, verdict, reason }) => {
    const holder = findHolder(quote, spoken);
    return holder === undefined
      ? buildFinding(quote, 'unverified', 'the quote stands in nothing that operator or user said')
      : { ...buildFinding(quote, verdict, verdict === 'broken' ? reason : ''), quote, ...holder };
  });
}
