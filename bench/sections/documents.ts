// Discovery and JWKS against an app of the same framework that does nothing.
import { measureRounds, rateRatio } from '../rounds.ts';
import * as section from '../section.ts';
import { Connection } from '../wire.ts';

const EMPTY = 'empty Koa app';

const DOCUMENTS = { discovery: '/.well-known/openid-configuration', JWKS: '/oauth/jwks.json' };

export async function documents(stage: section.Stage): Promise<section.Findings> {
  const koa = await stage.serveSubject('empty-koa.ts', (port) => [port]);
  const services = await section.onBothStores(stage);
  const subjects = [section.loaded(EMPTY, koa.pid, { url: koa.url })];
  const targets: { readonly what: string; readonly name: string }[] = [];
  for (const service of services) {
    for (const [what, path] of Object.entries(DOCUMENTS)) {
      const url = `${service.issuer}${path}`;
      const name = `${service.name}, ${what}`;
      // Answered from memory on either store.
      const headers = await conditionOf(service.issuer, path);
      subjects.push(section.loaded(name, service.pid, { url }));
      if (service === services[0]) {
        subjects.push(section.loaded(`${name}, 304`, service.pid, { url, headers }));
      }
      targets.push({ what: `${what} rate / empty Koa: ${service.name}`, name });
    }
  }
  const rounds = await measureRounds(subjects, stage.options);
  const toEmpty = (name: string) => rateRatio(rounds, name, EMPTY);
  return {
    tables: [section.tableOf('Discovery and JWKS', rounds, { '× empty Koa': toEmpty })],
    targets: targets.map(({ what, name }) => section.atLeast(what, toEmpty(name), 0.8)),
    notes: ['304: asked with the ETag of the last answer.'],
    raw: section.plain(rounds),
  };
}

/** Throws unless it is answered 304. Not by fetch, which adds Cache-Control: no-cache to such a request. */
async function conditionOf(issuer: string, target: string): Promise<{ 'if-none-match': string }> {
  const headers = { 'if-none-match': (await fetch(`${issuer}${target}`)).headers.get('etag') ?? '' };
  const connection = new Connection(issuer);
  const { status } = await connection.ask({ method: 'GET', target, headers });
  connection.close();
  if (status !== 304) throw new Error(`${target} with its ETag was answered ${status}`);
  return headers;
}
