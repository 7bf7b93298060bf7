// Who the measured services know: one service, one app, and people by number. All secrets here are made up.

export const SECRET = 'bench-secret-Ab3Cd5Ef7Gh9Ij1Kl3Mn5Op7Qr9St';
export const PASSWORD = 'correct horse battery staple 27';
export const REDIRECT_URI = 'https://app.example/callback';
export const SCOPE = 'reports.read';
export const RESOURCE = 'urn:example:api';

/** The service `bench`, which also introspects. */
export const BENCH_BASIC = { authorization: `Basic ${btoa(`bench:${SECRET}`)}` };
/** The app `web`. */
export const WEB_BASIC = { authorization: `Basic ${btoa(`web:${SECRET}`)}` };

export const personName = (index: number): string => `person-${index}`;
export const personId = (index: number): string => `usr_bench${String(index).padStart(16, '0')}`;
