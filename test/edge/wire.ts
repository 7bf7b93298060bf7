export * from '../world/wire.ts';
export { sendBytes as exchange } from '../world/wire.ts';
