// Traces as an operator gets them: the OpenTelemetry SDK in the process, our spans in it.
import { context, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { machineToken, signIn } from '../world/app.ts';
import { introspection } from '../world/presented-tokens.ts';
import { get, post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { type OpenWorld, PASSWORDS, SECRETS, startWorld } from '../world/world.ts';

const exporter = new InMemorySpanExporter();
let world: OpenWorld;

beforeAll(async () => {
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
  world = await startWorld();
});
afterAll(async () => {
  await world.stop();
  trace.disable();
  context.disable();
});
beforeEach(() => exporter.reset());

const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId;

describe('a trace', () => {
  it('has a span for the request, and in it those for the engine, the signature and each store operation', async () => {
    const { accessToken } = { accessToken: await machineToken(world, 'reports.read') };
    exporter.reset();
    const answer = await introspection(world, accessToken);
    expect(answer.body['active']).toBe(true);
    const [request] = named('request');
    expect(request?.attributes).toEqual({ 'http.route': 'introspection', 'http.response.status_code': 200 });
    const [engine] = named('engine');
    expect(parentOf(engine)).toBe(request?.spanContext().spanId);
    const [found] = named('store records.find');
    expect(found?.spanContext().traceId).toBe(request?.spanContext().traceId);

    exporter.reset();
    await machineToken(world, 'reports.read');
    const [signature] = named('sign access token');
    const token = named('request').find(({ attributes }) => attributes['http.route'] === 'token');
    expect(signature?.spanContext().traceId).toBe(token?.spanContext().traceId);
  });

  it('goes on with the caller’s, where its headers name one (W3C Trace Context)', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    await get(world, '/oauth/jwks.json', { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    expect(named('request')[0]?.spanContext().traceId).toBe(traceId);
    await get(world, '/oauth/jwks.json', { traceparent: 'nonsense' });
    expect(named('request')[1]?.spanContext().traceId).not.toBe(traceId);
  });

  it('has each request for a document that many ask for', async () => {
    const { log } = world.recorded.telemetry;
    const before = log.level;
    // As in production: at level debug everything goes through the middleware.
    log.level = 'info';
    for (let count = 0; count < 3; count += 1) await get(world, '/oauth/jwks.json');
    log.level = before;
    expect(named('request').map(({ attributes }) => attributes['http.route'])).toEqual([
      'jwks',
      'jwks',
      'jwks',
    ]);
  });

  it('IN-10: holds no token, no secret, no name of a person and no path that a stranger made up', async () => {
    const { tokens } = await signIn(world);
    await get(world, '/made/up/path?secret=canary-query');
    await post(
      world,
      '/oauth/token',
      { grant_type: 'canary-grant' },
      { authorization: basic('web', 'wrong') },
    );
    const exported = JSON.stringify(
      exporter
        .getFinishedSpans()
        .map(({ name, attributes, status, events }) => [name, attributes, status, events]),
    );
    const { access_token: accessToken, refresh_token: refreshToken = '' } = tokens;
    for (const secret of [
      accessToken,
      refreshToken,
      SECRETS.web,
      PASSWORDS.alice,
      'alice',
      'canary',
      'made',
    ]) {
      expect(exported).not.toContain(secret);
    }
  });
});
