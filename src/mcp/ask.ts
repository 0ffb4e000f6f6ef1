import { readErrorMessage } from '../domain/errors.ts';

/** Request that a tool cannot answer. Its message tells the caller what to do. */
export class ToolFault extends Error {
  override readonly name = 'ToolFault';
  /** Status of the API; 0 for a fault of the arguments. */
  readonly status: number;

  constructor(message: string, status = 0) {
    super(message);
    this.status = status;
  }
}

/** Values of the parameters of a request; undefined ones are left out. */
type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** API as tools use it. Throws a `ToolFault` for a request that the API refuses. */
export interface Asked {
  read<Body>(path: string, query?: Query): Promise<Body>;
  write<Body>(path: string, body: object): Promise<Body>;
}

/** Sends a request to a path of the API with its query. */
export type SendRequest = (path: string, init: RequestInit) => Promise<Response>;

interface Problem {
  readonly title?: string;
  readonly detail?: string;
}

/** Creates the API for one call of a tool. Its requests end with the signal. */
export function createAsked(send: SendRequest, signal: AbortSignal): Asked {
  async function ask<Body>(path: string, init: RequestInit): Promise<Body> {
    const response = await send(path, { ...init, signal }).catch((cause: unknown) => {
      throw new ToolFault(`the API cannot be reached: ${readErrorMessage(cause)}; start spanscore serve`);
    });
    const text = await response.text();
    if (response.ok) {
      return JSON.parse(text) as Body;
    }
    throw new ToolFault(describeRefusal(response, text), response.status);
  }
  return {
    read: (path, query = {}) => {
      const search = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) {
        [value ?? []].flat().forEach((each) => search.append(name, String(each)));
      }
      return ask(search.size === 0 ? path : `${path}?${search.toString()}`, { method: 'GET' });
    },
    write: (path, body) =>
      ask(path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
  };
}

function describeRefusal({ status, headers }: Response, text: string): string {
  const wait = headers.get('retry-after');
  const { title, detail } = readProblem(text);
  const reason = detail ?? title ?? `the API answered with ${status}`;
  return wait === null ? reason : `${reason}; try again in ${wait} s`;
}

function readProblem(text: string): Problem {
  try {
    return JSON.parse(text) as Problem;
  } catch {
    return {};
  }
}
