import { requestBytes } from '../builders/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../builders/otlp-requests.ts';
import { framed, grpcCall } from './grpc-call.ts';
import { post, protobuf, type Address } from './otlp-post.ts';

/** Outcome of a request, the same for all protocols. */
type SendOutcome = 'acknowledged' | 'unauthenticated' | 'forbidden' | 'too large' | 'again' | 'refused';

/** Sends one span to a receiver of one protocol. `padding` is the number of additional bytes in the request. */
export type SendSpan = (
  address: Address,
  options?: { readonly token?: string; readonly padding?: number },
) => Promise<SendOutcome>;

const HTTP: Readonly<Record<number, SendOutcome>> = {
  200: 'acknowledged',
  401: 'unauthenticated',
  403: 'forbidden',
  413: 'too large',
  429: 'again',
  503: 'again',
};
const GRPC: Readonly<Record<number, SendOutcome>> = {
  0: 'acknowledged',
  7: 'forbidden',
  8: 'too large',
  14: 'again',
  16: 'unauthenticated',
};

const buildBody = (padding = 0) => requestBytes(traceRequest([jsonSpan({ name: 'x'.repeat(padding + 1) })]));
const buildHeaders = (token?: string) => (token === undefined ? {} : { authorization: `Bearer ${token}` });

/** A sender for each receiver that listens, by the name of the receiver's definition. */
export const SENDERS: Readonly<Record<string, SendSpan>> = {
  'otlp-http': async (address, { token, padding } = {}) => {
    const { status } = await post(address, protobuf(buildBody(padding), buildHeaders(token)));
    return HTTP[status] ?? 'refused';
  },
  'otlp-grpc': async (address, { token, padding } = {}) => {
    const body = framed(buildBody(padding));
    const { status } = await grpcCall(address, { headers: buildHeaders(token), body });
    return GRPC[status] ?? 'refused';
  },
};
