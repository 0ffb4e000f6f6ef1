import { judgeFaults, replyJson, replyText, type JudgeScript, type ScriptedReply } from './judge-server.ts';

/** Faults by name. A trace requests one with `fault:<name>` in its answer. */
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

/** Reads the one JSON document in a scorer's prompt: trace material between two marker lines. */
function readMaterial(prompt: string): Record<string, unknown> {
  const json = prompt.split('\n').find((line) => line.startsWith('{'));
  return json === undefined ? {} : (JSON.parse(json) as Record<string, unknown>);
}

/**
 * Judge for the groundedness scorers. Returns each sentence as a claim and rejects every claim, unless the material
 * requests a fault.
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
