// Discovery and JWKS against an app of the same framework that does nothing.
import { measureRounds, rateRatio } from '../rounds.ts';
import * as section from '../section.ts';

const EMPTY = 'empty Koa app';

export async function documents(stage: section.Stage): Promise<section.Findings> {
  const koa = await stage.serveSubject('empty-koa.ts', (port) => [port]);
  const { pid, issuer } = await stage.postern({ name: 'postern', store: stage.lmdb('lmdb') });
  const names = { discovery: '/.well-known/openid-configuration', JWKS: '/oauth/jwks.json' };
  const rounds = await measureRounds(
    [
      section.loaded(EMPTY, koa.pid, { url: koa.url }),
      ...Object.entries(names).map(([name, path]) => section.loaded(name, pid, { url: `${issuer}${path}` })),
    ],
    stage.options,
  );
  const toEmpty = (name: string) => rateRatio(rounds, name, EMPTY);
  const because = 'each request is counted, measured, checked and given its headers';
  return {
    tables: [section.tableOf('Discovery and JWKS', rounds, { '× empty Koa': toEmpty })],
    targets: Object.keys(names).map((name) =>
      section.atLeast(`${name} rate / empty Koa`, toEmpty(name), 0.8, because),
    ),
    raw: section.plain(rounds),
  };
}
