// What a short way is: an answer to a plain request that needs no engine. Owns the form of it; http/fast-path.ts asks.
import type { IncomingMessage } from 'node:http';

/** As the middleware has it: `requestId` and `clientAddress`. */
export type RequestState = { readonly requestId: string; readonly clientAddress: string };

/** Counts the request, does what it asks for and tells who is to hear of it. The body of the 200; throws what the host answers. */
export type Answering = () => Promise<object>;

/**
 * Resolves an `Answering` when everything about the request is plain and the answer is yes; undefined leaves it to the engine. Until
 * then nothing is counted, changed or told, and the request is as it was.
 */
export type ShortWay = (request: IncomingMessage, state: RequestState) => Promise<Answering | undefined>;
