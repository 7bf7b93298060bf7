// Devices that poll, and users who approve them, at two processes at once (RFC 8628 §3.5): only what the store decides.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { complete, finishPages, titleOf } from '../../world/person.ts';
import { introspect } from '../../world/presented-tokens.ts';
import { rounds } from '../../world/rounds.ts';
import { startTwoProcesses } from '../../world/two-processes.ts';
import { PEOPLE, type StoreName } from '../../world/world.ts';
import { askForCodes, DEVICE_CONFIG, isConfirmPage, isDonePage, letIn, poll, typeCode } from './device.ts';
import { useStarted } from '../../world/started.ts';

const ROUNDS = rounds(50, 3);

function fail(): never {
  throw new Error('there are two browsers');
}

describe.each<StoreName>(['lmdb', 'redis'])('at two processes on %s', (storeName) => {
  const two = useStarted(() => startTwoProcesses(storeName, DEVICE_CONFIG, {}, { slowMs: 3 }));

  it('PR-13: polls are counted together', async () => {
    const [first, second] = two().nodes;
    const asked = await askForCodes(first);
    expect((await poll(first, asked)).body['error']).toBe('authorization_pending');
    expect((await poll(second, asked)).body['error']).toBe('slow_down');
    expect((await poll(first, asked)).body['error']).toBe('slow_down');
  });

  it(`one answer is taken of two browsers that answer at once, in ${ROUNDS} rounds`, async () => {
    const ANSWERS = [
      ['confirm', 'confirm'],
      ['confirm', 'abort'],
      ['abort', 'abort'],
    ] as const;
    const browsers = await Promise.all(
      (['alice', 'bob'] as const).map(async (person, node) => {
        const at = two().nodes[node] ?? two().nodes[0];
        return { at, person, browser: (await complete(at, person)).browser };
      }),
    );
    for (let round = 1; round <= ROUNDS; round += 1) {
      for (const answers of ANSWERS) {
        const asked = await askForCodes(two().nodes[0]);
        const pages = await Promise.all(
          browsers.map(({ at, browser, person }) => typeCode(browser, at, asked.userCode, person)),
        );
        expect(pages.map(isConfirmPage)).toEqual([true, true]);
        const told = await Promise.all(
          browsers.map(({ browser }, index) =>
            browser.submit(pages[index] ?? fail(), '/device', { [answers[index] ?? '']: 'yes' }),
          ),
        );
        const winner = told.findIndex(({ status }) => status === 200);
        const name = `round ${round}: ${answers.join()}`;
        expect(told.map(({ status }) => String(status)).toSorted(), name).toEqual(['200', '422']);
        expect(told.find(({ status }) => status === 422)?.text).toContain(
          'That code is wrong or has expired.',
        );
        const { browser, person } = browsers[winner] ?? fail();
        const page = await finishPages(browser, told[winner] ?? fail(), person);
        const { status, body } = await poll(two().nodes[1], asked);
        if (answers[winner] === 'abort') {
          expect([titleOf(page), body['error']], name).toEqual(['Request denied', 'access_denied']);
        } else {
          expect([isDonePage(page), status], name).toEqual([true, 200]);
          expect(decodeJwt(String(body['id_token'])).sub).toBe(PEOPLE[person]);
        }
      }
    }
  });

  it(`PR-15: one approval is one token, of twenty polls at once, in ${ROUNDS} rounds`, async () => {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const [first, second] = two().nodes;
      const asked = await askForCodes(round % 2 === 0 ? first : second);
      await letIn(first, asked);
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_poll, index) => poll(index % 2 === 0 ? first : second, asked)),
      );
      const errors = answers.map(({ status, body }) => `${status} ${String(body['error'])}`);
      expect(errors.toSorted(), `round ${round}`).toEqual([
        '200 undefined',
        ...Array.from({ length: 19 }, () => '400 invalid_grant'),
      ]);
      expect((await poll(second, asked)).body['error']).toBe('invalid_grant');
      // A late poll isn't treated as theft.
      const token = answers.find(({ status }) => status === 200)?.body['access_token'];
      expect((await introspect(second, String(token)))['active']).toBe(true);
    }
  });
});
