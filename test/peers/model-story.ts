/** Words of the model in the one story. */
export const CALL = { id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' };
export const ANSWER = 'It is 18°C and rainy in Paris right now.';
/** Call of the tool that takes the final answer, in agents that force every reply into a call. */
export const FINAL_CALL = {
  id: 'call_2',
  name: 'final_answer',
  arguments: JSON.stringify({ response: ANSWER }),
};
/** Tokens of the call that asks for the tool, and of the one that answers. */
export const ASKED = { input: 81, output: 17 };
export const ANSWERED = { input: 112, output: 14 };
