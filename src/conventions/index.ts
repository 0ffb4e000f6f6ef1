/** From spans to agent runs: the entry point `spanscore/conventions`. */
export { decodeTraces, type DecodedTraces } from './traces/decode-traces.ts';
export { joinTraces } from './traces/join-traces.ts';
export type { JoinedTrace } from '../domain/trace/span.ts';
export {
  MAX_PIECE_SPANS,
  readPiece as pieceOf,
  readTogether,
  readTrace,
  readTraceInSlices,
  readTraces,
} from './traces/read-traces.ts';
export type { TracePiece } from '../domain/trace/span.ts';
export { CONVENTIONS } from './registry.ts';
export { suggestTable } from './advice/suggest-table.ts';
export { listFacts, type StatedFact } from './advice/list-facts.ts';
export {
  createSurvey,
  surveyTrace,
  type NotUnderstoodSurvey,
  type ScopeSurvey,
  type Survey,
} from './advice/survey.ts';
export type { ConventionTable } from '../domain/trace/convention-table.ts';
export type { Convention } from './normalised-span.ts';
export type * from '../domain/trace/agent-run.ts';
export type * from '../domain/trace/messages.ts';
