/** From spans to agent runs: the entry point `spanscore/conventions`. */
export { decodeTraces, type DecodedTraces } from './decode-traces.ts';
export { joinTraces } from './join-traces.ts';
export type { JoinedTrace } from '../domain/joined-trace.ts';
export {
  MAX_PIECE_SPANS,
  readPiece as pieceOf,
  readTogether,
  readTrace,
  readTraceInSlices,
  readTraces,
} from './read-traces.ts';
export type { TracePiece } from '../domain/joined-trace.ts';
export { CONVENTIONS } from './registry.ts';
export {
  createSurvey,
  surveyTrace,
  type NotUnderstoodSurvey,
  type ScopeSurvey,
  type Survey,
} from './survey.ts';
export type { Convention } from './normalised-span.ts';
export type * from '../domain/agent-run.ts';
export type * from '../domain/messages.ts';
