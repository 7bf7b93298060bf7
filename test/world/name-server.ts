// A name server with scripted answers, which records the names that it is asked for.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';

/** The answers to one name in turn, the last one repeated: addresses of both families, or `-> name` for a CNAME. */
export type Answers = readonly (readonly string[])[];

const [A, CNAME, AAAA] = [1, 5, 28] as const;

export class NameServer {
  /** Every name that was asked for; a question for each of the two families counts once. */
  readonly asked: string[] = [];
  readonly #answers = new Map<string, Answers>();
  readonly #times = new Map<string, number>();
  readonly #socket = createSocket('udp4');

  async listen(): Promise<void> {
    this.#socket.on('message', (query, { port, address }) => {
      const answer = this.#answer(query);
      if (answer !== undefined) this.#socket.send(answer, port, address);
    });
    this.#socket.bind(53, '127.0.0.1');
    await once(this.#socket, 'listening');
  }

  /** Starts again with the first of `answers`. Without answers the server is silent. */
  script(name: string, answers: Answers): void {
    this.#answers.set(name, answers);
    this.#times.clear();
  }

  #answer(query: Buffer): Buffer | undefined {
    const { name, end } = readName(query);
    const type = query.readUInt16BE(end);
    if (type === A) this.asked.push(name);
    const answers = this.#answers.get(name);
    if (answers?.length === 0) return undefined;
    const times = this.#times.get(`${name} ${type}`) ?? 0;
    this.#times.set(`${name} ${type}`, times + 1);
    const records = (answers?.[Math.min(times, answers.length - 1)] ?? []).flatMap((one) =>
      recordOf(one, type),
    );
    const head = Buffer.from(query.subarray(0, 12));
    // A response, recursion available; NXDOMAIN for a name that isn't in the script.
    head.writeUInt16BE(answers === undefined ? 0x81_83 : 0x81_80, 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    return Buffer.concat([head, query.subarray(12, end + 4), ...records]);
  }
}

function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

/** One record, if it has the requested type. A CNAME comes with the addresses of its target: 127.0.0.1 and ::1. */
function recordOf(answer: string, type: number): readonly Buffer[] {
  if (answer.startsWith('-> ')) {
    const target = encodeName(answer.slice(3));
    const [address] = type === A ? recordOf('127.0.0.1', A) : recordOf('::1', AAAA);
    // The address belongs to the target of the CNAME.
    return [
      toRecord(NAME_OF_QUESTION, CNAME, target),
      ...(address ? [Buffer.concat([target, address.subarray(2)])] : []),
    ];
  }
  if (isIP(answer) === 4 && type === A)
    return [toRecord(NAME_OF_QUESTION, A, Buffer.from(answer.split('.').map(Number)))];
  if (isIP(answer) === 6 && type === AAAA) return [toRecord(NAME_OF_QUESTION, AAAA, bytesOf(answer))];
  return [];
}

/** A compression pointer to byte 12, the name in the question. */
const NAME_OF_QUESTION = Buffer.from([0xc0, 0x0c]);

function toRecord(name: Buffer, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([name, fixed, data]);
}

function encodeName(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function bytesOf(address: string): Buffer {
  // URL writes the IPv4 part of an address in IPv6 as two groups.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail = ''] = plain.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [
    ...groups(head),
    ...Array<string>(plain.includes('::') ? missing : 0).fill('0'),
    ...groups(tail),
  ];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
