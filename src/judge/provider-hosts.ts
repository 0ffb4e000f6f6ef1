import { isOwnNetwork } from '../config/addresses/private-addresses.ts';

/** Hosts of providers with many places, and their subdomains. */
const CLOUDS: readonly string[] = [
  'openai.com',
  'openai.azure.com',
  'services.ai.azure.com',
  'anthropic.com',
  'googleapis.com',
  'amazonaws.com',
  'groq.com',
  'mistral.ai',
  'openrouter.ai',
  'together.xyz',
  'together.ai',
  'fireworks.ai',
  'deepseek.com',
  'x.ai',
  'cohere.com',
  'cohere.ai',
  'deepinfra.com',
  'cerebras.ai',
  'nvidia.com',
  'huggingface.co',
  'cloudflare.com',
  'vercel.sh',
];

/** True for the address of a known cloud: it takes many calls at the same time. */
export function isCloud(baseURL: string): boolean {
  const host = URL.parse(baseURL)?.hostname ?? '';
  return CLOUDS.some((cloud) => host === cloud || host.endsWith(`.${cloud}`));
}

/** True for an address of this machine or of a private network: a model there may be slow. */
export function isLocal(baseURL: string): boolean {
  const url = URL.parse(baseURL);
  return url !== null && isOwnNetwork(url.hostname);
}
