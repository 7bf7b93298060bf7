// An app of our framework that does nothing but answer: what no answer of ours can be cheaper than.
import Koa from 'koa';

const [port = '0'] = process.argv.slice(2);
const body = JSON.stringify({ text: 'a'.repeat(600) });
const app = new Koa();
app.use((ctx) => {
  ctx.type = 'json';
  ctx.body = body;
});
app.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
process.once('SIGTERM', () => process.exit(0));
