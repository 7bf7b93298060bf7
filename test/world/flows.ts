export * from './app.ts';
export * from './authorization-request.ts';
export * from './person.ts';
export * from './presented-tokens.ts';
export * from './requests.ts';
export * from './token-endpoint.ts';
