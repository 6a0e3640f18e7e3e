import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type RequestBody, streamBody } from '../../../src/library/body.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import type { Connection, HttpReply } from '../../../src/library/transport/types.ts';
import { apis, completionsReply, type Route } from '../lane/apis.ts';
import type { Batch, Ending, Entry, Reply, Result } from '../lane/batch-server.ts';
import type { WatchedFolder } from './folder.ts';

/** How the gateway answers. All but `refused` are billed; of what is `silent`, nothing comes back. */
export type Behaviour = 'ok' | 'cut' | 'refused' | 'broken' | 'silent';

export interface Payment {
  asked: string;
  how: Behaviour;
  text: string;
  run: number;
  folder: WatchedFolder;
  /** `recorded`: its result is on the disk; `held`: the service has it. */
  fate: 'lost' | 'recorded' | 'held';
  /** Its result was once on the disk for sure. */
  isSafe: boolean;
  /** The user's word allows to pay for the same again. */
  isRetired: boolean;
}

/** A process that asks. */
export interface Asking {
  run: number;
  folder: WatchedFolder;
  /** Nothing that it asks arrives any more. */
  isDead(): boolean;
  /** It can be killed here. */
  pass(name: string): void;
  random: () => number;
  next(): Behaviour;
  /** A batch has ended when it is looked at first, as it waits; else when it is looked at for the second time. */
  waits: boolean;
}

interface HeldBatch extends Batch {
  results: Result[];
  payments: Payment[];
}

interface Reading {
  origin: string;
  model: string;
  prompt: string;
}

/** What a row asks with the answers that it uses. */
export const askWith = (base: string, texts: readonly string[]): string => `${base} ${texts.join('|')}`;

const words = /^(t\d+ \d+(?: use)?) ?(.*)$/s;

function toAsked({ origin, model, prompt }: Reading): string {
  const [, own = prompt, text = ''] = words.exec(prompt) ?? [];
  return askWith(`${origin} ${model} ${own}`, text === '' ? [] : [text]);
}

const reasons = { ok: 'stop', cut: 'length', broken: 'content_filter', silent: '', refused: '' } as const;

/** Answers what it is asked, and keeps what was paid for. It knows no slot and no journal. */
export class CountingGateway {
  readonly payments: Payment[] = [];
  /** The first run that asked something, whether it was paid or refused. */
  readonly askedBy = new Map<string, number>();
  /** And the last one. */
  readonly askedLast = new Map<string, number>();
  readonly batches: HeldBatch[] = [];
  readonly #files = new Map<string, string>();

  /** The connections of a process. */
  connect(asking: Asking): Connection {
    return {
      close: async () => undefined,
      fetch: async ({ method = 'POST', url, body }, call) => {
        const text = await readBody(body);
        await call.beforeSend?.();
        if (asking.isDead()) throw new GatewayError('not-sent', 'the process is dead', { sent: 'no', billed: 'no' });
        call.onSent?.();
        for (let turns = Math.floor(asking.random() * 3); turns > 0; turns--) await yieldToEventLoop();
        if (asking.isDead()) throw noReply();
        const { origin, pathname, search } = new URL(url.href);
        const reply = this.#answer(`${method} ${pathname}${search}`, text, origin, asking);
        asking.pass('arrived');
        if (reply === undefined) throw noReply();
        return toHttp(reply);
      },
    };
  }

  #pay(asked: string, { run, folder, next }: Asking): Payment | undefined {
    if (!this.askedBy.has(asked)) this.askedBy.set(asked, run);
    this.askedLast.set(asked, run);
    const how = next();
    if (how === 'refused') return undefined;
    const text = `answer ${this.payments.length + 1}`;
    const payment: Payment = { asked, how, text, run, folder, fate: 'lost', isSafe: false, isRetired: false };
    this.payments.push(payment);
    return payment;
  }

  /** Undefined: nothing comes back. */
  #answer(line: string, body: string, origin: string, asking: Asking): Reply | undefined {
    if (line !== 'POST /v1/chat/completions') return this.#route(origin, asking)(line, body, undefined as never).act();
    const payment = this.#pay(readAsked(JSON.parse(body), origin), asking);
    if (payment === undefined)
      return { status: 400, body: { error: { message: 'no', type: 'invalid_request_error' } } };
    const { how, text } = payment;
    return how === 'silent' ? undefined : { body: completionsReply({ text, reason: reasons[how] }) };
  }

  #route(origin: string, asking: Asking): Route {
    const own = (): HeldBatch[] => this.batches.filter(({ id }) => id.endsWith(origin.replaceAll(/\W/g, '_')));
    const find = (id: string): HeldBatch | undefined => own().find((batch) => batch.id === id);
    const look = (batch: HeldBatch): void => {
      if (asking.waits || ++batch.polls > 1) batch.state = 'ended';
    };
    const poll = (id: string, show: (batch: Batch) => object): Reply => {
      const batch = find(id);
      if (batch === undefined) return { status: 404, body: { error: { message: 'not found' } } };
      look(batch);
      return { body: show(batch) };
    };
    return apis.completions({
      server: undefined as never,
      files: this.#files,
      create: (name, entries) => {
        const payments: Payment[] = [];
        const results: Result[] = [];
        for (const { key, body } of entries) {
          const payment = this.#pay(readAsked(body, origin), asking);
          if (payment) payments.push(payment);
          const ending = endingOf(payment);
          if (ending !== undefined) results.push({ key, ending });
        }
        // A service that has no result at all says so: such a batch is waited for.
        const [first] = payments;
        if (results.length === 0 && first) {
          first.how = 'ok';
          results.push({ key: (entries[0] as Entry).key, ending: { text: first.text } });
        }
        const id = `batch_${this.batches.length + 1}_${origin.replaceAll(/\W/g, '_')}`;
        const batch: HeldBatch = {
          id,
          name,
          entries,
          polls: 0,
          state: 'running',
          at: 1_700_000_000 + this.batches.length,
          results,
          payments,
        };
        this.batches.unshift(batch);
        return batch;
      },
      find,
      list: (show) => own().map(show),
      poll,
      cancel: poll,
      results: (batch) => (batch as HeldBatch).results,
    });
  }
}

function endingOf(payment: Payment | undefined): Exclude<Ending, 'missing'> | undefined {
  if (payment === undefined) return { error: 'no' };
  const { how, text } = payment;
  return how === 'silent' ? undefined : { text, reason: reasons[how] };
}

function readAsked(body: unknown, origin: string): string {
  const { model, messages } = body as { model: string; messages: { content: string }[] };
  return toAsked({ origin, model, prompt: messages.at(-1)?.content ?? '' });
}

function noReply(): GatewayError {
  return new GatewayError('no-reply', 'the connection broke', { sent: 'yes' });
}

async function readBody(body: RequestBody): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of streamBody(body)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

function toHttp({ status = 200, headers, body = {} }: Reply): HttpReply {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  async function* read(): AsyncGenerator<Uint8Array, void> {
    yield bytes;
  }
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: read() };
}
