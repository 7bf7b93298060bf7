// RFC 8628: a device without a browser, and the person who lets it in.
import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import {
  askForCodes,
  DEVICE_CONFIG,
  isConfirmPage,
  isDonePage,
  letIn,
  poll,
  typeCode,
} from '../world/device.ts';
import { eachStore } from '../world/each-store.ts';
import { newBrowser } from '../world/person.ts';
import { API, PEOPLE } from '../world/world.ts';

eachStore(
  'a device',
  (world) => {
    it('comes in once its person has said yes to its code', async () => {
      const asked = await askForCodes(world());
      const { issuer } = world();
      expect(asked.answer.body).toEqual({
        device_code: asked.deviceCode,
        user_code: asked.userCode,
        verification_uri: `${issuer}/device`,
        verification_uri_complete: `${issuer}/device?user_code=${asked.userCode}`,
        expires_in: 600,
        interval: 5,
      });
      expect(asked.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
      expect((await poll(world(), asked)).body['error']).toBe('authorization_pending');

      const browser = newBrowser(world());
      expect(isConfirmPage(await typeCode(browser, world(), asked.userCode))).toBe(true);
      const done = await letIn(world(), asked, { browser });
      expect([done.status, isDonePage(done)]).toEqual([200, true]);

      const { status, body } = await poll(world(), asked);
      expect([status, Object.keys(body).toSorted()]).toEqual([
        200,
        ['access_token', 'expires_in', 'id_token', 'refresh_token', 'scope', 'token_type'],
      ]);
      expect(decodeJwt(String(body['access_token']))).toMatchObject({
        sub: PEOPLE.alice,
        client_id: 'tv',
        aud: [API, world().issuer],
        scope: 'openid offline_access reports.read',
      });
      expect((await poll(world(), asked)).body['error']).toBe('invalid_grant');
    });
  },
  { config: DEVICE_CONFIG },
);
