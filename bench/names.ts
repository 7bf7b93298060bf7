// Users and clients that the measured services have. All secrets here are made up.

export const SECRET = 'bench-secret-Ab3Cd5Ef7Gh9Ij1Kl3Mn5Op7Qr9St';
export const PASSWORD = 'correct horse battery staple 27';
export const REDIRECT_URI = 'https://app.example/callback';
export const SCOPE = 'reports.read';
export const RESOURCE = 'urn:example:api';

/** The service `bench`, which also introspects, and the app `web`. */
export const BENCH = { authorization: `Basic ${btoa(`bench:${SECRET}`)}` };
export const WEB = { authorization: `Basic ${btoa(`web:${SECRET}`)}` };

export const personName = (index: number): string => `person-${index}`;
export const personId = (index: number): string => `usr_bench${String(index).padStart(16, '0')}`;
export const claimsOf = (index: number) => ({
  email: `${personName(index)}@example.com`,
  name: `Person ${index}`,
});
