/** The one story that every agent here plays. `model-server.ts` answers it. */
export const MODEL = 'gpt-4o-mini';
export const MODEL_URL = process.env.MODEL_URL;
export const API_KEY = 'none';
export const SYSTEM = 'You are a weather assistant.';
export const QUESTION = 'What is the weather in Paris?';
export const HISTORY = [
  { role: 'user', content: 'Hi, I am Ann.' },
  { role: 'assistant', content: 'Hello Ann!' },
];
export const TURN = [...HISTORY, { role: 'user', content: QUESTION }];
export const SESSION = 'sess-1';
export const USER = 'user-9';
export const TOOL = 'get_weather';
export const TOOL_DESCRIPTION = 'Get weather for a city';

export function getWeather({ city }) {
  return { city, tempC: 18, sky: 'rain' };
}
