import { judgeFaults, replyJson, replyText, type JudgeScript, type ScriptedReply } from './judge-server.ts';

/** The faults that a trace can ask for by naming them in its answer, `fault:<name>`. */
export const ANSWER_FAULTS: Record<string, () => ScriptedReply> = {
  garbage: judgeFaults.garbage,
  unauthorised: judgeFaults.unauthorised,
  'rate-limited': () => judgeFaults.rateLimited('1'),
  'server-error': () => judgeFaults.serverError(500),
  html: judgeFaults.html,
  refusal: judgeFaults.refusal,
  nothing: judgeFaults.empty,
  'break-off': judgeFaults.breakOff,
  'wrong-schema': judgeFaults.wrongSchema,
};

/** The one JSON document in a scorer's prompt: trace material between two marker lines. */
function readMaterial(prompt: string): Record<string, unknown> {
  const json = prompt.split('\n').find((line) => line.startsWith('{'));
  return json === undefined ? {} : (JSON.parse(json) as Record<string, unknown>);
}

/**
 * A judge for the groundedness scorers: takes each sentence as a claim and holds every claim for false, except where the
 * material asks for a fault.
 */
export const verdictJudge: JudgeScript = ({ prompt, body }) => {
  const fault = /fault:([a-z-]+)/.exec(JSON.stringify(body.messages))?.[1];
  const faulty = fault === undefined ? undefined : ANSWER_FAULTS[fault];
  if (faulty !== undefined) {
    return faulty();
  }
  const material = readMaterial(prompt);
  if (typeof material['answer'] === 'string') {
    return replyJson({ claims: [material['answer']] });
  }
  const { claims } = material;
  if (typeof claims === 'object' && claims !== null) {
    return replyJson({
      verdicts: Object.keys(claims).map((n) => ({
        n: Number(n),
        verdict: 'yes',
        reason: 'so it is',
        quote: '',
      })),
    });
  }
  return replyText('The claims do not hold.');
};
