// Spans, by the OpenTelemetry API alone: without the operator's SDK (`node --import`) they cost a function call and go nowhere.
// No attribute holds text that a caller sent.
import {
  context,
  propagation,
  ProxyTracerProvider,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';

const TRACER = 'postern';

/** Bounded values only: routes, operations, numbers. */
type Attributes = Readonly<Record<string, string | number>>;

/** Undefined without an SDK: then a span isn't worth the objects that it is made of. */
function findTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer(TRACER)
    : provider.getTracer(TRACER);
}

export function isTracing(): boolean {
  return findTracer() !== undefined;
}

/** Runs `work` in a span that what it does is part of, and marks it failed when `work` rejects. */
export function inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  const tracer = findTracer();
  if (tracer === undefined) return work();
  return tracer.startActiveSpan(name, { attributes }, (span) => settle(span, work));
}

/** A request's own span, part of the caller's trace where its headers name one (W3C Trace Context). */
export function inServerSpan(
  name: string,
  headers: Readonly<Record<string, unknown>>,
  work: (describe: (attributes: Attributes) => void) => Promise<void>,
): Promise<void> {
  const tracer = findTracer();
  if (tracer === undefined) return work(() => undefined);
  const parent = propagation.extract(context.active(), headers);
  return tracer.startActiveSpan(name, { kind: SpanKind.SERVER }, parent, (span) =>
    settle(span, () => work((attributes) => span.setAttributes({ ...attributes }))),
  );
}

async function settle<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Not the error's message: it may hold what a caller sent.
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
