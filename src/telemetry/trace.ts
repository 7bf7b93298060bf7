// Spans, by the OpenTelemetry API alone: without the operator's SDK (`node --import`) they cost a function call and go
// nowhere. Owns names and attributes, which hold nothing that a caller sent.
import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

const TRACER = 'postern';

/** Bounded values only: routes, operations, numbers. */
export type Attributes = Readonly<Record<string, string | number>>;

/** Runs `work` in a span that what it does is part of, and marks it failed when `work` rejects. */
export async function inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  return trace.getTracer(TRACER).startActiveSpan(name, { attributes }, (span) => settle(span, work));
}

/** A request's own span, part of the caller's trace where its headers name one (W3C Trace Context). */
export async function inServerSpan(
  name: string,
  headers: Readonly<Record<string, unknown>>,
  work: (end: (attributes: Attributes) => void) => Promise<void>,
): Promise<void> {
  const parent = propagation.extract(context.active(), headers);
  const options = { kind: SpanKind.SERVER };
  return trace
    .getTracer(TRACER)
    .startActiveSpan(name, options, parent, (span) =>
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
