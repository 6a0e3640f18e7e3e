import type { SimulatedDisk } from './disk.ts';
import type { Place } from '../../../src/batch/folder/slots.ts';

/** How the gateway answers. All but `refused` are billed; of what is `silent`, nothing comes back. */
export type Behaviour = 'ok' | 'cut' | 'refused' | 'broken' | 'silent';

export interface Payment {
  asked: string;
  how: Behaviour;
  text: string;
  run: number;
  disk: SimulatedDisk | undefined;
  /** Where its result was written. */
  result: Place | undefined;
  /** `recorded`: its result is on the disk; `held`: the service has it. */
  fate: 'lost' | 'recorded' | 'held';
  /** Its result was once on the disk for sure. */
  isSafe: boolean;
  /** The user's word allows to pay for the same again. */
  isRetired: boolean;
}

export interface SimulatedReply {
  t: 'done' | 'incomplete' | 'failed' | 'unknown';
  text?: string;
  payment?: Payment;
}

interface ServiceBatch {
  mark: string;
  id: string;
  results: ({ name: string } & SimulatedReply)[];
}

/** Answers what it is asked, and keeps what was paid for. It knows no slot and no journal. */
export class CountingGateway {
  readonly payments: Payment[] = [];
  readonly batches: ServiceBatch[] = [];
  readonly #next: () => Behaviour;

  constructor(next: () => Behaviour) {
    this.#next = next;
  }

  pay(asked: string, run: number): SimulatedReply {
    const how = this.#next();
    if (how === 'refused') return { t: 'failed' };
    const text = `answer ${this.payments.length + 1}`;
    const payment: Payment = {
      asked,
      how,
      text,
      run,
      disk: undefined,
      result: undefined,
      fate: 'lost',
      isSafe: false,
      isRetired: false,
    };
    this.payments.push(payment);
    if (how === 'silent') return { t: 'unknown' };
    return { t: how === 'cut' ? 'incomplete' : how === 'broken' ? 'failed' : 'done', text, payment };
  }

  createBatch(mark: string, entries: readonly { name: string; asked: string }[], run: number): void {
    const results = entries.map(({ name, asked }) => ({ name, ...this.pay(asked, run) }));
    this.batches.push({ mark, id: `b${this.batches.length}`, results });
  }
}
